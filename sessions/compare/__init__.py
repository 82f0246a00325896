"""Sessions held against each other."""
