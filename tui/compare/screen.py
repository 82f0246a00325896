"""Compare view: differences between sessions, a verdict for each case, and details of one pair."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Vertical

from benchtui.engine import client
from benchtui.sessions.compare.align import ComparedSession, SessionComparison, compare_sessions
from benchtui.sessions.errors import AbandonedError, BenchtuiError
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import task_named
from benchtui.themes.symbols import Symbols
from benchtui.tui.compare import rows as compare_rows
from benchtui.tui.compare.panels import (
    ComparisonSummary,
    all_differences,
    detail_lines,
    difference_lines,
    hint_lines,
    side_lines,
    summary_height,
    summary_lines,
    title_lines,
)
from benchtui.tui.compare.rows import ORDERS, CompareEntry
from benchtui.tui.drawing.bars import LEAST_WIDEST
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import Line, Span, line
from benchtui.tui.library import actions
from benchtui.tui.live.explainer import Explainer
from benchtui.tui.pages.place_screen import PlaceScreen
from benchtui.tui.shell import keymap
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.key_queue import HOLDS_KEYS
from benchtui.tui.shell.navigation import BackRequested
from benchtui.tui.table.case_names import CaseNames
from benchtui.tui.table.selection import Selection
from benchtui.tui.widgets.action_bar import ActionBar, ActionResult
from benchtui.tui.widgets.frame import Frame
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.long_list import LongList
from benchtui.tui.widgets.panel import Panel

KEYS = keymap.table(
    "compare",
    ("s", "sort", "Sort", "in plan order, slowest first, fastest first, or by verdict"),
    ("slash", "filter", "Filter", "by words of case or verdict", "ask('filter')"),
    ("n", "next", "Next matching case", "wraps around", "follow(1)"),
    ("N", "previous", "Previous matching case", "", "follow(-1)"),
    ("b", "swap", "Make the next session the base, A"),
    ("enter", "differences", "Decision and all differences", "in hardware, software, workload and settings"),
    ("W", "why", "Why", "what makes the difference between both sides of the case"),
    ("y", "copy_row", "Copy the case as markdown", "to the clipboard, over SSH too"),
    ("Y", "copy", "Copy the comparison as markdown"),
    ("E", "export", "Export the comparison", "to a markdown file", "ask('export')"),
    ("escape", "back", "Back", "closes the prompt, clears the filter; then to the previous page"),
    *keymap.movement("case", "the lower part shows both of its sides"),
    ("question_mark,f1", "help", "Help"),
    ("q", "quit", "Quit", "", "app.leave"),
)
WAITING_KEYS: Keys = (("4", "choose sessions"), ("?", "help"), ("q", "quit"))
INPUT_LABELS = {"filter": "filter:", "export": "export comparison to:"}
MOST_DIFFERENCES = 24


class Compare(PlaceScreen[CompareEntry]):
    """Comparison of sessions with the first one. Sessions are read in a thread."""

    DEFAULT_CSS = """
    Compare #waiting { height: 1fr; margin: 1 2; }
    Compare #loaded { display: none; width: 100%; height: 1fr; }
    Compare.-loaded #waiting { display: none; }
    Compare.-loaded #loaded { display: block; }
    Compare #sessions { height: auto; }
    Compare #differences { max-height: 8; }
    Compare #summary { height: auto; }
    Compare #pairs { height: 1fr; }
    Compare #pair { height: 30vh; }
    Compare #detail { height: 1fr; }
    Compare.-high #differences { max-height: 14; }
    Compare.-short #differences { max-height: 1; }
    """
    PLACE = "compare"
    HELP = "compare"
    BINDINGS = KEYS

    def __init__(self, paths: tuple[Path, ...], app_context: AppContext, symbols: Symbols) -> None:
        selection = Selection[CompareEntry](
            id, lambda entries, words: compare_rows.shown(entries, words, self._order)
        )
        super().__init__(app_context, symbols, selection)
        self._paths = paths
        self._compared: SessionComparison | None = None
        self._widest = LEAST_WIDEST
        self._names, self._unit = CaseNames(()), ""
        self._decision: tuple[str, ...] = ()
        self._order = ORDERS[0]
        self._explainers: dict[str, Explainer] = {}
        """Explainers by session name."""
        self._waiting: Span = ("no sessions to compare yet", "strong")

    def content(self) -> ComposeResult:
        """Lay out the waiting message, the panels, the case list, and the action bar."""
        signs = self._symbols
        yield Panel(lambda *room: hint_lines([self._waiting]), signs, id="waiting")
        with Vertical(id="loaded"):
            sides = Panel(side_lines, signs, id="sides")
            differences = Panel(difference_lines, signs, id="differences")
            yield Frame(sides, differences, symbols=signs, id="sessions")
            summary = Panel(summary_lines, signs, id="summary", needed=summary_height)
            titles = Panel(title_lines, signs, id="header")
            yield Frame(summary, titles, LongList(id="list"), symbols=signs, id="pairs")
            yield Frame(Panel(detail_lines, signs, id="detail"), symbols=signs, id="pair")
        yield ActionBar(signs)

    def on_mount(self) -> None:
        """Start reading the sessions. Textual calls the base's handler as well."""
        if self._paths:
            self._load()

    def on_screen_resume(self) -> None:
        """Catch up on changes made while another view was shown."""
        self.draw()

    @on(events.Click)
    def sort_by_column(self, event: events.Click) -> None:
        """Switch to the next sort order on a click on the titles."""
        if event.widget is self._panel("header"):
            self.action_sort()

    def action_sort(self) -> None:
        """Switch to the next sort order."""
        self._order = ORDERS[(ORDERS.index(self._order) + 1) % len(ORDERS)]
        self._selection.refresh()
        self.draw()

    def action_swap(self) -> None:
        """Make the next session the base."""
        if self._compared is not None:
            base, *others = self._compared.sides
            self._swap((*others, base))

    def action_differences(self) -> None:
        """Show all differences in full."""
        from benchtui.tui.pages.page import Page  # lazy import: not needed for the first paint

        compared = self._require_comparison()
        if compared is not None:
            decision = self._decision
            self.app.push_screen(Page(lambda width: all_differences(compared, decision, width), self._symbols))

    def action_why(self) -> None:
        """Open the Why page of both sides of the selected case."""
        from benchtui.tui.explain.screen import Side, WhyScreen  # imports statistics that no other page needs

        compared, entry = self._require_comparison(), self._entry
        if compared is None:
            return
        if entry is None or entry.row.base is None or entry.row.new is None:
            self._show_message("the case has no other side to compare with")
            return
        sides = [
            Side(partial(_session, side), self._explainer(side), case.index, clean(side.file))
            for side, case in ((compared.sides[0], entry.row.base), (entry.against.new, entry.row.new))
        ]
        self.app.push_screen(WhyScreen(sides[1], self._symbols, sides[0]))

    def action_copy_row(self) -> None:
        """Copy the selected case to the terminal's clipboard, as a table of one row."""
        entry = self._entry
        if self._require_comparison() is not None and entry is not None and entry.row.pair is not None:
            self._copy(partial(_row_text, entry), "copied the case as Markdown")
        else:
            self._show_message("no measured pair is selected")

    def action_copy(self) -> None:
        """Copy the whole comparison to the terminal's clipboard."""
        compared = self._require_comparison()
        if compared is not None:
            self._copy(partial(_text, compared), "copied the comparison as Markdown")

    def action_ask(self, purpose: str) -> None:
        """Open the input for an action. If the action waits for confirmation, confirm it instead."""
        compared = self._require_comparison()
        if compared is None or (purpose == "export" and self._action_bar.run_confirmed("E")):
            return
        name = "-vs-".join(side.name for side in compared.sides[:2]) + ".md"
        self._action_bar.ask(
            purpose, INPUT_LABELS[purpose], {"filter": self._selection.words, "export": name}[purpose]
        )

    def action_back(self) -> None:
        """Close the open input or question; else clear the filter; else leave."""
        bar = self._action_bar
        if not bar.purpose and bar.question is None and not self._selection.words:
            self.post_message(BackRequested())
        elif bar.purpose == "filter" or (not bar.purpose and bar.question is None):
            self._selection.filter("")
        if bar.purpose:
            bar.close()
        bar.show_message()

    @on(ActionBar.Given)
    def given(self, event: ActionBar.Given) -> None:
        """Export the comparison to the submitted path."""
        name, compared = event.text.strip(), self._compared
        if event.purpose == "export" and name and compared is not None:
            place = self._app_context.folder / Path(name).expanduser()
            write = partial(actions.write_document, partial(_text, compared), place, self._paths)
            self._action_bar.run(partial(write, action="compare.export"), event)

    @work(group="load", exclusive=True, name=HOLDS_KEYS)
    async def _load(self) -> None:
        sides = []
        try:
            for number, path in enumerate(self._paths, 1):
                name = self._app_context.name_of(path)
                self._show_waiting(f"reading {clean(name)} ({number} of {len(self._paths)})", "muted")
                session = await asyncio.to_thread(Session.load, path, None, lambda: not self._abandoned)
                session.judge_by(self._app_context.judging)
                sides.append(await asyncio.to_thread(ComparedSession.of, path.stem, session))
            await self._show_comparison(tuple(sides))
        except AbandonedError:
            return
        except BenchtuiError as error:
            self._show_waiting(clean(str(error)), "bad")

    @work(group="load", exclusive=True, name=HOLDS_KEYS)
    async def _swap(self, sides: tuple[ComparedSession, ...]) -> None:
        await self._show_comparison(sides)

    async def _show_comparison(self, sides: tuple[ComparedSession, ...]) -> None:
        """Compare the sessions with the first one, and show the result."""
        compared, self._decision = await asyncio.to_thread(_compare, sides)
        self._compared = compared
        entries = compare_rows.entries(compared)
        self._widest = compare_rows.widest_ratio(entries)
        self._names = CaseNames.of([entry.row.case.config for entry in entries])
        self._unit = task_named(sides[0].session.start.sweep.task).unit
        self.add_class("-loaded")
        self._panel("sides").styles.height = min(len(sides), 4)
        self._panel("differences").styles.height = min(len(compared.differences) + 1, MOST_DIFFERENCES)
        self._selection.update(entries)
        self.draw()

    def _show_waiting(self, word: str, role: str) -> None:
        self._waiting = (word, role)
        self.draw()

    def _require_comparison(self) -> SessionComparison | None:
        """Return the comparison. If there is none yet, show a message."""
        if self._compared is None:
            library = keymap.key("app.library")
            self._show_message(f"no sessions to compare yet: mark two in the Library ({library})")
        return self._compared

    def _copy(self, make: Callable[[], str], word: str) -> None:
        """Create a text in a thread, and copy it to the terminal's clipboard."""

        def work() -> ActionResult:
            self.app.call_from_thread(self.app.copy_to_clipboard, make())
            return ActionResult(word)

        self._action_bar.run(work)

    def _show_chosen(self) -> None:
        self.draw()

    def _draw_content(self) -> None:
        if self._compared is None:
            self._panel("waiting").show()
        else:
            self._draw_compared(self._compared)
        self._show_brief()

    def brief(self, width: int, height: int) -> Sequence[Line]:
        """Return the decision and the numbers of verdicts, or how to compare sessions."""
        if self._compared is None:
            return hint_lines([self._waiting])
        return summary_lines(self._summary(self._compared), width, height, self._symbols)

    def _keys(self) -> Keys:
        if not self._compared:
            return WAITING_KEYS
        own = (("s", "sort"), ("/", "filter"), ("b", "swap base"), ("y", "copy case"))
        return ((self._symbols.arrows, "cases"), *own, ("?", "help"), ("q", "quit"))

    def _draw_compared(self, compared: SessionComparison) -> None:
        letter = compared.against[0].new_letter if len(compared.against) == 1 else compare_rows.SEVERAL
        self._panel("sides").show(compared)
        self._panel("differences").show(compared)
        self._panel("summary").show(self._summary(compared))
        self._panel("header").show(self._names, letter, self._unit)
        self._show_rows(partial(self._row, letter), self._placeholder)
        self._panel("detail").show(self._entry)
        for frame, title in (("sessions", "sessions"), ("pairs", "cases"), ("pair", "selected case")):
            self.query_one(f"#{frame}", Frame).show_title([(title, "muted")])

    def _summary(self, compared: SessionComparison) -> ComparisonSummary:
        shown = self._selection
        counts = len(shown.rows), len(shown.all)
        return ComparisonSummary(compared, self._decision, *counts, shown.words, self._order)

    def _placeholder(self) -> list[Line]:
        shows_all = f"{keymap.key('compare.back')} shows all"
        words = clean(self._selection.words)
        return [line((f'no case matches "{words}"   ', "strong"), (shows_all, "muted"))]

    def _row(self, letter: str, entry: CompareEntry, width: int, mark: str) -> Line:
        cells = compare_rows.row(entry, self._symbols, self._widest)
        arrangement = compare_rows.arrangement(width, self._names, letter, self._unit)
        return arrangement.line(cells, width, self._symbols, mark)

    def _explainer(self, side: ComparedSession) -> Explainer:
        if side.file not in self._explainers:
            path = next(path for path in self._paths if path.stem == side.file)
            self._explainers[side.file] = Explainer(path, lambda: client.find(path))
        return self._explainers[side.file]

    @property
    def _entry(self) -> CompareEntry | None:
        return self._selection.chosen


def _compare(sides: tuple[ComparedSession, ...]) -> tuple[SessionComparison, tuple[str, ...]]:
    """Compare sessions, and recommend a setup in one sentence per compared session."""
    from benchtui.sessions.report.comparison.decision import setup_sentence  # not needed for the first paint

    compared = compare_sessions(sides)
    return compared, tuple(map(setup_sentence, compared.against))


def _session(side: ComparedSession) -> Session:
    return side.session


def _text(compared: SessionComparison) -> str:
    from benchtui.sessions.report.compare import markdown  # only reports need these libraries

    return markdown(compared)


def _row_text(entry: CompareEntry) -> str:
    from benchtui.sessions.report.compare import row_markdown  # only reports need these libraries

    return row_markdown(entry.against, entry.row)
