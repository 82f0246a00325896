"""First pages of the report: decision, results by device and precision, effect of each option."""
