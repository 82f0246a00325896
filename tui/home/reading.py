"""Reading for Home: models, sweeps and the machine's support. Blocks, so call it from a thread."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.stored_models.hub_cache import stored_folder
from benchtui.sessions.stored_models.stored_model import holds_model
from benchtui.tui.home import models
from benchtui.tui.home.models import ModelEntry
from benchtui.tui.home.rows import Room
from benchtui.tui.home.sweeps import Offers, offers
from benchtui.tui.shell.context import AppContext


class Offered(msgspec.Struct, frozen=True):
    """Sweeps of a model, or why there are none."""

    model: str = ""
    offers: Offers | None = None
    problem: str = ""


class HomeReader:
    """Reads what Home shows about models."""

    def __init__(self, app_context: AppContext) -> None:
        self._app_context = app_context
        self.bundled: Mapping[str, Path] = {}
        """Folders of the architectures that come with benchtui, once the models have been listed."""

    def models(self) -> dict[str, ModelEntry]:
        """List the models by name."""
        self.bundled = self._app_context.bundled()
        try:
            sessions = (self._app_context.known or self._app_context.recorded)()
        except BenchtuiError:
            sessions = []
        folders = self._app_context.preferences.settings.models
        entries = models.list_models(folders, sessions, self._app_context.hostname, self.bundled)
        return {entry.model: entry for entry in entries}

    def model(self, text: str, listed: Iterable[ModelEntry]) -> ModelEntry:
        """Return the entry of a typed path or hub id.

        Raises:
            BenchtuiError: If it is a folder that doesn't exist, or has no model.
        """
        return models.entry_of(self.stored(text) or text, self.bundled, listed)

    def stored(self, text: str) -> str | None:
        """Return the folder or hub id of this machine that a text names; None if it names none.

        A path typed after the key ``/`` lacks its beginning.
        """
        if folder := self._folder(text):
            return folder
        if text in self.bundled or stored_folder(text):
            return text
        return self._folder(f"/{text}") if os.sep in text or holds_model(Path(f"/{text}")) else None

    def _folder(self, text: str) -> str | None:
        path = os.path.normpath(self._app_context.folder / os.path.expanduser(text))
        return path if os.path.isdir(path) else None

    def room(self) -> Room:
        """Return what the machine's first device supports, without its free memory."""
        from benchtui.sessions.advice.find_sweep import searched_batch_sizes  # not needed for the first paint

        support = self._app_context.device_support()
        precision = "bf16" if support.bf16 else "fp32"
        return Room(support.device, precision, searched_batch_sizes(support), None)

    def offered(self, entry: ModelEntry) -> Offered:
        """Build the sweeps of a model."""
        stored = models.with_files(entry).stored
        try:
            support = self._app_context.device_support()
            return Offered(entry.model, offers(entry.model, stored, support))
        except BenchtuiError as error:
            return Offered(entry.model, problem=str(error))
