"""What the pages of a session show of it, as plain snapshots; knows no Textual."""
