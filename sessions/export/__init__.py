"""Export of results and steps to other programs: CSV, JSON, Parquet, pandas."""
