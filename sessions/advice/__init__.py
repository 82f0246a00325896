"""Which configuration to run."""
