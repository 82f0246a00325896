"""Sweep view: edit a sweep, preview its cases, and start it."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from msgspec.structs import replace
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Container
from textual.widgets import Input

from benchtui.sessions.estimates.sweep_models import missing_input
from benchtui.sessions.library.paths import DEMO, demo_path
from benchtui.sessions.stored_models.hub_cache import snapshot
from benchtui.sessions.sweep import Config, Sweep
from benchtui.sessions.text.formatting import count
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import Line, wrap_facts
from benchtui.tui.editor.case_grid import totals_text
from benchtui.tui.editor.draft import DEFAULT_PRESET
from benchtui.tui.editor.form import Form
from benchtui.tui.editor.form_lines import about_lines, entry_lines, row_at, value_place
from benchtui.tui.editor.grid_pane import CasesPane
from benchtui.tui.editor.state import LABELS, EditorState, Typing, hint_of, keys_of
from benchtui.tui.editor.title_bar import TitleBar
from benchtui.tui.pages.view_screen import ViewScreen
from benchtui.tui.shell import keymap
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.navigation import BackRequested, EngineRequested, Opened
from benchtui.tui.widgets.completion import Completer, model_completer, path_completer
from benchtui.tui.widgets.frame import Frame
from benchtui.tui.widgets.input_field import Field
from benchtui.tui.widgets.message_line import log_lines
from benchtui.tui.widgets.panel import Panel

KEYS = keymap.table(
    "sweep",
    ("r", "start", "Run the sweep"),
    ("enter,e", "type", "Edit the value", "validated at each keystroke; esc restores it", "edit"),
    ("space", "switch", "Toggle the value or the case", "or select the next value"),
    ("A", "switch_alike", "Toggle all similar cases", "those that share the value under the cursor"),
    ("delete,backspace", "reset", "Reset to the default", "", "change('reset')"),
    ("o", "open", "Open another sweep", "a preset, a TOML file, or the sweep of a session"),
    ("w,ctrl+s", "save", "Save as a TOML file", "comments are kept"),
    ("slash", "find", "Find an entry", "by a part of its name"),
    ("f", "search", "Find the best case", "turns the sweep into a search of its model; undo restores it"),
    ("u", "undo", "Undo", "including opening a sweep", "change('undo')"),
    ("U,ctrl+r", "redo", "Redo", "", "change('redo')"),
    ("tab,shift+tab", "cases", "Switch between entries and cases", "", "other_pane"),
    ("y", "yes", "Confirm", "when a question is open", "agree"),
    ("escape", "back", "Back", "from the input, the question or the cases; then to the previous page"),
    *keymap.movement("row", "or case"),
    ("right,l", "right", "Next value", "or next option of the case", "turn(1)"),
    ("left,h", "left", "Previous value", "", "turn(-1)"),
    ("question_mark,f1", "help", "Help"),
    ("q", "quit", "Quit", "asks first if changes would be lost", "app.leave"),
)
MODEL_ENTRIES = ("model", "axes.model", "axes.draft")
PATH_ENTRIES = ("dataset", "task")
"""Entries whose text tab completes."""
WHILE_TYPING = ("back", "move", "other_pane", "save", "help")
WHILE_ASKED = ("agree", "back", "help")


class Editor(ViewScreen):
    """Entries of a sweep next to its cases."""

    DEFAULT_CSS = """
    Editor { layers: base above; }
    Editor #title { height: 1; margin: 0; }
    Editor #panes { width: 100%; height: 1fr; layout: horizontal; }
    Editor #sweep { width: 58; height: 100%; }
    Editor #plan { width: 1fr; height: 100%; }
    Editor #entries, Editor #cases { width: 100%; height: 100%; }
    Editor #totals { height: 3; }
    Editor #matrix { height: 1fr; }
    Editor #hint { height: 2; margin: 0 1; }
    Editor #about { display: none; width: 52; height: 100%; }
    Editor.-wide #sweep { width: 68; }
    Editor.-wide #about { display: block; }
    Editor #meaning { height: 1fr; }
    Editor.-narrow #panes { layout: vertical; }
    Editor.-narrow #sweep { width: 100%; height: 1fr; }
    Editor.-narrow #plan { width: 100%; height: 40%; }
    Editor.-narrow.-in-cases #plan { height: 70%; }
    Editor.-short #totals { height: 1; }
    """
    PLACE = "sweep"
    HELP = "sweep"
    BINDINGS = KEYS

    def __init__(
        self, app_context: AppContext, symbols: Symbols, source: str | Path | Sweep = DEFAULT_PRESET
    ) -> None:
        super().__init__(symbols)
        self._app_context = app_context
        self.state = EditorState(source)
        self._typing: Typing = ""
        self._missing: Callable[[Config], str] | None = None
        """Returns why a case's device isn't on this machine, once that has been checked."""

    def compose(self) -> ComposeResult:
        """Lay out the view, and the input as an overlay."""
        yield from super().compose()
        yield Field()

    def content(self) -> ComposeResult:
        """Lay out the title, entries and cases, and the hint line."""
        signs = self._symbols
        yield TitleBar(self._app_context, signs, id="title")
        with Container(id="panes"):
            yield Frame(Panel(entry_lines, signs, id="entries"), symbols=signs, id="sweep")
            cases = CasesPane(self.state.sweep, self._app_context, signs)
            yield Frame(cases, symbols=signs, id="plan")
            yield Frame(Panel(about_lines, signs, id="meaning"), symbols=signs, id="about")
        yield Panel(log_lines, signs, id="hint")

    def on_screen_resume(self) -> None:
        """Catch up on changes made while another screen was shown."""
        self._cases.reload_history()
        self._look_for_devices()
        self.query_one(TitleBar).check_engines()
        self.draw()

    def on_resize(self, event: events.Resize) -> None:
        """Reposition the input for the new size. Textual calls the base's handler as well."""
        self.call_after_refresh(self._put_field)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow only matching actions during text input or while a question is open."""
        if not hasattr(self, f"action_{action}"):
            return True
        if self._typing:
            return action in WHILE_TYPING
        return action in WHILE_ASKED if self.state.question else action != "agree"

    def on_click(self, event: events.Click) -> None:
        """Move to the clicked entry or case, as the cursor keys do. A double click edits it."""
        panel = event.widget
        at = event.get_content_offset(panel) if panel is not None else None
        if at is None or panel is None or panel.id not in ("entries", "matrix") or self.state.question:
            return
        if self.state.in_cases != (panel.id == "matrix"):
            self.action_other_pane()
        form = self._form
        room = (*panel.size, self._symbols)
        row = row_at(form, at.y, *room) if panel.id == "entries" else self._cases.row_at(at.y)
        if row is not None:
            self.action_move(row - (form.chosen if panel.id == "entries" else self._cases.chosen))
            if event.chain == 2 and not self._typing:
                self.action_edit()

    @on(Input.Changed)
    def _try_text(self, event: Input.Changed) -> None:
        if self._typing == "entry":
            self.state.preview(event.value)
        elif self._typing == "find":
            self.state.find(event.value)
            self._put_field()
        elif self._typing == "path" and self.state.message:
            self.state.show_message("")
            self._put_field()
        self.draw()

    @on(Input.Submitted)
    def _accept_text(self, event: Input.Submitted) -> None:
        if self._typing == "path":
            if self.state.save(event.value.strip(), self._app_context.folder):
                self._stop_typing()
            else:
                self._put_field()
        else:
            self._finish_typing()
        self.draw()

    def action_start(self) -> None:
        """Start the sweep and show it."""
        totals = self._cases.totals
        if missing := missing_input(self.state.sweep):
            self.state.show_message(missing, "bad")
            self.draw()
        elif totals is not None and not totals.on:
            why = totals.missing_reason or "all cases are skipped or off"
            self.state.show_message(f"nothing to measure: {why}", "warning")
            self.draw()
        else:
            self._start()

    def action_edit(self) -> None:
        """Edit the value of the selected entry; among the cases, toggle one."""
        if self.state.in_cases:
            self.state.toggle_cases(self._cases.cell, self._cases.case_exclusion())
        elif self.state.cursor.entry.folds:
            self.state.fold()
        else:
            self._type("entry", self.state.form.row.text, self._completer())
        self.draw()

    def action_switch(self) -> None:
        """Toggle the value or the case under the cursor."""
        if self.state.in_cases or self.state.cursor.entry.folds or not self.state.cursor.entry.values:
            self.action_edit()
        else:
            self.state.toggle()
        self.draw()

    def action_switch_alike(self) -> None:
        """Toggle all cases that share the value under the cursor."""
        if self.state.in_cases:
            self.state.toggle_cases(self._cases.cell, self._cases.value_exclusion())
        else:
            cases, alike = keymap.key("sweep.cases"), keymap.key("sweep.switch_alike")
            self.state.show_message(f"{cases} moves to the cases, where {alike} toggles all that share a value")
        self.draw()

    def action_change(self, what: Literal["reset", "undo", "redo"]) -> None:
        """Reset the selected entry, undo, or redo."""
        {"reset": self.state.reset, "undo": self.state.undo, "redo": self.state.redo}[what]()
        self.draw()

    def action_open(self) -> None:
        """Open the dialog for another sweep."""
        from benchtui.tui.editor.open_dialog import OpenDialog  # lazy import: not needed for the first paint

        self.app.push_screen(OpenDialog(self._app_context, self._symbols), self._open_choice)

    def action_find(self) -> None:
        """Ask for the name of an entry, and move to the first match on each keystroke."""
        self.state.in_cases = False
        self._type("find", "")
        self.draw()

    async def action_search(self) -> None:
        """Turn the sweep into a search for the best case of its model. A thread checks the machine."""
        self.state.search(await asyncio.to_thread(self._app_context.device_support))
        self.draw()

    def action_save(self) -> None:
        """Ask for a path, and save. Apply the typed value first."""
        if not self._finish_typing():
            return
        folder = self._app_context.folder
        self._type("path", self.state.suggested_path(folder), path_completer(folder))
        self.draw()

    def action_other_pane(self) -> None:
        """Switch between entries and cases. Apply the typed value first."""
        if self._finish_typing():
            self.state.in_cases = not self.state.in_cases
            self.state.show_message("")
        self.draw()

    def action_agree(self) -> None:
        """Confirm the open question."""
        self.state.confirm()
        self.draw()

    def action_back(self) -> None:
        """Cancel the input or the question; else return to the entries, then to the previous view."""
        if self._typing:
            self._stop_typing()
        elif self.state.question is None and self.state.in_cases:
            self.state.in_cases = False
        elif self.state.question is None:
            self.post_message(BackRequested())
        self.state.question = None
        self.state.show_message("")
        self.draw()

    def action_move(self, rows: int) -> None:
        """Move to another entry or case. Apply the typed value first."""
        if not self._finish_typing():
            return
        if self.state.in_cases:
            self._cases.move(rows)
            self.state.show_message("")
        else:
            self.state.move(rows)
        self.draw()

    def action_turn(self, by: int) -> None:
        """Move to another value of the entry, or to another option of the case."""
        if self.state.in_cases:
            self._cases.turn(by)
            self.state.show_message("")
        else:
            self.state.turn(by)
        self.draw()

    def edit(self, source: str | Path | Sweep | None) -> None:
        """Open another sweep, unless ``source`` is None."""
        if source is not None:
            self.state.open(source)
            if self._missing is not None:
                self.state.leave_out(self._missing)
        self.draw()

    def _open_choice(self, source: str | None) -> None:
        """Edit the chosen sweep, replay the demo, or measure the chosen model in the open sweep."""
        if source == DEMO:
            self.post_message(Opened(demo_path(), None, replay=True))
        elif source is not None and snapshot(source):
            self.state.set_model(source)
            self.draw()
        else:
            self.edit(source)

    def ask_leave(self) -> None:
        """Ask whether to leave despite unsaved changes."""
        self.state.ask("Your changes are neither saved nor started.", "quit anyway", self._give_up)
        self.draw()

    def draw(self) -> None:
        """Redraw what changed."""
        if not self.is_current:
            return
        state = self.state
        self.set_class(state.in_cases, "-in-cases")
        with self.app.batch_update():
            self.query_one(TitleBar).show_draft(state.draft)
            for name, title, focused in (
                ("sweep", "sweep", not state.in_cases),
                ("plan", "cases of the last valid sweep" if state.error else "cases", state.in_cases),
            ):
                frame = self.query_one(f"#{name}", Frame)
                frame.show_title([(title, "muted")])
                frame.highlight(focused)
            form = self._form
            self._panel("entries").show(form)
            self._panel("meaning").show(form)
            self.query_one("#about", Frame).show_title([(form.row.entry.key.removeprefix("fold."), "muted")])
            self._cases.show(state.sweep, state.in_cases)
            self._panel("hint").show(hint_of(state, self._cases.cell, self._typing))
            self._panel("keys").show(keys_of(state, self._typing))
            self._show_brief()

    def brief(self, width: int, height: int) -> Sequence[Line]:
        """Return the sweep with its totals, and its entries."""
        name, totals = clean(self.state.sweep.name), self._cases.totals
        sweep, amount = self.state.sweep, count(self.state.sweep.axes.count, "case")
        text = totals_text(totals, sweep, self._symbols) if totals else amount
        head = wrap_facts([[(name, "strong")], [(text, "plain")]], width)
        return [*head, *entry_lines(self.state.form, width, height - len(head), self._symbols)]

    def _completer(self) -> Completer | None:
        """Return what completes the selected entry at tab: models or files; None for other entries."""
        folder, entry = self._app_context.folder, self.state.cursor.entry.key
        if entry in MODEL_ENTRIES:
            return model_completer(folder, self._app_context.bundled)
        return path_completer(folder) if entry in PATH_ENTRIES else None

    @on(Field.Completed)
    def _show_options(self, event: Field.Completed) -> None:
        """Show how the typed text may continue."""
        self.state.show_message("  ".join(event.options), "muted")
        self.draw()

    def _type(self, what: Typing, text: str, completer: Completer | None = None) -> None:
        self._typing = what
        self.state.show_message("")
        self._put_field()
        self.query_one(Field).open(text, completer)

    def _put_field(self) -> None:
        panel = self._panel("entries" if self._typing == "entry" else "hint").region
        column, row = len(LABELS.get(self._typing, "")), panel.height - (2 if self.state.message else 1)
        if self._typing == "entry":
            column, row = value_place(self._form, panel.width, panel.height, self._symbols)
        self.query_one(Field).place(panel.x + column, panel.y + row, panel.width - column)

    def _accept(self) -> bool:
        """Apply the typed value. Return False if it isn't allowed."""
        accepted = self.state.set_value(self.query_one(Field).value)
        if accepted:
            self._stop_typing()
        self.draw()
        return accepted

    def _finish_typing(self) -> bool:
        """Apply the text being typed, if any. Return False if it isn't allowed, or is a path."""
        if self._typing == "entry":
            return self._accept()
        if self._typing == "find":
            self._stop_typing()
        return not self._typing

    def _stop_typing(self) -> None:
        self._typing, self.state.trial = "", None
        self.query_one(Field).close()

    def _give_up(self) -> None:
        self.state.draft.saved = self.state.draft.sweep
        self.call_later(self.app.run_action, "app.leave")

    @work(exclusive=True, group="devices")
    async def _look_for_devices(self) -> None:
        """Mark the cases that can't run here, after checking the machine in a thread."""
        if self._missing is None:
            self._missing = await asyncio.to_thread(self._app_context.missing_device)
            self._cases.show_missing_devices(self._missing)
            self.state.leave_out(self._missing)
            self.draw()

    def _start(self) -> None:
        """Request an engine. Entries typed here are allowed; for those of a file, the app asks."""
        draft, sweep = self.state.draft, self.state.draft.sweep

        def refused(reason: str) -> None:
            self.state.show_message(reason, "bad")
            self.draw()

        def started() -> None:
            draft.saved = sweep
            self.state.show_message("")

        self.state.show_message("starting the engine")
        self.draw()
        self.post_message(
            EngineRequested(
                start=lambda context, consent, wait: context.start(sweep, consent, wait),
                consent=draft.typed,
                refused=refused,
                started=started,
                name=draft.state.origin.title,
            )
        )

    @property
    def _form(self) -> Form:
        return replace(self.state.form, explained=self.has_class("-wide"))

    @property
    def _cases(self) -> CasesPane:
        return self.query_one(CasesPane)
