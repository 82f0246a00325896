"""Catalogue of the quantities of a case, one row each; exports, reports and screens select them by key."""
