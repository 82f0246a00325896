"""Drawing with characters, independent of Textual."""
