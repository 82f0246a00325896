"""What a session says, for other programs: a row a case or a row a step, as CSV, JSON or Parquet."""
