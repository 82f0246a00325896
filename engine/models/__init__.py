"""Models: loading, precision, compilation."""
