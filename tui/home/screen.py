"""Home view: this machine and its users, the models on it, and the keys that measure one."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from msgspec.structs import replace
from textual import events, on, work
from textual.app import ComposeResult
from textual.message import Message

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.library.paths import DEMO, demo_path
from benchtui.sessions.library.summaries import SummaryCache
from benchtui.sessions.sweep import Sweep
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import Line, line
from benchtui.tui.editor.title_bar import POLL_S, running_texts
from benchtui.tui.home import models
from benchtui.tui.home.card import HomeCard, card_lines, card_title
from benchtui.tui.home.machine import Reading, ThisMachine, machine_height, machine_lines, machine_title
from benchtui.tui.home.models import ModelEntry
from benchtui.tui.home.reading import HomeReader, Offered
from benchtui.tui.home.rows import ModelSelection, Room, arrangement, header_line, list_title, placeholder, row
from benchtui.tui.home.sweeps import Offers
from benchtui.tui.pages.place_screen import PlaceScreen
from benchtui.tui.shell import keymap
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.key_queue import HOLDS_KEYS
from benchtui.tui.shell.navigation import BackRequested, EditRequested, EngineRequested, Opened
from benchtui.tui.widgets.action_bar import ActionBar
from benchtui.tui.widgets.completion import model_completer
from benchtui.tui.widgets.frame import Frame
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.long_list import LongList
from benchtui.tui.widgets.panel import Panel, given_lines

AT_ONCE = 50
"""Number of models whose files are read between two redraws."""
SETTLE_S = 0.1
"""Seconds on a model before its sweeps are built, so that moving through the list doesn't build them all."""
PROMPT = "find, path or hub id:"

KEYS = keymap.table(
    "home",
    (
        "enter,r",
        "measure",
        "Measure the model",
        "find its best configuration on this machine",
        "start('measure')",
    ),
    ("v", "quick", "Quick look", "a few cases of the model, in about a minute", "start('quick')"),
    ("e", "edit", "Choose what to measure", "a small sweep of the model, in the editor"),
    ("o", "open", "Open the best known session of the model"),
    ("d", "demo", "Play the demo", "a recorded sweep on four simulated GPUs"),
    ("slash", "find", "Find a model", "or type a path or a hub id; tab completes it. A pasted path works too"),
    ("z", "zoom", "Zoom the machine", "all GPUs and processes"),
    ("f5,ctrl+l", "look", "Refresh the list"),
    ("escape", "back", "Back", "close the input, the zoom, the filter; then to the previous page"),
    *keymap.movement("model"),
    ("question_mark,f1", "help", "Help"),
    ("q", "quit", "Quit", "", "app.leave"),
)


def now_utc() -> datetime:
    """Return the current time, from which ages are counted."""
    return datetime.now(UTC)


@dataclass
class Read(Message):
    """Posted by the thread that reads the machine."""

    reading: Reading


class Home(PlaceScreen[ModelEntry]):
    """Machine, and a list of models with details of the selected one."""

    DEFAULT_CSS = """
    Home #machine { height: auto; }
    Home #gauges { height: auto; }
    Home #models { height: 1fr; }
    Home #about { height: 8; }
    Home #card { height: 1fr; }
    Home.-short #about { height: 6; }
    Home.-zoomed #machine, Home.-zoomed #gauges { height: 1fr; }
    Home.-zoomed #models, Home.-zoomed #about { display: none; }
    """
    PLACE = "home"
    HELP = "home"
    BINDINGS = KEYS

    def __init__(self, app_context: AppContext, symbols: Symbols, model: str = "") -> None:
        """Open with ``model`` selected, a path or a hub id, if it isn't empty."""
        super().__init__(app_context, symbols, ModelSelection())
        self._selection: ModelSelection
        self._machine = ThisMachine()
        self._wanted = model
        self._reader = HomeReader(app_context)
        self._loaded = False
        self._support: Room | None = None
        self._offered = Offered()
        self._sweeps: tuple[str, ...] = ()
        self._end_watch: Callable[[], None] | None = None

    def content(self) -> ComposeResult:
        """Lay out the machine, the models, the selected one, and the action bar."""
        signs = self._symbols
        gauges = Panel(machine_lines, signs, id="gauges", needed=machine_height)
        yield Frame(gauges, symbols=signs, id="machine")
        titles = Panel(given_lines, signs, id="header")
        yield Frame(titles, LongList(id="list"), symbols=signs, id="models")
        yield Frame(Panel(card_lines, signs, id="card"), symbols=signs, id="about")
        yield ActionBar(signs)

    def on_mount(self) -> None:
        """Check for running engines now and then."""
        super().on_mount()
        self.set_interval(POLL_S, self._check_engines)

    def on_screen_resume(self) -> None:
        """Read the machine while it is shown, and catch up on models and engines."""
        self.draw()
        self.call_after_refresh(self._watch)
        self.action_look()
        self._check_engines()

    def _watch(self) -> None:
        """Read the machine, if Home is still shown after its first frame: this imports the devices' readers."""
        if self._end_watch is None and self.is_current:
            self._end_watch = self._app_context.watch(self._receive)

    def on_screen_suspend(self) -> None:
        """Stop reading the machine."""
        if self._end_watch is not None:
            self._end_watch()
            self._end_watch = None

    def on_unmount(self) -> None:
        """Stop reading the machine and files."""
        super().on_unmount()
        self.on_screen_suspend()

    def on_paste(self, event: events.Paste) -> None:
        """Select the model whose path or hub id was pasted."""
        lines = event.text.strip().splitlines()
        if len(lines) == 1 and not self._action_bar.purpose:
            self._choose(lines[0].strip().strip("'\""))

    def _receive(self, reading: Reading) -> None:
        """Pass on a reading from the thread that reads the machine."""
        with suppress(RuntimeError):  # the app may end meanwhile
            self.post_message(Read(reading))

    @on(Read)
    def _apply(self, event: Read) -> None:
        self._machine.apply(event.reading)
        self.draw()

    def action_zoom(self) -> None:
        """Show only the machine, or everything again."""
        self.toggle_class("-zoomed")
        self.draw()

    def action_find(self) -> None:
        """Ask for a part of a model's name, a path or a hub id."""
        self.remove_class("-zoomed")
        completer = model_completer(self._app_context.folder, lambda: self._reader.bundled)
        self._action_bar.ask("filter", PROMPT, self._selection.words, completer)

    async def action_start(self, which: str) -> None:
        """Start a sweep of the selected model and show it."""
        if (built := await self._built()) is not None:
            sweep: Sweep = getattr(built, which)
            self._show_message(f"starting {clean(sweep.name)}", "muted")
            self.post_message(
                EngineRequested(
                    start=lambda context, consent, wait: context.start(sweep, consent, wait),
                    refused=self._show_message,
                    started=self._show_message,
                )
            )

    async def action_edit(self) -> None:
        """Edit a small sweep of the selected model."""
        if (built := await self._built()) is not None:
            self.post_message(EditRequested(built.own))

    def action_open(self) -> None:
        """Open the session with the best known result of the selected model."""
        if (entry := self._entry()) is None:
            return
        if entry.known is None:
            self._show_message(
                f"{entry.name} hasn't been measured here yet; {keymap.key('home.measure')} measures it"
            )
        else:
            self.post_message(Opened(entry.known.path, None))

    def action_demo(self) -> None:
        """Play the demo."""
        self.post_message(Opened(demo_path(DEMO), None, replay=True))

    def action_back(self) -> None:
        """Close the input, the zoom or the filter; else return to the previous view."""
        bar = self._action_bar
        if bar.purpose:
            bar.close()
            self._selection.filter("")
        elif self.has_class("-zoomed"):
            self.remove_class("-zoomed")
        elif self._selection.words:
            self._selection.filter("")
        else:
            self.post_message(BackRequested())
        self._show_chosen()

    @on(ActionBar.Given)
    def given(self, event: ActionBar.Given) -> None:
        """Keep the filter; if it names a model or matches none, select the model with this path or hub id."""
        text = event.text.strip()
        if text and (not self._selection.rows or self._reader.stored(text)):
            self._choose(text)
        else:
            self._show_chosen()

    @work(group="choose", exclusive=True, name=HOLDS_KEYS)
    async def _choose(self, model: str) -> None:
        """Select a model by path or hub id; say in red why if that is impossible."""
        try:
            entry = await asyncio.to_thread(self._reader.model, model, self._selection.all)
        except BenchtuiError as error:
            self._selection.filter("")
            self._show_message(str(error), "bad")
            return
        self._selection.select_model(entry)
        self._show_chosen()

    @work(group="look", exclusive=True, name=HOLDS_KEYS)
    async def action_look(self) -> None:
        """Reload the list of models, select the wanted one, then read what takes longer."""
        listed = await asyncio.to_thread(self._reader.models)
        before = {entry.model: entry for entry in self._selection.all}
        typed = [entry for entry in self._selection.all if not entry.sessions and entry.model not in listed]
        self._selection.update(
            [*typed, *(_merged(entry, before.get(model)) for model, entry in listed.items())]
        )
        self._loaded, self._offered = True, Offered()
        if self._wanted:
            wanted, self._wanted = self._wanted, ""
            self._choose(wanted)
        self._show_chosen()
        self._read_more()

    @work(group="read", exclusive=True)
    async def _read_more(self) -> None:
        """Read the files of the models, the machine's support, and the best known results."""
        entries = self._selection.all[:]
        for start in range(0, len(entries), AT_ONCE):
            part = entries[start : start + AT_ONCE]
            self._selection.replace(await asyncio.to_thread(list, map(models.with_files, part)))
            self.draw()
        if self._support is None:
            self._support = await asyncio.to_thread(self._reader.room)
        summaries = await asyncio.to_thread(SummaryCache)
        for entry in [entry for entry in self._selection.all if entry.sessions]:
            self._selection.replace([await asyncio.to_thread(models.with_best, entry, summaries)])
            self.draw()
        await asyncio.to_thread(summaries.save)
        self.draw()

    @work(group="offers", exclusive=True)
    async def _build_offers(self) -> None:
        """Build the sweeps of the selected model once the selection rests."""
        await asyncio.sleep(SETTLE_S)
        await self._built()
        self.draw()

    async def _built(self) -> Offers | None:
        """Return the sweeps of the selected model; None with a message if there are none."""
        if (entry := self._entry()) is None:
            return None
        if self._offered.model != entry.model:
            self._offered = await asyncio.to_thread(self._reader.offered, entry)
        if self._offered.problem:
            self._show_message(self._offered.problem, "bad")
        return self._offered.offers

    @work(group="engines", exclusive=True)
    async def _check_engines(self) -> None:
        """Look for running sweeps, if the view is visible."""
        if not self.is_current:
            return
        engines = await asyncio.to_thread(self._app_context.engines)
        self._sweeps = tuple(clean(self._app_context.name_of(engine.path)) for engine in engines)
        self.draw()

    def _show_chosen(self) -> None:
        self._show_message()
        if self._selection.chosen and self._offered.model != self._selection.chosen.model:
            self._build_offers()

    def _draw_content(self) -> None:
        selection, signs = self._selection, self._symbols
        view = replace(self._machine.view(signs), listed=len(selection.all))
        self.query_one("#machine", Frame).show_title(*machine_title(view))
        self._panel("gauges").show(view)
        title = list_title(selection, running_texts(self._sweeps)[-1], self._loaded)
        self.query_one("#models", Frame).show_title(*title)
        longest = max((len(entry.name) for entry in selection.rows), default=0)
        width = max(self.query_one(LongList).size.width, 1)
        self._panel("header").show([header_line(width, longest, signs)] if selection.rows else [])
        self._show_rows(partial(self._row, longest, now_utc()), lambda: [placeholder(selection, self._loaded)])
        card = self._card()
        self.query_one("#about", Frame).show_title(*card_title(card))
        self._panel("card").show(card)
        self._show_brief()

    def brief(self, width: int, height: int) -> Sequence[Line]:
        """Return how many GPUs are free, and the selected model with its keys."""
        left, right = machine_title(self._machine.view(self._symbols))
        card = self._card()
        title = line(*card_title(card)[0])
        return [
            line(*left, ("  ", "plain"), *right),
            title,
            *card_lines(card, width, height - 2, self._symbols),
        ]

    def _row(self, longest: int, now: datetime, entry: ModelEntry, width: int, mark: str) -> Line:
        cells = row(entry, self._room, now, self._symbols)
        return arrangement(width, longest).line(cells, width, self._symbols, mark)

    def _card(self) -> HomeCard:
        entry = self._selection.chosen
        own = self._offered if entry and entry.model == self._offered.model else Offered()
        return HomeCard(entry, own, self._room, now_utc())

    @property
    def _room(self) -> Room | None:
        """Device and memory that decide which batch sizes fit now; None until they are known."""
        room = self._support
        return room and replace(room, free_mb=self._machine.free_mb(room.device))

    def _keys(self) -> Keys:
        own = (("enter", "measure"), ("v", "quick look"), ("e", "choose")) if self._selection.rows else ()
        last = ("z", "zoom") if self._selection.rows else ("d", "demo")
        return (*own, ("/", "find or path"), last, ("?", "help"), ("q", "quit"))

    def _entry(self) -> ModelEntry | None:
        """Return the selected model. If there is none, show a message."""
        if self._selection.chosen is None:
            self._show_message(f"no model selected; {keymap.key('home.find')} takes a path or a hub id")
        return self._selection.chosen


def _merged(entry: ModelEntry, before: ModelEntry | None) -> ModelEntry:
    """Return a listed model with what was read earlier."""
    return replace(entry, stored=before.stored, known=before.known) if before else entry
