"""Time and memory of cases that haven't run yet."""
