"""Models on this machine: measured, in the user's folders, in the hub's cache. Reads files, so for threads."""

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.journal.session_file import SessionFile
from benchtui.sessions.library.summaries import Best, Summary, SummaryCache
from benchtui.sessions.sanitize import quoted
from benchtui.sessions.stored_models.hub_cache import (
    cached_models,
    model_here,
    model_place,
    snapshot,
    stored_folder,
)
from benchtui.sessions.stored_models.stored_model import StoredModel, holds_model, missing_reason, read_model
from benchtui.sessions.sweep import UNKNOWN, custom_task
from benchtui.tui.drawing.format import clean

MOST_FOLDERS = 2_000
"""Folders of one of the user's folders in which models are looked for."""


class Known(msgspec.Struct, frozen=True):
    """Best known result of a model on this machine."""

    best: Best
    path: Path
    """Session that has it."""
    created: str
    marked: bool
    """Whether the session has marks, such as that of a disturbed case."""


class ModelEntry(msgspec.Struct, frozen=True):
    """Model in the list."""

    model: str
    """Its name in a sweep: a hub id, a folder, or the name of a bundled architecture."""
    folder: Path | None = None
    """Folder with its files; None if they aren't on this machine."""
    stored: StoredModel | None = None
    """What its files say; None until they are read."""
    known: Known | None = None
    sessions: tuple[SessionFile, ...] = ()
    """Sessions of this machine that measured it, the newest first."""
    bundled: bool = False
    """Whether only its architecture is here, because it comes with benchtui."""

    @property
    def name(self) -> str:
        """Name to show: of a folder, its last two parts, because many are called ``model``."""
        in_folder = self.model.startswith((os.sep, ".", "~"))
        return clean(os.sep.join(Path(self.model).parts[-2:]) if in_folder else self.model)

    @property
    def read(self) -> bool:
        """Whether its files have been read, if there are any."""
        return self.folder is None or self.stored is not None


def list_models(
    folders: Iterable[str], sessions: Iterable[SessionFile], hostname: str, bundled: Mapping[str, Path]
) -> list[ModelEntry]:
    """List all models, those measured last first and bundled ones last, without reading their files."""
    measured = _measured_models(sessions, hostname)
    models = dict.fromkeys((*measured, *_in_folders(folders), *cached_models(), *bundled))
    by_place: dict[object, ModelEntry] = {}
    for model in models:
        folder = bundled.get(model) or stored_folder(model)
        entry = ModelEntry(
            model,
            folder,
            sessions=measured.get(model, ()),
            bundled=model in bundled and snapshot(model) is None,
        )
        place = os.path.realpath(folder) if folder else model
        by_place.setdefault(place, entry)
    return list(by_place.values())


def entry_of(model: str, bundled: Mapping[str, Path], beside: Iterable[ModelEntry] = ()) -> ModelEntry:
    """Return the entry of a model by name: the listed one, if it is in the list.

    Raises:
        BenchtuiError: If it is a folder that doesn't exist, or has no model.
    """
    folder = bundled.get(model) or stored_folder(model)
    listed = next((entry for entry in beside if _same(entry, model, folder)), None)
    if listed is not None:
        return listed
    if reason := missing_reason(model, folder):
        raise BenchtuiError(f"{quoted(model)}: {reason}")
    return with_files(ModelEntry(model, folder, bundled=model in bundled))


def _same(entry: ModelEntry, model: str, folder: Path | None) -> bool:
    if entry.model == model:
        return True
    both = folder is not None and entry.folder is not None
    return both and os.path.realpath(str(folder)) == os.path.realpath(str(entry.folder))


def with_files(entry: ModelEntry) -> ModelEntry:
    """Return an entry with what its files say."""
    return replace(entry, stored=read_model(entry.folder)) if entry.folder and not entry.read else entry


def with_best(entry: ModelEntry, summaries: SummaryCache) -> ModelEntry:
    """Return an entry with its best known result. Sessions without a cached summary are read."""
    results = filter(None, (_known(session, summaries.read(session.path)) for session in entry.sessions))
    best = max(results, key=lambda known: known.best.samples_per_s or 0.0, default=None)
    return replace(entry, known=best, sessions=entry.sessions if best else ())


def _known(session: SessionFile, summary: Summary) -> Known | None:
    if summary.best is None:
        return None
    started = session.started
    return Known(summary.best, session.path, started.created, bool(summary.marks))


def _measured_models(sessions: Iterable[SessionFile], hostname: str) -> dict[str, tuple[SessionFile, ...]]:
    """Return the sessions of each model of the newest task, measured on this machine, by its newest name."""
    by_place: dict[str, tuple[str, list[SessionFile]]] = {}
    for session in sessions:
        started = session.started
        here = started.host.hostname == hostname and started.source is None and started.simulated is None
        if here and session.finished and started.sweep.model != UNKNOWN and not custom_task(started.sweep.task):
            model = model_here(started.sweep.model, started.folder)
            by_place.setdefault(model_place(model), (model, []))[1].append(session)
    return {
        model: tuple(one for one in of_model if one.started.sweep.task == of_model[0].started.sweep.task)
        for model, of_model in by_place.values()
    }


def _in_folders(folders: Iterable[str]) -> Iterator[str]:
    """Yield the models in the user's folders: each folder itself, its subfolders, and theirs."""
    for folder in folders:
        root = Path(folder).expanduser()
        for path in (root, *_subfolders(root)):
            if holds_model(path):
                yield str(path)


def _subfolders(root: Path) -> Iterator[Path]:
    """Yield the folders in a folder, and those in those without a model, such as one per organization."""
    for path in _folders(root):
        yield path
        if not holds_model(path):
            yield from _folders(path)


def _folders(root: Path) -> list[Path]:
    try:
        return sorted(path for path in root.iterdir() if path.is_dir())[:MOST_FOLDERS]
    except OSError:
        return []


def age_text(created: str, now: datetime) -> str:
    """Format how long ago a session began, such as ``2 d ago``; empty if its time can't be read."""
    try:
        seconds = (now - datetime.fromisoformat(created)).total_seconds()
    except (ValueError, TypeError):
        return ""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit} ago"
    return "just now"
