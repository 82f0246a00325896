"""Editor state: the draft, its cursor, the message, and the open question. Independent of Textual."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.estimates.proposal import proposal_of
from benchtui.sessions.stored_models.hub_cache import stored_folder
from benchtui.sessions.stored_models.stored_model import missing_reason, read_model
from benchtui.sessions.sweep import Config, Exclusion, Sweep, custom_task
from benchtui.sessions.sweep.library_names import entry_hint
from benchtui.sessions.sweep.plan import lacking_devices
from benchtui.tui.drawing.format import clean, duration
from benchtui.tui.editor.case_grid import GridCase
from benchtui.tui.editor.draft import DEFAULT_PRESET, Draft, State, without_repeats
from benchtui.tui.editor.form import ENTRIES, Cursor, Form, FormRow, recognized, toggled
from benchtui.tui.shell.keymap import key
from benchtui.tui.table.case_names import config_name
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.message_line import Log

if TYPE_CHECKING:
    from benchtui.sessions.advice.find_sweep import DeviceSupport


class Prompt(msgspec.Struct, frozen=True):
    """Question that waits for the keys of ``sweep.yes`` or ``sweep.back``."""

    text: str
    yes: str
    """Effect of confirming, in one or two words."""
    act: Callable[[], object]


class EditorState:
    """Draft with a cursor. A change that isn't allowed shows a message."""

    def __init__(self, source: str | Path | Sweep = DEFAULT_PRESET) -> None:
        more = (
            f"{key('sweep.type')} edits a value, {key('sweep.open')} opens presets, recent sweeps and the demo"
        )
        self.message = f"{key('sweep.start')} starts this sweep. {more}, {key('sweep.help')} shows all keys."
        self.message_role = "bright"
        self.draft = self._open_draft(source)
        self.cursor = Cursor()
        self.trial: State | None = None
        """State with the text being typed applied; None if there is none."""
        self.in_cases = False
        """Whether key bindings act on the cases rather than on the form."""
        self.question: Prompt | None = None
        self.error = ""
        """Why the text of the selected entry isn't allowed; empty if it is."""

    @property
    def form(self) -> Form:
        """Current rows and cursor."""
        return self.cursor.form(self.draft.state, not self.in_cases, self.error)

    @property
    def sweep(self) -> Sweep:
        """Sweep whose cases are shown. It includes the text being typed, if valid."""
        return (self.trial or self.draft.state).sweep

    def show_message(self, message: str, role: str = "plain") -> None:
        """Show a message until the next key press."""
        self.message, self.message_role, self.error = clean(message), role, ""

    def refuse(self, reason: str) -> None:
        """Show at the selected entry why its text isn't allowed."""
        self.show_message("")
        self.error = clean(reason)

    def open(self, source: str | Path | Sweep) -> None:
        """Open another sweep. This can be undone."""
        if self._try(lambda: self.draft.open(source)):
            self.show_message(f"opened {self.draft.state.origin.title}; {key('sweep.undo')} undoes this")

    def leave_out(self, missing: Callable[[Config], str]) -> None:
        """Leave out the devices of a preset that this machine lacks, as ``run`` does. This can be undone."""
        lacking = lacking_devices(self.draft.sweep, missing)
        if self.draft.changed or not self.draft.state.origin.preset or not lacking:
            return
        here = ", ".join(device for device in self.draft.sweep.axes.device if device not in lacking)
        self.draft.apply(self.draft.with_entry("axes.device", here))
        self.draft.saved = self.draft.sweep
        reason = next(iter(lacking.values()))
        self.show_message(f"{', '.join(lacking)} left out: {reason}; {key('sweep.undo')} undoes this")

    def search(self, support: "DeviceSupport") -> None:
        """Turn the sweep into a search for the best case of its model. This can be undone."""
        from benchtui.sessions.advice.find_sweep import search_of  # lazy import: not needed for the first paint

        if self._try(lambda: self.draft.replace_by(search_of(self.draft.sweep, support), "search")):
            limit_s = self.draft.sweep.run.budget_s or 0.0
            start, undo = key("sweep.start"), key("sweep.undo")
            self.show_message(
                f"search for the best case in {duration(limit_s)}; {start} starts it, {undo} undoes this"
            )

    def save(self, name: str, folder: Path) -> bool:
        """Save to a path relative to a folder, ending in ``.toml``. Return False if it is refused.

        Ask first if other content would be overwritten.
        """
        if not name:
            self.show_message("not saved: no file name given", "warning")
            return False
        path = folder / Path(name).expanduser()
        path = path if path.suffix == ".toml" or path.is_dir() else path.with_name(f"{path.name}.toml")
        warning = self.draft.overwrite_warning(path)
        if warning is None:
            return self._save(path)
        self.ask(f"{clean(warning)}.", "overwrite", lambda: self._save(path))
        return True

    def ask(self, text: str, yes: str, act: Callable[[], object]) -> None:
        """Show a question until it is answered."""
        self.question = Prompt(text, yes, act)

    def confirm(self) -> None:
        """Confirm the open question."""
        question, self.question = self.question, None
        if question is not None:
            question.act()

    def undo(self) -> None:
        """Undo the last change."""
        newer = self.draft.state
        undone = self.draft.undo()
        self.show_message(f"undone: {changed_words(self.draft.state, newer)}" if undone else "nothing to undo")

    def redo(self) -> None:
        """Redo the last undone change."""
        older = self.draft.state
        redone = self.draft.redo()
        self.show_message(f"redone: {changed_words(older, self.draft.state)}" if redone else "nothing to redo")

    def move(self, lines: int) -> None:
        """Move the cursor by rows."""
        self.cursor.move(self.form, lines)
        self.show_message("")

    def find(self, text: str) -> None:
        """Move to the entry whose name contains a text."""
        moved = self.cursor.find(self.draft.state, text)
        names = (entry.label for entry in ENTRIES)
        self.show_message("" if moved else f"no entry has this name{entry_hint(text, names)}", "warning")

    def turn(self, by: int) -> None:
        """Move to another value. For a single-value entry, set the next one."""
        entry = self.cursor.entry
        if entry.folds and (by > 0) != (entry.folds in self.cursor.opened):
            self.fold()
        elif entry.values and not entry.several:
            self.set_value(self.form.value_after(by))
        else:
            self.cursor.turn(self.form, by)
            self.show_message("")

    def fold(self) -> None:
        """Unfold the group of the selected row, or fold it again."""
        self.cursor.fold(self.cursor.entry.folds)
        self.show_message("")

    def toggle(self) -> None:
        """Toggle the value under the cursor. For a single-value entry, set the next one."""
        row, value = self.form.row, self.form.value_at_cursor
        if value is None or not row.entry.several:
            self.turn(1)
        elif text := toggled(row.entry, row.text, value):
            self.set_value(text)
        else:
            self.show_message("at least one value must stay on", "warning")

    def set_value(self, text: str) -> bool:
        """Set the entry's text; empty restores the default. If invalid, show why and return False."""
        entry = self.cursor.entry.key
        text, repeated = without_repeats(entry, text)
        try:
            named = recognized(self.cursor.entry, text.strip(), self.draft.with_entry(entry, text).sweep)
            self.draft.apply(self.draft.with_entry(entry, named))
        except BenchtuiError as error:
            self.refuse(str(error))
            return False
        self.show_message(f"listed twice, kept once: {', '.join(repeated)}" if repeated else "")
        if entry == "model":
            self._propose(self.sweep.model)
        return True

    def set_model(self, model: str) -> None:
        """Measure another model."""
        self.cursor.find(self.draft.state, "model")
        self.set_value(model)

    def _propose(self, model: str) -> None:
        """Set the entries that a model's files suggest, as a change of its own that can be undone."""
        folder = None if custom_task(self.sweep.task) else stored_folder(model)
        if folder is None or missing_reason(model, folder):
            return
        proposal = proposal_of(read_model(folder))
        proposed = self.draft.with_entries(proposal.entries)
        if proposed.sweep != self.sweep:
            self.draft.apply(proposed)
            reasons = ", ".join(proposal.reasons)
            self.show_message(f"from the model's files: {reasons}; {key('sweep.undo')} undoes this", "bright")

    def reset(self) -> None:
        """Restore the entry's default."""
        if not self.cursor.entry.folds:
            self.set_value("")

    def preview(self, text: str) -> None:
        """Preview the text being typed. If it isn't allowed, keep the previous preview."""
        try:
            self.trial = self.draft.with_entry(self.cursor.entry.key, text)
        except BenchtuiError as error:
            self.refuse(str(error))
        else:
            self.show_message("")

    def toggle_cases(self, cell: GridCase, exclusion: Exclusion) -> None:
        """Disable the cases that match; enable them if the one under the cursor is disabled."""
        change = self.draft.with_cases_on if cell.status == "off" else self.draft.with_cases_off
        self._try(lambda: self.draft.apply(change(exclusion)))

    def suggested_path(self, folder: Path) -> str:
        """Return the suggested path to save to, relative to a folder if inside it."""
        origin = self.draft.state.origin
        path = origin.path or folder / f"{origin.stem}.toml"
        return str(path.relative_to(folder) if path.is_relative_to(folder) else path)

    def _save(self, path: Path) -> bool:
        saved = self._try(lambda: self.draft.save(path))
        if saved:
            self.show_message(f"saved {path}")
        return saved

    def _try(self, change: Callable[[], None]) -> bool:
        try:
            change()
        except BenchtuiError as error:
            self.show_message(str(error), "warning")
            return False
        self.show_message("")
        return True

    def _open_draft(self, source: str | Path | Sweep) -> Draft:
        try:
            return Draft.of(source)
        except BenchtuiError as error:
            self.show_message(str(error), "warning")
            return Draft.of(DEFAULT_PRESET)


def changed_words(older: State, newer: State) -> str:
    """Name the opened sweep, or the entries in which two states differ; if none differ, their cases do."""
    if older.origin != newer.origin:
        return f"opened {newer.origin.title}"
    changed = [key for key in {**older.texts, **newer.texts} if older.texts.get(key) != newer.texts.get(key)]
    return ", ".join(key.rpartition(".")[2] for key in changed) or "cases"


Typing = Literal["", "entry", "path", "find"]
"""Text being edited: an entry's value, a path to save to, or the name of an entry; empty if nothing."""
LABELS: dict[Typing, str] = {"path": "save as: ", "find": "find an entry: "}
"""Labels of the input below the form."""
BASES = {
    "measured": "measured in an earlier session on this machine",
    "near": "estimated from cases with other options in earlier sessions on this machine",
    "guess": "roughly estimated, because nothing similar was measured on this machine yet",
}
MAX_INLINE_LENGTH = 40
"""Length above which a value is repeated in the hint line, since its row may truncate it."""
RAN_OUT = "a case with these options and no larger size ran out of memory"


def hint_of(state: EditorState, cell: GridCase, typing: Typing) -> Log:
    """Return the hint line: save prompt, question, message, or a description of the selection."""
    if typing in LABELS:
        return Log(word=LABELS[typing], role="bright", error=state.message)
    if state.question is not None:
        yes = f"{key('sweep.yes')}: {state.question.yes}"
        return Log(word=f"{state.question.text}  {yes}.  esc: back.", role="warning")
    if state.message:
        return Log(word=state.message, role=state.message_role)
    if state.in_cases:
        return Log(word=_case(cell), role="muted")
    return Log(word=_line(state.form.row), role="muted")


def keys_of(state: EditorState, typing: Typing) -> Keys:
    """Return the currently available keys, at most seven."""
    if typing:
        return (("enter", "save" if typing == "path" else "accept"), ("esc", "back"))
    if state.question is not None:
        return (("y", state.question.yes), ("esc", "back"))
    ends: Keys = (("r", "run"), ("?", "help"), ("q", "quit"))
    if state.in_cases:
        return (("space", "off or on"), ("A", "all alike"), ("tab", "entries"), *ends)
    return (("enter", "edit"), ("tab", "cases"), ("o", "open"), ("w", "save"), *ends)


def _line(row: FormRow) -> str:
    about, switch = row.entry.folds or row.entry.label, key("sweep.switch")
    if row.entry.folds:
        return f"{about}: {switch} {'folds' if row.open else 'unfolds'} it"
    if len(row.text) > MAX_INLINE_LENGTH:
        return f"{about}: {row.shown}"
    if row.unused:
        return f"{about}; {row.unused}, {key('sweep.reset')} removes it"
    if not row.values:
        return f"{about}: {key('sweep.type')} edits it"
    several = f"arrows select a value, {switch} toggles it"
    return f"{about}: {several if row.entry.several else f'{switch} selects the next value'}"


def _case(cell: GridCase) -> str:
    name = clean(config_name(cell.config))
    if cell.status == "off":
        return f"{name}: off; {key('sweep.switch')} turns it on"
    if cell.status == "missing":
        return f"{name}: can't run: {cell.reason}"
    if cell.prediction is None:
        return f"{name}: skipped: {cell.reason}"
    if cell.prediction.ran_out:
        return f"{name}: {RAN_OUT}"
    time, memory = cell.prediction.time_basis, cell.prediction.memory_basis
    if time == memory:
        return f"{name}: time and memory {BASES[time]}"
    return f"{name}: time {BASES[time]}; memory {BASES[memory]}"
