"""Case table: columns and row layout, independent of Textual."""
