"""Figures of a session; matplotlib is loaded when the first one is drawn."""

from benchtui.sessions.figures.drawing import Picture, pictures, write
from benchtui.sessions.figures.plan import Lacking

__all__ = ["Lacking", "Picture", "pictures", "write"]
