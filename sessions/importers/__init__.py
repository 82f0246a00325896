"""Import of other tools' results as sessions."""
