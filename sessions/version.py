"""Version of benchtui. The metadata of the installed package is built from it, and a checkout has no other."""

VERSION = "0.1.0"
