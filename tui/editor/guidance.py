"""What the editor says at its bottom: a question, a word, what the line or case is about; and the keys."""

from typing import Literal

from benchtui.tui.drawing.format import clean
from benchtui.tui.editor.case_grid import Cell
from benchtui.tui.editor.form import Row
from benchtui.tui.editor.state import Desk
from benchtui.tui.shell.keymap import key
from benchtui.tui.widgets.keys import Keys
from benchtui.tui.widgets.message_line import Log

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


def hint_of(desk: Desk, cell: Cell | None, typing: Typing) -> Log:
    """The one thing that matters most at the moment."""
    if typing == "path":
        return Log(word=SAVE_AS, role="bright")
    if desk.question is not None:
        return Log(word=f"{desk.question.text}  y: {desk.question.yes}.  esc: back.", role="warning")
    if desk.word:
        return Log(word=desk.word, role=desk.role)
    if desk.in_cases:
        return Log(word=_case(cell) if cell else "", role="muted")
    return Log(word=_line(desk.sheet.row), role="muted")


def keys_of(desk: Desk, typing: Typing) -> Keys:
    """The keys of the moment, at most seven."""
    if typing:
        return (("enter", "save" if typing == "path" else "accept"), ("esc", "back"))
    if desk.question is not None:
        return (("y", desk.question.yes), ("esc", "back"))
    ends: Keys = (("s", "start"), ("?", "help"), ("q", "quit"))
    if desk.in_cases:
        return (("space", "off or on"), ("a", "all alike"), ("tab", "entries"), *ends)
    return (("enter", "edit"), ("tab", "cases"), ("o", "open"), ("w", "save"), *ends)


def _line(row: Row) -> str:
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
