"""Figures of a session; matplotlib is loaded when the first one is drawn."""

from benchtui.sessions.plots.render import Picture, pictures, write
from benchtui.sessions.plots.spec import Lacking

__all__ = ["Lacking", "Picture", "pictures", "write"]
