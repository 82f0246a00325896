"""The Monitor."""
