"""Open dialog: presets, the demo, sweeps in the working folder, recent ones, or a typed path."""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.widgets import Input

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.journal.session_file import SessionFile
from benchtui.sessions.library.paths import DEMO
from benchtui.sessions.stored_models.hub_cache import cached_models, stored_folder
from benchtui.sessions.sweep import Config, Sweep
from benchtui.sessions.sweep.toml_reader import load_sweep, preset_names
from benchtui.sessions.text.formatting import count
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean, fit
from benchtui.tui.drawing.styled_text import Line, crop
from benchtui.tui.pages.choice_screen import ChoiceScreen
from benchtui.tui.shell import keymap
from benchtui.tui.shell.context import AppContext
from benchtui.tui.widgets.completion import path_completer
from benchtui.tui.widgets.message_line import Log, log_lines
from benchtui.tui.widgets.panel import Panel


class SweepFile(msgspec.Struct, frozen=True):
    """Sweep that can be opened, or why it can't."""

    group: str
    name: str
    source: str
    """Name of a preset, or a path."""
    about: str = ""
    problem: str = ""


DEMO_ENTRY = SweepFile("Demo", DEMO, DEMO, "a recorded session, replayed in the Monitor")
MODELS = "Models in the cache"
Missing = Callable[[Config], str]
"""Returns why a case's device isn't on this machine; empty if it is."""
MAX_RECENT = 8
"""Maximum number of recent sweeps listed."""


def list_sweeps(app_context: AppContext) -> list[SweepFile]:
    """List presets, the demo, sweeps of the working folder, the most recently run ones, and models."""
    missing = app_context.missing_device()
    presets = [_sweep("Presets", name, name, missing) for name in preset_names()]
    files, recent = _files(app_context.folder, missing), _recent(app_context.recorded)
    models = (
        SweepFile(MODELS, clean(model), model, "measure it in the open sweep") for model in cached_models()
    )
    return [*presets, DEMO_ENTRY, *files, *recent, *models]


def _sweep(group: str, name: str, source: str, missing: Missing) -> SweepFile:
    shown = clean(name)
    try:
        sweep = load_sweep(source)
    except BenchtuiError as error:
        return SweepFile(group, shown, source, problem=clean(str(error)))
    reasons = [missing(Config(device=device)) for device in sweep.axes.device]
    problem = reasons[0].partition(": ")[0] if all(reasons) else ""
    return SweepFile(group, shown, source, _about(sweep), problem)


def _recent(recorded: Callable[[], Iterable[SessionFile]]) -> Iterable[SweepFile]:
    """Return the sweeps of the newest sessions without duplicates; none if the library can't be read."""
    try:
        entries = list(recorded())
    except BenchtuiError:
        return []
    newest = {msgspec.json.encode(entry.started.sweep): entry for entry in reversed(entries)}
    shown = sorted(newest.values(), key=lambda entry: entry.started.created, reverse=True)[:MAX_RECENT]
    return [
        SweepFile("Recent sweeps", clean(entry.path.stem), str(entry.path), _about(entry.started.sweep))
        for entry in shown
    ]


def _about(sweep: Sweep) -> str:
    """Format the cases, devices and model of a sweep, and whether weights are downloaded."""
    stored = "local weights" if stored_folder(sweep.model) else "downloads weights"
    weights = "no download" if sweep.weights == "random" else stored
    devices = ", ".join(sweep.axes.device)
    return clean(f"{count(sweep.axes.count, 'case')}; {devices}; {weights}; {sweep.model}")


def _files(folder: Path, missing: Missing) -> Iterable[SweepFile]:
    try:
        toml_files = sorted(folder.glob("*.toml"))
    except OSError:
        return []
    sources = (path for path in toml_files if path.name != "pyproject.toml")
    return [_sweep("Sweeps in this folder", path.name, str(path), missing) for path in sources]


NAME = 24


def offer_line(offer: SweepFile, chosen: bool, width: int, symbols: Symbols) -> Line:
    """Render a sweep with what it requires, or why it can't run here."""
    mark = symbols.chosen if chosen else " "
    size = min(NAME, width // 3)
    name = (f"{fit(offer.name, size, symbols)}  ", "strong" if chosen else "plain")
    problem = f"{symbols.skipped} {offer.problem}   " if offer.problem else ""
    return crop([(f"{mark} ", "accent"), name, (problem, "warning"), (offer.about, "muted")], width, symbols)


class OpenDialog(ChoiceScreen[str]):
    """Dialog that returns the name of a preset or a path; None if canceled."""

    DEFAULT_CSS = "OpenDialog #hint { height: 2; margin: 0 2; }"
    BINDINGS = keymap.table("open", *keymap.choosing())

    ABOUT = "part of a name, or a path to a TOML file or session"
    DOES = "open"
    EMPTY = "no name matches; enter opens the text as a path"
    items: tuple[SweepFile, ...] = ()

    def __init__(self, app_context: AppContext, symbols: Symbols) -> None:
        super().__init__(offer_line, symbols)
        self._app_context = app_context
        self._all: tuple[SweepFile, ...] = ()

    def compose(self) -> ComposeResult:
        """Lay out the list, and why the selected sweep can't be opened."""
        *above, keys = super().compose()
        yield from (*above, Panel(log_lines, self._symbols, id="hint"), keys)

    async def on_mount(self) -> None:
        """Show the dialog, then load the list in a thread."""
        self.open(path_completer(self._app_context.folder))
        self._all = self.items = tuple(await asyncio.to_thread(list_sweeps, self._app_context))
        self.action_move(0)

    def accept(self) -> None:
        """Open the selected sweep."""
        self.dismiss(self.items[self._chosen].source)

    def show_choices(self) -> None:
        """Redraw the sweeps, and why the selected one can't be opened."""
        super().show_choices()
        problem = self.items[self._chosen].problem if self.items else ""
        self._panel("hint").show(Log(word=problem, role="warning"))

    @on(Input.Changed)
    def _narrow(self, event: Input.Changed) -> None:
        """Show only sweeps whose name contains the text."""
        text = event.value.strip().lower()
        self.items = tuple(offer for offer in self._all if text in offer.name.lower())
        self.action_move(0)

    @on(Input.Submitted)
    def _open(self, event: Input.Submitted) -> None:
        """Use the text as a path if no name matches. Textual calls the base's handler as well."""
        if (text := event.value.strip()) and not self.items:
            self.dismiss(str(self._app_context.folder / Path(text).expanduser()))
