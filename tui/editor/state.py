"""What the keys of the editor change: the draft, the cursor in it, and what is said. Knows no Textual."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import Exclusion, Sweep
from benchtui.tui.drawing.format import clean
from benchtui.tui.editor.case_grid import Cell
from benchtui.tui.editor.draft import FIRST, Draft, State
from benchtui.tui.editor.form import Cursor, Form, FormRow, toggled
from benchtui.tui.shell.keymap import key
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.message_line import Log


@dataclass(frozen=True, slots=True)
class Prompt:
    """What waits for ``y`` or ``esc``."""

    text: str
    yes: str
    """What ``y`` does, in a word or two."""
    act: Callable[[], object]


class EditorState:
    """A draft with a cursor; every change that isn't allowed ends in a word."""

    def __init__(self, source: str | Path = FIRST) -> None:
        self.word, self.role = _welcome(), "bright"
        self.draft = self._begun(source)
        self.cursor = Cursor()
        self.trial: State | None = None
        """What the sweep would be with what is being typed."""
        self.in_cases = False
        """Whether the keys move among the cases."""
        self.question: Prompt | None = None

    @property
    def form(self) -> Form:
        """The lines as they stand, and the cursor in them."""
        return self.cursor.form(self.draft.state, not self.in_cases)

    @property
    def sweep(self) -> Sweep:
        """The sweep to show cases of: with what is being typed, where that is allowed."""
        return (self.trial or self.draft.state).sweep

    def say(self, word: str, role: str = "plain") -> None:
        """Have a word stand there until the next key."""
        self.word, self.role = clean(word), role

    def open(self, source: str | Path) -> None:
        """Go on with another sweep; undo leads back."""
        if self._done(lambda: self.draft.open(source)):
            self.say(f"opened {self.draft.state.origin.title}; {key('sweep.undo')} leads back")

    def save(self, name: str, folder: Path) -> None:
        """Write the sweep to a file, counted from a folder; ask first where something else would be lost."""
        path = folder / Path(name).expanduser()
        objection = self.draft.objection(path) if name else None
        if not name:
            self.say("no name given, nothing saved", "warning")
        elif objection is not None:
            self.ask(f"{clean(objection)}.", "overwrite it", lambda: self._save(path))
        else:
            self._save(path)

    def ask(self, text: str, yes: str, act: Callable[[], object]) -> None:
        """Have a question stand there until it is answered."""
        self.question = Prompt(text, yes, act)

    def agree(self) -> None:
        """Answer the question with yes."""
        question, self.question = self.question, None
        if question is not None:
            question.act()

    def undo(self) -> None:
        """Take the last change back."""
        self.say("taken back" if self.draft.undo() else "nothing to take back")

    def redo(self) -> None:
        """Make a change again that was taken back."""
        self.say("made again" if self.draft.redo() else "nothing to make again")

    def move(self, lines: int) -> None:
        """Go to another line."""
        self.cursor.move(self.form, lines)
        self.say("")

    def turn(self, by: int) -> None:
        """Go to another of several values; of an entry that has one, take the next."""
        entry = self.cursor.entry
        if entry.values and not entry.several:
            self.set(self.form.value_after(by))
        else:
            self.cursor.turn(self.form, by)
            self.say("")

    def switch(self) -> None:
        """Put the value under the cursor on or off; of an entry that has one, take the next."""
        row, value = self.form.row, self.form.value_at_cursor
        if value is None or not row.entry.several:
            self.turn(1)
        elif text := toggled(row.entry, row.text, value):
            self.set(text)
        else:
            self.say("at least one value has to stay on", "warning")

    def set(self, text: str) -> bool:
        """Change the line; an empty text leaves it to its default. False, with a word, where that can't be."""
        return self._done(lambda: self.draft.take(self.draft.tried(self.cursor.entry.key, text)))

    def reset(self) -> None:
        """Leave the line to its default."""
        self.set("")

    def attempt(self, text: str) -> None:
        """See what a text that is being typed would mean; where it isn't allowed, what was before stays."""
        try:
            self.trial = self.draft.tried(self.cursor.entry.key, text)
        except BenchtuiError as error:
            self.say(str(error), "warning")
        else:
            self.say("")

    def switch_cases(self, cell: Cell | None, exclusion: Exclusion | None) -> None:
        """Switch cases off; where the one under the cursor is off already, on."""
        if cell is not None and exclusion is not None:
            change = self.draft.again if cell.status == "off" else self.draft.without
            self._done(lambda: self.draft.take(change(exclusion)))

    def name_to_save(self, folder: Path) -> str:
        """Where the sweep would be saved, counted from a folder where it lies in it."""
        origin = self.draft.state.origin
        path = origin.path or folder / f"{origin.stem}.toml"
        return str(path.relative_to(folder) if path.is_relative_to(folder) else path)

    def _save(self, path: Path) -> None:
        if self._done(lambda: self.draft.save(path)):
            self.say(f"saved {path}")

    def _done(self, change: Callable[[], None]) -> bool:
        try:
            change()
        except BenchtuiError as error:
            self.say(str(error), "warning")
            return False
        self.say("")
        return True

    def _begun(self, source: str | Path) -> Draft:
        try:
            return Draft.of(source)
        except BenchtuiError as error:
            self.say(str(error), "warning")
            return Draft.of(FIRST)


def _welcome() -> str:
    ways = f"{key('sweep.type')} changes a line, {key('sweep.open')} opens another sweep"
    return f"{key('sweep.start')} starts this sweep. {ways}, {key('sweep.help')} explains the rest."


Typing = Literal["", "entry", "path"]
"""What is being typed: the value of an entry, or where to save."""
SAVE_AS = "save as: "
BASES = {
    "measured": "measured in an earlier session on this machine",
    "near": "by cases of other options in earlier sessions on this machine",
    "guess": "a guess, for nothing like it was measured on this machine yet",
}
LONG = 40
"""Letters of a value from which on it is told whole below, for its line may have cut it."""
RAN_OUT = "a case of these options that was no larger ran out of memory"


def hint_of(state: EditorState, cell: Cell | None, typing: Typing) -> Log:
    """The one thing that matters most at the moment."""
    if typing == "path":
        return Log(word=SAVE_AS, role="bright")
    if state.question is not None:
        return Log(word=f"{state.question.text}  y: {state.question.yes}.  esc: back.", role="warning")
    if state.word:
        return Log(word=state.word, role=state.role)
    if state.in_cases:
        return Log(word=_case(cell) if cell else "", role="muted")
    return Log(word=_line(state.form.row), role="muted")


def keys_of(state: EditorState, typing: Typing) -> Keys:
    """The keys of the moment, at most seven."""
    if typing:
        return (("enter", "save" if typing == "path" else "accept"), ("esc", "back"))
    if state.question is not None:
        return (("y", state.question.yes), ("esc", "back"))
    ends: Keys = (("s", "start"), ("?", "help"), ("q", "quit"))
    if state.in_cases:
        return (("space", "off or on"), ("a", "all alike"), ("tab", "entries"), *ends)
    return (("enter", "edit"), ("tab", "cases"), ("o", "open"), ("w", "save"), *ends)


def _line(row: FormRow) -> str:
    about = f"{row.entry.label}: {row.entry.about}" if row.entry.about else row.entry.label
    if len(row.text) > LONG:
        return f"{row.entry.label}: {row.text}"
    if row.unused:
        return f"{about}; {row.unused}, {key('sweep.reset')} takes it out"
    if not row.values:
        return about
    switch = key("sweep.switch")
    return f"{about}; " + (
        f"arrows choose, {switch}: on or off" if row.entry.several else f"{switch}: the next value"
    )


def _case(cell: Cell) -> str:
    name = clean(cell.config.name)
    if cell.status == "off":
        return f"{name}: switched off, {key('sweep.switch')} switches it on"
    if cell.prediction is None:
        return f"{name}: skipped, {cell.reason}"
    if cell.prediction.ran_out:
        return f"{name}: {RAN_OUT}"
    time, memory = cell.prediction.time_basis, cell.prediction.memory_basis
    if time == memory:
        return f"{name}: time and memory {BASES[time]}"
    return f"{name}: time {BASES[time]}; memory {BASES[memory]}"
