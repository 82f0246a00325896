"""``benchtui schema``, and the records that ``--json`` prints."""
