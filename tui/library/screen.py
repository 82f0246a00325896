"""Library view: open, replay, resume, compare, rename, annotate, export, and delete sessions."""

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Container

from benchtui.sessions.errors import AbandonedError
from benchtui.sessions.library import paths
from benchtui.sessions.library.summaries import Summary, SummaryCache
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import Line, line
from benchtui.tui.library import actions, rows
from benchtui.tui.library.card import card_lines
from benchtui.tui.library.rows import (
    Item,
    LibrarySelection,
    arrangement,
    empty_lines,
    header_lines,
    heading_lines,
    list_title,
    order_at,
    unmatched_lines,
)
from benchtui.tui.pages.follow_up import continued
from benchtui.tui.pages.place_screen import PlaceScreen
from benchtui.tui.panels.answer_card import Answer
from benchtui.tui.shell import keymap
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.key_queue import HOLDS_KEYS
from benchtui.tui.shell.navigation import (
    BackRequested,
    ComparisonRequested,
    EditRequested,
    EngineRequested,
    Opened,
)
from benchtui.tui.widgets.action_bar import ActionBar
from benchtui.tui.widgets.completion import path_completer
from benchtui.tui.widgets.frame import Frame
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.long_list import LongList
from benchtui.tui.widgets.panel import Panel

PREVIEW_AFTER_S = 0.15
"""Seconds for which a session must stay selected before its answer is read."""
DRAW_S = 0.1
"""Minimum seconds between redraws while files are being read."""

KEYS = keymap.table(
    "library",
    ("enter,o", "open", "Open the session", "in the Monitor"),
    ("R", "replay", "Replay the session", "from its beginning", "open(True)"),
    ("r", "resume", "Resume the session", "run the remaining cases if it was interrupted or crashed"),
    ("space", "mark", "Mark for comparison", "the first marked is the base, A; moves to the next session"),
    ("c", "compare", "Compare the marked sessions", "a single one with the selected one"),
    ("e", "edit", "Edit the session's sweep"),
    ("slash", "filter", "Filter", "by words of name, host, model, outcome or note", "ask('filter')"),
    ("n", "next", "Next session", "wraps around at the end", "follow(1)"),
    ("N", "previous", "Previous session, wrapping around", "", "follow(-1)"),
    ("s", "sort", "Sort by the next column"),
    ("m,f2", "rename", "Rename", "", "ask('rename')"),
    ("w", "note", "Note", "saved in a text file next to the session", "ask('note')"),
    ("X,delete", "delete", "Delete the session and its note", "asks first"),
    ("v", "report", "View the report", "as benchtui export shows it on a terminal"),
    ("E", "export", "Export the report", "to a markdown file", "ask('export')"),
    ("i", "import", "Import a session file", "copies it into the library", "ask('import')"),
    ("f5,ctrl+l", "look", "Refresh the list"),
    (
        "escape",
        "back",
        "Back",
        "close the input or question; clear the filter, the marks; then to the previous page",
    ),
    *keymap.movement("session"),
    ("question_mark,f1", "help", "Help"),
    ("q", "quit", "Quit", "", "app.leave"),
)


class Library(PlaceScreen[Item]):
    """List of sessions with details of the selected one. Slow work runs in threads."""

    DEFAULT_CSS = """
    Library #heading { height: 1; margin: 0 1; }
    Library #middle { width: 100%; height: 1fr; }
    Library #sessions { height: 1fr; width: 1fr; }
    Library #about { height: 15; }
    Library #card { height: 1fr; }
    Library.-wide #middle { layout: horizontal; }
    Library.-wide #about { width: 76; height: 100%; }
    Library.-short #about { height: 7; }
    """
    PLACE = "library"
    HELP = "library"
    BINDINGS = KEYS

    def __init__(self, app_context: AppContext, symbols: Symbols) -> None:
        super().__init__(app_context, symbols, LibrarySelection())
        self._summaries: SummaryCache | None = None
        self._selection: LibrarySelection
        self._loaded = False
        self._previews: dict[Path, tuple[Summary, Answer | None]] = {}
        """Answers of the sessions selected so far, with the summary of that time."""
        self._base: Path | None = None
        """Session to mark once the list is loaded."""

    def content(self) -> ComposeResult:
        """Lay out the heading, the list, the session card, and the action bar."""
        signs = self._symbols
        yield Panel(heading_lines, signs, id="heading")
        with Container(id="middle"):
            titles = Panel(header_lines, signs, id="header")
            yield Frame(titles, LongList(id="list"), symbols=signs, id="sessions")
            yield Frame(Panel(card_lines, signs, id="card"), symbols=signs, id="about")
        yield ActionBar(signs)

    def on_screen_resume(self) -> None:
        """Catch up on changes made while another view was shown."""
        self.action_look()

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._selection.sort()
        self._show_chosen()

    def action_mark(self) -> None:
        """Toggle the mark of the selected session, and move to the next one."""
        fits = self._selection.toggle_mark()
        self._selection.move(1 if fits else 0)
        self._show_message("" if fits else "all letters are in use: no more sessions can be marked")

    def mark_base(self, path: Path) -> None:
        """Mark a session as the base of a comparison; the user selects the other one."""
        self._base = path
        self.action_look()

    def action_back(self) -> None:
        """Close the open input or question; else clear the filter, then the marks; else leave."""
        bar = self._action_bar
        if bar.purpose == "filter":
            self._selection.filter("")
        if bar.purpose:
            bar.close()
        elif bar.question is None and not self._selection.clear():
            self.post_message(BackRequested())
        self._show_message()

    def action_open(self, replay: bool = False) -> None:
        """Open the selected session in the Monitor, or replay it from its beginning."""
        if item := self._item():
            self.post_message(Opened(item.path, item.engine, replay=replay))

    def action_report(self) -> None:
        """View the report of the selected session."""
        # lazy imports: not needed for the first paint
        from benchtui.tui.report.generated import report_content
        from benchtui.tui.report.screen import ReportScreen

        if item := self._item():
            make = partial(report_content, item.path, self._app_context.judging)
            export = partial(self.action_ask, "export")
            self.app.push_screen(ReportScreen(make, export, self._symbols))

    def action_resume(self) -> None:
        """Resume the selected session, and show it in the Monitor."""
        if (item := self._item()) is None:
            return
        if item.engine is not None:
            self._show_message(f"{item.name} is still running; {keymap.key('library.open')} opens it")
        else:
            self._show_message("resuming")
            self.post_message(
                EngineRequested(
                    start=continued(item.path),
                    refused=self._show_message,
                    started=self._show_message,
                    name=item.name,
                )
            )

    def action_edit(self) -> None:
        """Edit the sweep of the selected session."""
        if item := self._item():
            self.post_message(EditRequested(item.path))

    def action_compare(self) -> None:
        """Compare the marked sessions. The first one marked is the base."""
        chosen = self._selection.to_compare
        if len(chosen) < 2:
            self._show_message(
                f"mark two or more sessions with {keymap.key('library.mark')}; the first is the base"
            )
        else:
            self.post_message(ComparisonRequested(tuple(item.path for item in chosen)))

    def action_ask(self, purpose: str) -> None:
        """Open the input for an action. If the action waits for confirmation, confirm it instead."""
        if purpose == "export" and self._action_bar.run_confirmed("E"):
            return
        item = self._selection.chosen if purpose in actions.WITHOUT_A_SESSION else self._item()
        if item is not None or purpose in actions.WITHOUT_A_SESSION:
            text = actions.initial_text(purpose, item, self._selection.words)
            completer = path_completer(self._app_context.folder) if purpose in actions.PATHS else None
            self._action_bar.ask(purpose, actions.INPUT_LABELS[purpose], text, completer)

    def action_delete(self) -> None:
        """Delete the selected session and its note, after a question."""
        if self._action_bar.run_confirmed("X") or (item := self._item()) is None:
            return
        if item.engine is not None:
            self._show_message(f"{item.name} is still running; stop it in the Monitor before deleting it")
        else:
            self._action_bar.confirm(actions.delete_prompt(item, self._selection.running_paths))

    @on(ActionBar.Given)
    def given(self, event: ActionBar.Given) -> None:
        """Run the action that the text was typed for."""
        text = event.text.strip()
        if event.purpose == "import" and text:
            self._import(event, self._app_context.folder / Path(text).expanduser())
        elif event.purpose != "filter" and (text or event.purpose == "note"):
            selection = self._selection
            self._action_bar.run(
                actions.action_for(
                    event.purpose, selection.chosen, text, self._app_context, selection.running_paths
                ),
                event,
            )

    @work
    async def _import(self, event: ActionBar.Given, place: Path) -> None:
        """Import a file. If no tool is known for it, ask what its columns are."""
        table, map_text = await asyncio.to_thread(actions.unknown_table, place), None
        if table is not None:
            from benchtui.tui.library.import_dialog import ImportDialog  # lazy: not needed for the first paint

            map_text = await self.app.push_screen_wait(ImportDialog(place, table, self._symbols))
        if table is None or map_text is not None:
            self._action_bar.run(partial(actions.import_file, place, map_text), event)

    @on(ActionBar.Finished)
    def finished(self, event: ActionBar.Finished) -> None:
        """Select the session of an action, and reload the list."""
        if event.done.session is not None:
            self._selection.select(event.done.session)
        self.action_look()

    @work(group="look", exclusive=True, name=HOLDS_KEYS)
    async def action_look(self) -> None:
        """Reload the list of sessions and engines, then start reading those without a cached summary."""
        if self._summaries is None:
            self._summaries = await asyncio.to_thread(SummaryCache)
        self._selection.update(await asyncio.to_thread(rows.items, self._app_context, self._summaries))
        self._loaded = True
        self._mark_base()
        self.draw()
        unread = [item for item in self._selection.all if item.summary is None and item.engine is None]
        if unread:
            self._read_summaries(self._summaries, unread)

    def _mark_base(self) -> None:
        """Mark the session that is to be compared, if there is one, and say how to go on."""
        base, self._base = self._base, None
        if base is None:
            return
        if self._selection.mark_base(base):
            compare = keymap.key("library.compare")
            self._show_message(f"{clean(base.stem)} is A; select another session, then {compare} compares them")
        else:
            self._show_message(f"{clean(base.stem)} isn't in the library; benchtui compare takes any files")

    @work(group="read", exclusive=True)
    async def _read_summaries(self, summaries: SummaryCache, unread: list[Item]) -> None:
        drawn_s = 0.0
        for item in unread:
            try:
                summary = await asyncio.to_thread(summaries.read, item.path, lambda: not self._abandoned)
            except AbandonedError:
                return
            listed = self._selection.all
            self._selection.update(
                replace(one, summary=summary) if one.path == item.path else one for one in listed
            )
            if time.monotonic() - drawn_s > DRAW_S or item is unread[-1]:
                self.draw()
                drawn_s = time.monotonic()
        await asyncio.to_thread(summaries.save)

    @on(events.Click)
    def sort_by_column(self, event: events.Click) -> None:
        """Sort by the clicked column."""
        header = self._panel("header")
        at = event.get_content_offset(header) if event.widget is header else None
        if at is not None and (order := order_at(at.x, header.size.width, self._longest)):
            self._selection.sort(order)
            self._show_chosen()

    def _draw_content(self) -> None:
        selection, longest = self._selection, self._longest
        chosen = clean(selection.chosen.name) if selection.chosen else ""
        self._panel("heading").show(len(selection.all), [item.name for item in selection.marked])
        self.query_one("#sessions", Frame).show_title(*list_title(selection))
        about = self.query_one("#about", Frame)
        about.show_title([(chosen, "strong")])
        about.display = selection.chosen is not None  # an empty frame would say nothing
        self._panel("header").show(longest, selection.order if selection.rows else "")
        self._show_rows(partial(self._row, longest), self._placeholder)
        self._panel("card").show(selection.chosen, self._preview_of(selection.chosen))
        self._show_brief()

    @property
    def _longest(self) -> int:
        """Number of letters of the longest name."""
        return max((len(item.label) for item in self._selection.all), default=0)

    def _row(self, longest: int, item: Item, width: int, mark: str) -> Line:
        cells = rows.row(item, self._selection.letter(item), self._symbols)
        return arrangement(width, longest).line(cells, width, self._symbols, mark)

    def brief(self, width: int, height: int) -> Sequence[Line]:
        """Return the number of sessions, and the selected one."""
        chosen = self._selection.chosen
        card = card_lines(chosen, self._preview_of(chosen), width, height - 1, self._symbols)
        return [line(*list_title(self._selection)[0]), *(card if chosen else self._placeholder())]

    def _preview_of(self, item: Item | None) -> Answer | None:
        """Return the answer of an ended session; schedule reading it if it isn't known."""
        if item is None or item.summary is None:
            return None
        summary, answer = self._previews.get(item.path, (None, None))
        if summary != item.summary:
            self._read_preview(item)
        return answer

    @work(group="preview", exclusive=True)
    async def _read_preview(self, item: Item) -> None:
        def wanted() -> bool:
            chosen = self._selection.chosen
            return not self._abandoned and chosen is not None and chosen.path == item.path

        await asyncio.sleep(PREVIEW_AFTER_S)
        from benchtui.tui.library.preview import preview  # lazy import: not needed for the first paint

        answer = await asyncio.to_thread(preview, item.path, self._symbols, wanted)
        if item.summary is not None:
            self._previews[item.path] = item.summary, answer
            self.draw()

    def _placeholder(self) -> list[Line]:
        if not self._loaded:
            return [line(("reading the library", "muted"))]
        if self._selection.words:
            return unmatched_lines(self._selection.words)
        return empty_lines(str(paths.folder()))

    def _keys(self) -> Keys:
        selection = self._selection
        always = (("/", "filter"), ("?", "help"), ("q", "quit"))
        if selection.marked:
            return (("c", "compare"), ("space", "mark"), ("esc", "unmark"), ("enter", "open"), *always)
        if not selection.rows:
            return (("1", "start a sweep"), ("i", "import"), ("?", "help"), ("q", "quit"))
        last = ("r", "resume") if selection.chosen and selection.chosen.left else ("X", "delete")
        return (("enter", "open"), ("R", "replay"), ("space", "mark"), last, *always)

    def _item(self) -> Item | None:
        """Return the selected session. If there is none, show a message."""
        if self._selection.chosen is None:
            self._show_message("no session selected")
        return self._selection.chosen
