"""Text of reports: numbers, labels, sentences, tables."""
