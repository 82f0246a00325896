"""Results and steps for other programs: CSV, JSON, Parquet, pandas."""
