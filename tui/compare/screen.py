"""Compare view: differences between sessions, a verdict for each case, and details of one pair."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import Screen

from benchtui.sessions.compare.align import ComparedSession, SessionComparison, compare_sessions
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.replay.loading import AbandonedError, load
from benchtui.sessions.state.session import Session
from benchtui.themes.symbols import Symbols
from benchtui.tui.compare import rows as abreast
from benchtui.tui.compare.panels import (
    Detail,
    Summary,
    Titles,
    all_differences,
    detail_lines,
    difference_lines,
    hint_lines,
    side_lines,
    summary_lines,
    title_lines,
)
from benchtui.tui.compare.rows import ORDERS, CompareEntry
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import Line, Span, line
from benchtui.tui.library import actions
from benchtui.tui.shell import keymap
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.navigation import Place
from benchtui.tui.widgets import role_styles
from benchtui.tui.widgets.action_bar import ActionBar, ActionResult
from benchtui.tui.widgets.key_bar import KeyBar
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.long_list import Lines, LongList
from benchtui.tui.widgets.nav_bar import place_lines
from benchtui.tui.widgets.panel import Panel, small_lines

KEYS = keymap.table(
    "compare",
    ("s", "sort", "sort", "Sort", "by the plan, the slowest first, the fastest first, or the verdict"),
    ("slash", "filter", "ask('filter')", "Filter", "by words of case or verdict"),
    ("n", "next", "follow(1)", "Next of the shown cases", "after the last one the first"),
    ("N", "previous", "follow(-1)", "Case before"),
    ("b", "swap", "swap", "Have the next session be the base, A"),
    ("d", "differences", "differences", "All that differs", "machines, software, work and settings"),
    ("y", "copy_row", "copy_row", "Copy the case as markdown", "to the clipboard, over SSH too"),
    ("Y", "copy", "copy", "Copy the comparison as markdown"),
    ("E", "export", "ask('export')", "Export the comparison", "to a markdown file"),
    ("escape", "back", "back", "Back", "from what is asked, then from the filter"),
    ("down,j", "down", "move(1)", "Next case", "the lower part shows both of its sides"),
    ("up,k", "up", "move(-1)", "Previous case"),
    ("pagedown", "page_down", "move(10)", "Ten cases on"),
    ("pageup", "page_up", "move(-10)", "Ten cases back"),
    ("home,g", "first", "move(-1000000)", "First case"),
    ("end,G", "last", "move(1000000)", "Last case"),
    ("question_mark,f1", "help", "help", "Help"),
    ("q", "quit", "app.leave", "Quit"),
)
WAITING_KEYS: Keys = (("4", "choose sessions"), ("?", "help"), ("q", "quit"))
ASKED = {"filter": "filter:", "export": "comparison to:"}
MOST_DIFFERENCES = 24


class Compare(Screen[None]):
    """Comparison of sessions with the first one. Sessions are read in a thread."""

    COMPONENT_CLASSES = role_styles.CLASSES
    BINDINGS: ClassVar[list[BindingType]] = KEYS

    def __init__(self, paths: tuple[Path, ...], app_context: AppContext, symbols: Symbols) -> None:
        super().__init__()
        self._paths = paths
        self._app_context = app_context
        self._symbols = symbols
        self._compared: SessionComparison | None = None
        self._entries: list[CompareEntry] = []
        self._rows: list[CompareEntry] = []
        self._words, self._order = "", ORDERS[0]
        self._at = 0
        self._waiting: Span = ("no sessions to compare yet", "strong")
        self._there = True

    def compose(self) -> ComposeResult:
        """Lay out the waiting message, the panels and the case list, the action bar, and the key bar."""
        signs = self._symbols
        yield Panel[str](small_lines, signs, id="small")
        with Vertical(classes="body"):
            yield Panel[Place](place_lines, signs, id="places")
            yield Panel[Span](_waiting_lines, signs, id="waiting")
            with Vertical(id="loaded"):
                yield Panel[SessionComparison](side_lines, signs, id="sides")
                yield Panel[SessionComparison](difference_lines, signs, id="differences")
                yield Panel[Summary](summary_lines, signs, id="summary")
                yield Panel[Titles](title_lines, signs, id="header")
                yield LongList(id="list")
                yield Panel[Detail](detail_lines, signs, id="detail")
            yield ActionBar(signs, id="errands")
            yield KeyBar(signs)

    def on_mount(self) -> None:
        """Set up the navigation bar, and start reading the sessions."""
        self._panel("small").show("")
        self._panel("places").show("compare")
        if self._paths:
            self._load()

    def on_unmount(self) -> None:
        """Stop reading session files."""
        self._there = False

    def on_resize(self, event: events.Resize) -> None:
        """Redraw once the panels have their new sizes."""
        self.call_after_refresh(self._draw)

    def on_screen_resume(self) -> None:
        """Catch up on changes made while another view was shown."""
        self._draw()

    def action_move(self, rows: int) -> None:
        """Move the selection by rows."""
        self._choose(self._at + rows)

    def action_follow(self, rows: int) -> None:
        """Move the selection by rows, wrapping around at the ends."""
        self._choose((self._at + rows) % max(len(self._rows), 1))

    def action_sort(self) -> None:
        """Switch to the next sort order."""
        self._order = ORDERS[(ORDERS.index(self._order) + 1) % len(ORDERS)]
        self._arrange()

    def action_swap(self) -> None:
        """Make the next session the base."""
        if self._compared is not None:
            base, *others = self._compared.sides
            self._swap((*others, base))

    def action_differences(self) -> None:
        """Show all differences in full."""
        from benchtui.tui.pages.page import Page  # lazy import: not needed for the first paint

        found = self._found()
        if found is not None:
            self.app.push_screen(Page(lambda width: all_differences(found, width), self._symbols))

    def action_copy_row(self) -> None:
        """Copy the selected case to the terminal's clipboard, as a table of one row."""
        entry = self._entry
        if self._found() is not None and entry is not None and entry.row.pair is not None:
            self._copy(partial(_row_text, entry), "the case is copied as markdown")
        else:
            self._errands.say("no measured pair is chosen")

    def action_copy(self) -> None:
        """Copy the whole comparison to the terminal's clipboard."""
        found = self._found()
        if found is not None:
            self._copy(partial(_text, found), "the comparison is copied as markdown")

    def action_ask(self, purpose: str) -> None:
        """Open the input for an action. If the action waits for confirmation, confirm it instead."""
        found = self._found()
        if found is None or (purpose == "export" and self._errands.answers("E")):
            return
        name = "-vs-".join(side.name for side in found.sides[:2]) + ".md"
        self._errands.ask(purpose, ASKED[purpose], {"filter": self._words, "export": name}[purpose])

    def action_back(self) -> None:
        """Close the open input or question; else clear the filter."""
        errands = self._errands
        if errands.purpose == "filter" or (not errands.purpose and errands.question is None):
            self._filter("")
        if errands.purpose:
            errands.close()
        errands.say()

    def action_help(self) -> None:
        """Open the help page."""
        from benchtui.tui.compare.help import compare_help  # lazy import: not needed for the first paint
        from benchtui.tui.pages.help import open_help

        open_help(self, self._symbols, compare_help)

    @on(ActionBar.Typed)
    def typed(self, event: ActionBar.Typed) -> None:
        """Filter while typing."""
        if event.purpose == "filter":
            self._filter(event.text)

    @on(ActionBar.Given)
    def given(self, event: ActionBar.Given) -> None:
        """Export the comparison to the submitted path."""
        name, found = event.text.strip(), self._compared
        if event.purpose == "export" and name and found is not None:
            place = self._app_context.folder / Path(name).expanduser()
            write = partial(actions.write_document, partial(_text, found), place, self._paths)
            self._errands.do(partial(write, action="compare.export"))

    @on(ActionBar.Changed)
    def asked(self) -> None:
        """Update the key bar."""
        self._draw()

    @work(group="load", exclusive=True)
    async def _load(self) -> None:
        sides = []
        try:
            for number, path in enumerate(self._paths, 1):
                name = self._app_context.name_of(path)
                self._wait(f"reading {clean(name)} ({number} of {len(self._paths)})", "muted")
                session = await asyncio.to_thread(load, path, Session.apply, lambda: self._there)
                session.judge_by(self._app_context.judging)
                sides.append(await asyncio.to_thread(ComparedSession.of, path.stem, session))
            await self._hold(tuple(sides))
        except AbandonedError:
            return
        except BenchtuiError as error:
            self._wait(clean(str(error)), "bad")

    @work(group="load", exclusive=True)
    async def _swap(self, sides: tuple[ComparedSession, ...]) -> None:
        await self._hold(sides)

    async def _hold(self, sides: tuple[ComparedSession, ...]) -> None:
        """Compare the sessions with the first one, and show the result."""
        self._compared = await asyncio.to_thread(compare_sessions, sides)
        self._entries = abreast.entries(self._compared)
        self.add_class("-loaded")
        self._panel("sides").styles.height = min(len(sides), 4)
        self._panel("differences").styles.height = min(len(self._compared.differences) + 1, MOST_DIFFERENCES)
        self._panel("summary").styles.height = 2 if any(each.ignored for each in self._compared.against) else 1
        self._arrange()
        self.call_after_refresh(self._draw)

    def _wait(self, word: str, role: str) -> None:
        self._waiting = (word, role)
        self._draw()

    def _found(self) -> SessionComparison | None:
        """Return the comparison. If there is none yet, show a message."""
        if self._compared is None:
            library = keymap.key("app.library")
            self._errands.say(
                f"no sessions to do that with; {library} leads to the Library, where two are marked"
            )
        return self._compared

    def _copy(self, make: Callable[[], str], word: str) -> None:
        """Create a text in a thread, and copy it to the terminal's clipboard."""

        def work() -> ActionResult:
            self.app.call_from_thread(self.app.copy_to_clipboard, make())
            return ActionResult(word)

        self._errands.do(work)

    def _filter(self, words: str) -> None:
        self._words = words
        self._arrange()

    def _arrange(self) -> None:
        chosen = self._entry
        self._rows = abreast.shown(self._entries, self._words, self._order)
        self._choose(next((at for at, entry in enumerate(self._rows) if entry is chosen), 0))

    def _choose(self, at: int) -> None:
        self._at = max(0, min(at, len(self._rows) - 1))
        self._draw()

    def _draw(self) -> None:
        """Redraw what changed, if the view is visible."""
        if not self.is_current:
            return
        with self.app.batch_update():
            usual = _keys(self._symbols) if self._compared else WAITING_KEYS
            self._panel("keys").show(self._errands.keys or usual)
            if self._compared is None:
                self._panel("waiting").show(self._waiting)
            else:
                self._draw_compared(self._compared)

    def _draw_compared(self, found: SessionComparison) -> None:
        listing = self.query_one(LongList)
        letter = found.against[0].new_letter if len(found.against) == 1 else "new"
        longest = max((len(entry.name) for entry in self._entries), default=0)
        self._panel("sides").show(found)
        self._panel("differences").show(found)
        summary = Summary(found, len(self._rows), len(self._entries), self._words, self._order)
        self._panel("summary").show(summary)
        self._panel("header").show(Titles(longest, letter))
        listing.show(self._lines(longest, letter))
        self._panel("detail").show(Detail(self._entry))

    def _lines(self, longest: int, letter: str) -> Lines:
        if not self._rows:
            nothing = line((f'no case holds "{clean(self._words)}"   ', "strong"), ("esc shows all", "muted"))
            return Lines(1, lambda index, width: nothing, -1)

        def made(index: int, width: int) -> Line:
            mark = self._symbols.chosen if index == self._at else " "
            cells = abreast.row(self._rows[index], self._symbols)
            return abreast.arrangement(width, longest, letter).line(cells, width, self._symbols, mark)

        return Lines(len(self._rows), made, self._at)

    @property
    def _entry(self) -> CompareEntry | None:
        return self._rows[self._at] if self._rows else None

    @property
    def _errands(self) -> ActionBar:
        return self.query_one(ActionBar)

    def _panel(self, name: str) -> Panel[Any]:
        return self.query_one(f"#{name}", Panel)


def _keys(symbols: Symbols) -> Keys:
    return (
        (symbols.arrows, "cases"),
        ("s", "sort"),
        ("/", "filter"),
        ("b", "swap base"),
        ("y", "copy case"),
        ("?", "help"),
        ("q", "quit"),
    )


def _waiting_lines(word: Span, width: int, height: int, symbols: Symbols) -> list[Line]:
    return hint_lines([word])


def _text(found: SessionComparison) -> str:
    from benchtui.sessions.report.compare import markdown  # only reports need these libraries

    return markdown(found)


def _row_text(entry: CompareEntry) -> str:
    from benchtui.sessions.report.compare import row_markdown  # only reports need these libraries

    return row_markdown(entry.against, entry.row)
