"""Find the fastest way to run a transformer model on this machine, with error bars."""

from benchtui.sessions.version import VERSION as __version__

__all__ = ["__version__"]
