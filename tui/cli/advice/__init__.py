"""Commands that advise: ``benchtui optimal`` and ``next``."""
