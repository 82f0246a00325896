"""Results of other tools as sessions."""
