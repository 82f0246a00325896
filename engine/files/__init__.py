"""Files that determine what a case measures: where they are, their digests, and what has changed."""
