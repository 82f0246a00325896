"""Model location: where a model's files are, without importing torch."""

from pathlib import Path
from typing import Literal

import msgspec

from benchtui.sessions.stored_models.hub_cache import bundled_models, snapshot
from benchtui.sessions.sweep import Weights

Source = Literal["hub", "folder", "bundled"]


class ModelLocation(msgspec.Struct, frozen=True):
    """Source of the configuration, the tokenizer and, unless random, the weights."""

    name: str
    path: str
    """Folder or hub id, as passed to transformers."""
    source: Source

    @property
    def folder(self) -> Path | None:
        """Folder with the model's files; None for a model of the hub that isn't cached.

        The cached snapshot of a model of the hub is named after its commit.
        """
        return snapshot(self.path) if self.source == "hub" else Path(self.path)

    @property
    def revision(self) -> str | None:
        """Commit of the cached model on the hub; None for any other model."""
        folder = self.folder if self.source == "hub" else None
        return folder.name if folder else None


def locate(model: str, weights: Weights) -> ModelLocation:
    """Locate a model: a local folder, else a bundled architecture (random weights only), else the hub."""
    folder = Path(model).expanduser()
    if folder.is_dir():
        return ModelLocation(model, str(folder), "folder")
    if weights == "random" and model in bundled_models():
        return ModelLocation(model, str(bundled_models()[model]), "bundled")
    return ModelLocation(model, model, "hub")
