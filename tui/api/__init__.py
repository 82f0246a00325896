"""Python interface: sessions, comparisons and runs as objects with pandas tables.

``import benchtui`` shows all of it. The command line imports these modules, too, and has to start fast: they
import the rest of benchtui when a function is called.
"""
