"""Drawing with characters; knows no Textual."""
