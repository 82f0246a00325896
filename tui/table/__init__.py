"""The table of cases: its columns, and how rows are laid out; knows no Textual."""
