"""The Sweep place: a sweep edited by keys, the cases that follow from it, and its start."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.widgets import Input

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.precedents import Precedents, subject
from benchtui.sessions.sweep import Exclusion
from benchtui.themes import Symbols
from benchtui.tui.desk import Desk
from benchtui.tui.draft import FIRST
from benchtui.tui.guidance import SAVE_AS, Question, Typing, hint_of, keys_of
from benchtui.tui.learning import Learning
from benchtui.tui.places import Opened, Place
from benchtui.tui.sheet import Sheet
from benchtui.tui.surroundings import Surroundings
from benchtui.tui.text import clean
from benchtui.tui.widgets import inks
from benchtui.tui.widgets.cases_pane import CasesPane
from benchtui.tui.widgets.entry_lines import entry_lines, value_place
from benchtui.tui.widgets.field import Field
from benchtui.tui.widgets.ink import Line, line
from benchtui.tui.widgets.keys import Keys, key_lines
from benchtui.tui.widgets.log import Log, log_lines
from benchtui.tui.widgets.panel import Panel
from benchtui.tui.widgets.places import place_lines
from benchtui.tui.widgets.title import Title, title_lines

LOOK_S = 3.0
"""How often to look which engines run."""

KEYS: list[BindingType] = [
    Binding("s", "start", "Start the sweep", show=False),
    Binding("enter,e", "edit", "Edit the line", show=False),
    Binding("space", "switch", "Switch the value or the case", show=False),
    Binding("a", "switch_alike", "Switch all cases that share the value", show=False),
    Binding("d,delete", "reset", "Back to the default", show=False),
    Binding("o", "open", "Open another sweep", show=False),
    Binding("w,ctrl+s", "save", "Save as a TOML file", show=False),
    Binding("u", "undo", "Take back", show=False),
    Binding("ctrl+r,U", "redo", "Make again", show=False),
    Binding("tab", "other_pane", "Entries or cases", show=False),
    Binding("y", "agree", "Yes", show=False),
    Binding("escape", "back", "Back", show=False),
    Binding("down,j", "move(1)", "Down", show=False),
    Binding("up,k", "move(-1)", "Up", show=False),
    Binding("pagedown", "move(10)", "Ten down", show=False),
    Binding("pageup", "move(-10)", "Ten up", show=False),
    Binding("home,g", "move(-1000000)", "First", show=False),
    Binding("end,G", "move(1000000)", "Last", show=False),
    Binding("right,l", "turn(1)", "Next value", show=False),
    Binding("left,h", "turn(-1)", "Value before", show=False),
    Binding("question_mark,f1", "help", "Help", show=False),
    Binding("q,ctrl+q,ctrl+c", "leave", "Quit", show=False),
]
WHILE_TYPING = ("back", "move", "other_pane", "save")
WHILE_ASKED = ("agree", "back", "help")


class Editor(Screen[None]):
    """A sweep's entries beside its cases."""

    COMPONENT_CLASSES = inks.CLASSES
    BINDINGS: ClassVar[list[BindingType]] = KEYS

    def __init__(self, surroundings: Surroundings, symbols: Symbols, source: str | Path = FIRST) -> None:
        super().__init__()
        self._surroundings = surroundings
        self._symbols = symbols
        self._learning = Learning(surroundings)
        self._precedents = Precedents()
        self._subject: tuple[object, ...] | None = None
        """What was learned about."""
        self.desk = Desk(source)
        self._typing: Typing = ""
        self._question: Question | None = None
        self._busy = False
        self._at_work: tuple[str, ...] = ()

    def compose(self) -> ComposeResult:
        """The title; entries beside cases; a hint; the keys. The field lies above them."""
        signs = self._symbols
        yield Panel[str](_too_small, signs, id="small")
        with Vertical(classes="body"):
            yield Panel[Place](place_lines, signs, id="places")
            yield Panel[Title](title_lines, signs, id="title")
            with Container(id="panes"):
                yield Panel[Sheet](entry_lines, signs, id="entries")
                yield CasesPane(signs, id="cases")
            yield Panel[Log](log_lines, signs, id="hint")
            yield Panel[Keys](key_lines, signs, id="keys")
        yield Field(id="field")

    def on_mount(self) -> None:
        """Look around now and then which engines run."""
        self._panel("small").show("")
        self._panel("places").show("sweep")
        self.set_interval(LOOK_S, self._look)

    def on_screen_resume(self) -> None:
        """Look what has changed while another screen was shown."""
        self._subject = None
        self._look()
        self.draw()

    def on_resize(self, event: events.Resize) -> None:
        """Have the field stand where its line does in the new size."""
        self.call_after_refresh(self._put_field)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While something is typed or asked, only what answers it."""
        if not hasattr(self, f"action_{action}"):
            return True
        if self._typing:
            return action in WHILE_TYPING
        return action in WHILE_ASKED if self._question else action != "agree"

    @on(Input.Changed)
    def _try_text(self, event: Input.Changed) -> None:
        """Say at each keystroke whether the text is allowed, and show the cases that follow."""
        if self._typing == "entry":
            self.desk.attempt(event.value)
            self.draw()

    @on(Input.Submitted)
    def _accept_text(self, event: Input.Submitted) -> None:
        """Take the text over, unless it isn't allowed."""
        if self._typing == "path":
            self._stop_typing()
            self._save_as(event.value.strip())
        elif self._typing == "entry":
            self._accept()
        self.draw()

    async def action_leave(self) -> None:
        """Quit; the app asks first where something would be lost."""
        await self.app.run_action("app.leave")

    def action_start(self) -> None:
        """Start the sweep and show it; while another one runs on this machine, ask first."""
        totals = self._cases.totals
        if totals is not None and totals.complete and not totals.on:
            self.desk.say("no case would be measured: all are skipped or switched off", "warning")
        elif not self._busy:
            self._start(anyway=False)
        self.draw()

    def action_edit(self) -> None:
        """Type the value of the line; among the cases, switch one."""
        if self.desk.in_cases:
            self._switch(self._cases.here())
        else:
            self._type("entry", self.desk.sheet.row.text)
        self.draw()

    def action_switch(self) -> None:
        """Put the value under the cursor on or off, or the case."""
        if self.desk.in_cases or not self.desk.cursor.entry.values:
            self.action_edit()
        else:
            self.desk.switch()
        self.draw()

    def action_switch_alike(self) -> None:
        """Switch all cases that share the value under the cursor."""
        if self.desk.in_cases:
            self._switch(self._cases.alike())
        else:
            self.desk.say("tab leads to the cases: there a switches all that share a value")
        self.draw()

    def action_reset(self) -> None:
        """Leave the line to its default."""
        self.desk.set("")
        self.draw()

    def action_open(self) -> None:
        """Choose another sweep."""
        from benchtui.tui.screens.opener import Opener  # the first paint doesn't wait for it

        self.app.push_screen(Opener(self._surroundings.folder, self._symbols), self._chosen)

    def action_save(self) -> None:
        """Ask where to, and save; what is typed is taken over first."""
        if self._typing == "path" or (self._typing and not self._accept()):
            return
        origin, folder = self.desk.draft.state.origin, self._surroundings.folder
        path = origin.path or folder / f"{origin.stem}.toml"
        self._type("path", str(path.relative_to(folder) if path.is_relative_to(folder) else path))
        self.draw()

    def action_undo(self) -> None:
        """Take the last change back."""
        self.desk.undo()
        self.draw()

    def action_redo(self) -> None:
        """Make a change again that was taken back."""
        self.desk.redo()
        self.draw()

    def action_other_pane(self) -> None:
        """Go to the cases, or back to the entries; what is typed is taken over first."""
        if self._typing != "path" and (not self._typing or self._accept()):
            self.desk.in_cases = not self.desk.in_cases
            self.desk.say("")
        self.draw()

    def action_agree(self) -> None:
        """Answer the question with yes."""
        question, self._question = self._question, None
        if question is not None:
            question.act()
        self.draw()

    def action_back(self) -> None:
        """Drop what is typed or asked; from the cases back to the entries."""
        if self._typing:
            self._stop_typing()
        elif self._question is None:
            self.desk.in_cases = False
        self._question = None
        self.desk.say("")
        self.draw()

    def action_move(self, rows: int) -> None:
        """Go to another line, or to another case; what is typed is taken over first."""
        if self._typing == "path" or (self._typing and not self._accept()):
            return
        if self.desk.in_cases:
            self._cases.move(rows)
            self.desk.say("")
        else:
            self.desk.move(rows)
        self.draw()

    def action_turn(self, by: int) -> None:
        """Go to another value of the line, or to another option of the case."""
        if self.desk.in_cases:
            self._cases.turn(by)
            self.desk.say("")
        else:
            self.desk.turn(by)
        self.draw()

    def action_help(self) -> None:
        """What the keys of this place do."""
        from benchtui.tui.screens.help import editor_help  # the first paint doesn't wait for it
        from benchtui.tui.screens.page import Page

        self.app.push_screen(Page(lambda width: editor_help(self._symbols), self._symbols))

    def edit(self, source: str | Path) -> None:
        """Go on with another sweep."""
        self.desk.open(source)
        self.draw()

    def ask_leave(self) -> None:
        """Ask whether to leave in spite of changes."""
        self._ask("The changes are neither saved nor started.", "leave all the same", self._give_up)

    def draw(self) -> None:
        """Draw what differs; about a sweep of another model or task, learn first."""
        if not self.is_current:
            return
        desk = self.desk
        if subject(desk.sweep) != self._subject:
            self._subject = subject(desk.sweep)
            self._learn()
        with self.app.batch_update():
            state = desk.draft.state
            name, origin = clean(state.sweep.name), clean(state.origin.title)
            self._panel("title").show(Title(name, origin, desk.draft.changed, self._at_work))
            self._panel("entries").show(desk.sheet)
            self._cases.show(desk.sweep, self._precedents, desk.in_cases)
            self._panel("hint").show(hint_of(desk, self._cases.cell, self._question, self._typing))
            self._panel("keys").show(keys_of(desk, self._question, self._typing))

    def _switch(self, exclusion: Exclusion | None) -> None:
        cell = self._cases.cell
        if exclusion is not None and cell is not None:
            self.desk.switch_cases(cell, exclusion)

    def _type(self, what: Typing, text: str) -> None:
        self._typing = what
        self.desk.say("")
        self._put_field()
        self.query_one(Field).open(text)

    def _put_field(self) -> None:
        """Have the field stand where the text does that it changes."""
        panel = self._panel("entries" if self._typing == "entry" else "hint").region
        column, row = len(SAVE_AS), panel.height - 1
        if self._typing == "entry":
            column, row = value_place(self.desk.sheet, panel.height)
        self.query_one(Field).place(panel.x + column, panel.y + row, panel.width - column)

    def _accept(self) -> bool:
        """Take over what is typed; False where it isn't allowed."""
        accepted = self.desk.set(self.query_one(Field).value)
        if accepted:
            self._stop_typing()
        self.draw()
        return accepted

    def _stop_typing(self) -> None:
        self._typing, self.desk.trial = "", None
        self.query_one(Field).close()

    def _save_as(self, name: str) -> None:
        path = self._surroundings.folder / Path(name).expanduser()
        objection = self.desk.draft.objection(path) if name else None
        if not name:
            self.desk.say("no name given, nothing saved", "warning")
        elif objection is not None:
            self._ask(f"{clean(objection)}.", "overwrite it", lambda: self.desk.save(path))
        else:
            self.desk.save(path)

    def _chosen(self, source: str | None) -> None:
        if source is not None:
            self.edit(source)

    def _give_up(self) -> None:
        self.desk.draft.keep()
        self.call_later(self.app.run_action, "app.leave")

    def _start(self, anyway: bool) -> None:
        self._busy = True
        self.desk.say("starting engine")
        self._wait_for_engine(anyway)

    @work(group="start")
    async def _wait_for_engine(self, anyway: bool) -> None:
        """Start an engine, or ask first where another one runs; nobody waits for it but this."""
        sweep = self.desk.draft.sweep
        try:
            others = [] if anyway else await asyncio.to_thread(self._surroundings.running)
            if others:
                self._ask(
                    "Another sweep runs on this machine, and two slow each other.",
                    "start all the same",
                    lambda: self._start(anyway=True),
                )
                return
            engine = await asyncio.to_thread(self._surroundings.start, sweep)
        except BenchtuiError as error:
            self.desk.say(str(error), "bad")
            return
        finally:
            self._busy = False
            self.draw()
        self.desk.draft.keep()
        self.desk.say("")
        self.post_message(Opened(engine.path, engine))

    def _look(self) -> None:
        if self.is_current:
            self._look_around()

    @work(exclusive=True, group="look")
    async def _look_around(self) -> None:
        """Find out which engines run."""
        with suppress(BenchtuiError):  # where none can be reached, none is shown
            engines = await asyncio.to_thread(self._surroundings.running)
            self._at_work = tuple(clean(self._surroundings.name_of(engine.path)) for engine in engines)
            self.draw()

    @work(exclusive=True, group="learn")
    async def _learn(self) -> None:
        """Read what earlier sessions say."""
        self._precedents = await asyncio.to_thread(self._learning.precedents, self.desk.sweep)
        self.draw()

    def _ask(self, text: str, yes: str, act: Callable[[], object]) -> None:
        self._question = Question(text, yes, act)
        self.draw()

    @property
    def _cases(self) -> CasesPane:
        return self.query_one(CasesPane)

    def _panel(self, name: str) -> Panel[Any]:
        return self.query_one(f"#{name}", Panel)


def _too_small(snapshot: str, width: int, height: int, symbols: Symbols) -> list[Line]:
    return [line(("terminal too small", "strong")), line((f"{width} by {height}; 60 by 20 at least", "muted"))]
