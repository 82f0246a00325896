"""The Sweep place: a sweep edited by keys, the cases that follow from it, and its start."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.widgets import Input

from benchtui.sessions.errors import BenchtuiError
from benchtui.themes.symbols import Symbols
from benchtui.tui.editor.draft import FIRST
from benchtui.tui.editor.estimates import HistoryCache
from benchtui.tui.editor.form import Form
from benchtui.tui.editor.form_lines import entry_lines, value_place
from benchtui.tui.editor.grid_pane import CasesPane
from benchtui.tui.editor.state import SAVE_AS, EditorState, Typing, hint_of, keys_of
from benchtui.tui.editor.title_bar import TitleBar
from benchtui.tui.shell import keymap
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.navigation import Opened, Place
from benchtui.tui.widgets import role_styles
from benchtui.tui.widgets.input_field import Field
from benchtui.tui.widgets.key_bar import KeyBar
from benchtui.tui.widgets.message_line import Log, log_lines
from benchtui.tui.widgets.nav_bar import place_lines
from benchtui.tui.widgets.panel import Panel, small_lines

KEYS = keymap.table(
    "sweep",
    ("s", "start", "start", "Start the sweep"),
    ("enter,e", "type", "edit", "Type the value", "checked at each keystroke; esc: as it was"),
    ("space", "switch", "switch", "Switch the value or the case", "on or off; or take the next value"),
    (
        "a",
        "switch_alike",
        "switch_alike",
        "Switch all alike",
        "cases that share the value under the cursor",
    ),
    ("d,delete", "reset", "change('reset')", "Back to the default"),
    ("o", "open", "open", "Open another sweep", "a preset, a TOML file, or the sweep of a session"),
    ("w,ctrl+s", "save", "save", "Save as a TOML file", "comments are kept"),
    ("u", "undo", "change('undo')", "Take back", "opening a sweep as well"),
    ("ctrl+r,U", "redo", "change('redo')", "Make again"),
    ("tab", "cases", "other_pane", "To the cases, or back to the entries"),
    ("y", "yes", "agree", "Yes", "where something is asked"),
    ("escape", "back", "back", "Back", "from what is typed or asked, and from the cases"),
    ("down,j", "down", "move(1)", "Down", "a line, or a case"),
    ("up,k", "up", "move(-1)", "Up"),
    ("pagedown", "page_down", "move(10)", "Ten down"),
    ("pageup", "page_up", "move(-10)", "Ten up"),
    ("home,g", "first", "move(-1000000)", "First"),
    ("end,G", "last", "move(1000000)", "Last"),
    ("right,l", "right", "turn(1)", "Next value", "of the line, or next option of the case"),
    ("left,h", "left", "turn(-1)", "Value before"),
    ("question_mark,f1", "help", "help", "Help"),
    ("q", "quit", "leave", "Quit", "asks where changes would be lost"),
)
WHILE_TYPING = ("back", "move", "other_pane", "save", "help", "leave")
WHILE_ASKED = ("agree", "back", "help", "leave")


class Editor(Screen[None]):
    """A sweep's entries beside its cases."""

    COMPONENT_CLASSES = role_styles.CLASSES
    BINDINGS: ClassVar[list[BindingType]] = KEYS

    def __init__(self, app_context: AppContext, symbols: Symbols, source: str | Path = FIRST) -> None:
        super().__init__()
        self._app_context = app_context
        self._symbols = symbols
        self.state = EditorState(source)
        self._typing: Typing = ""
        self._busy = False

    def compose(self) -> ComposeResult:
        """The title; entries beside cases; a hint; the keys. The field lies above them."""
        signs = self._symbols
        yield Panel[str](small_lines, signs, id="small")
        with Vertical(classes="body"):
            yield Panel[Place](place_lines, signs, id="places")
            yield TitleBar(self._app_context, signs, id="title")
            with Container(id="panes"):
                yield Panel[Form](entry_lines, signs, id="entries")
                yield CasesPane(HistoryCache(self._app_context), signs, id="cases")
            yield Panel[Log](log_lines, signs, id="hint")
            yield KeyBar(signs)
        yield Field(id="field")

    def on_screen_resume(self) -> None:
        """Say where the reader is, and look what has changed while another screen was shown."""
        self._panel("small").show("")
        self._panel("places").show("sweep")
        self._cases.look()
        self.query_one(TitleBar).look()
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
        return action in WHILE_ASKED if self.state.question else action != "agree"

    @on(Input.Changed)
    def _try_text(self, event: Input.Changed) -> None:
        if self._typing == "entry":
            self.state.attempt(event.value)
            self.draw()

    @on(Input.Submitted)
    def _accept_text(self, event: Input.Submitted) -> None:
        if self._typing == "path":
            self._stop_typing()
            self.state.save(event.value.strip(), self._app_context.folder)
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
            self.state.say("no case would be measured: all are skipped or switched off", "warning")
            self.draw()
        elif not self._busy:
            self._start(anyway=False)

    def action_edit(self) -> None:
        """Type the value of the line; among the cases, switch one."""
        if self.state.in_cases:
            self.state.switch_cases(self._cases.cell, self._cases.here())
        else:
            self._type("entry", self.state.form.row.text)
        self.draw()

    def action_switch(self) -> None:
        """Put the value under the cursor on or off, or the case."""
        if self.state.in_cases or not self.state.cursor.entry.values:
            self.action_edit()
        else:
            self.state.switch()
        self.draw()

    def action_switch_alike(self) -> None:
        """Switch all cases that share the value under the cursor."""
        if self.state.in_cases:
            self.state.switch_cases(self._cases.cell, self._cases.alike())
        else:
            tab, alike = keymap.key("sweep.cases"), keymap.key("sweep.switch_alike")
            self.state.say(f"{tab} leads to the cases: there {alike} switches all that share a value")
        self.draw()

    def action_change(self, what: Literal["reset", "undo", "redo"]) -> None:
        """Make a change that needs nothing but the desk."""
        {"reset": self.state.reset, "undo": self.state.undo, "redo": self.state.redo}[what]()
        self.draw()

    def action_open(self) -> None:
        """Choose another sweep."""
        from benchtui.tui.editor.open_dialog import Opener  # the first paint doesn't wait for it

        self.app.push_screen(Opener(self._app_context.folder, self._symbols), self.edit)

    def action_save(self) -> None:
        """Ask where to, and save; what is typed is taken over first."""
        if self._typing == "path" or (self._typing and not self._accept()):
            return
        self._type("path", self.state.name_to_save(self._app_context.folder))
        self.draw()

    def action_other_pane(self) -> None:
        """Go to the cases, or back to the entries; what is typed is taken over first."""
        if self._typing != "path" and (not self._typing or self._accept()):
            self.state.in_cases = not self.state.in_cases
            self.state.say("")
        self.draw()

    def action_agree(self) -> None:
        """Answer the question with yes."""
        self.state.agree()
        self.draw()

    def action_back(self) -> None:
        """Drop what is typed or asked; from the cases back to the entries."""
        if self._typing:
            self._stop_typing()
        elif self.state.question is None:
            self.state.in_cases = False
        self.state.question = None
        self.state.say("")
        self.draw()

    def action_move(self, rows: int) -> None:
        """Go to another line, or to another case; what is typed is taken over first."""
        if self._typing == "path" or (self._typing and not self._accept()):
            return
        if self.state.in_cases:
            self._cases.move(rows)
            self.state.say("")
        else:
            self.state.move(rows)
        self.draw()

    def action_turn(self, by: int) -> None:
        """Go to another value of the line, or to another option of the case."""
        if self.state.in_cases:
            self._cases.turn(by)
            self.state.say("")
        else:
            self.state.turn(by)
        self.draw()

    def action_help(self) -> None:
        """What the keys of this place do."""
        from benchtui.tui.editor.help import editor_help  # the first paint doesn't wait for it
        from benchtui.tui.pages.help import open_help

        open_help(self, self._symbols, editor_help)

    def edit(self, source: str | Path | None) -> None:
        """Go on with another sweep, where one was chosen."""
        if source is not None:
            self.state.open(source)
        self.draw()

    def ask_leave(self) -> None:
        """Ask whether to leave in spite of changes."""
        self.state.ask("The changes are neither saved nor started.", "leave all the same", self._give_up)
        self.draw()

    def draw(self) -> None:
        """Draw what differs."""
        if not self.is_current:
            return
        state = self.state
        with self.app.batch_update():
            self.query_one(TitleBar).tell(state.draft)
            self._panel("entries").show(state.form)
            self._cases.show(state.sweep, state.in_cases)
            self._panel("hint").show(hint_of(state, self._cases.cell, self._typing))
            self._panel("keys").show(keys_of(state, self._typing))

    def _type(self, what: Typing, text: str) -> None:
        self._typing = what
        self.state.say("")
        self._put_field()
        self.query_one(Field).open(text)

    def _put_field(self) -> None:
        """Have the field stand where the text does that it changes."""
        panel = self._panel("entries" if self._typing == "entry" else "hint").region
        column, row = len(SAVE_AS), panel.height - 1
        if self._typing == "entry":
            column, row = value_place(self.state.form, panel.height)
        self.query_one(Field).place(panel.x + column, panel.y + row, panel.width - column)

    def _accept(self) -> bool:
        """Take over what is typed; False where it isn't allowed."""
        accepted = self.state.set(self.query_one(Field).value)
        if accepted:
            self._stop_typing()
        self.draw()
        return accepted

    def _stop_typing(self) -> None:
        self._typing, self.state.trial = "", None
        self.query_one(Field).close()

    def _give_up(self) -> None:
        self.state.draft.keep(self.state.draft.sweep)
        self.call_later(self.app.run_action, "app.leave")

    @work(group="start")
    async def _start(self, anyway: bool) -> None:
        """Start an engine, or ask first where another one runs; nobody waits for it but this."""
        self._busy, sweep = True, self.state.draft.sweep
        self.state.say("starting engine")
        self.draw()
        try:
            others = [] if anyway else await asyncio.to_thread(self._app_context.running)
            if others:
                again = partial(self._start, anyway=True)
                self.state.ask(
                    "Another sweep runs on this machine, and two slow each other.", "start all the same", again
                )
                return
            engine = await asyncio.to_thread(self._app_context.start, sweep)
        except BenchtuiError as error:
            self.state.say(str(error), "bad")
            return
        finally:
            self._busy = False
            self.draw()
        self.state.draft.keep(sweep)
        self.state.say("")
        self.post_message(Opened(engine.path, engine))

    @property
    def _cases(self) -> CasesPane:
        return self.query_one(CasesPane)

    def _panel(self, name: str) -> Panel[Any]:
        return self.query_one(f"#{name}", Panel)
