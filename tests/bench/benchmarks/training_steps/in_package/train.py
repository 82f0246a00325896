"""Training step of the package."""

from common import TrainStep

__all__ = ["TrainStep"]
