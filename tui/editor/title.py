"""Which sweep is edited, and what runs meanwhile; knows no Textual."""

from dataclasses import dataclass

from benchtui.themes import Symbols
from benchtui.tui.drawing.styled_text import Line, spread_out


@dataclass(frozen=True, slots=True)
class Title:
    """What the line above the editor says."""

    name: str
    origin: str
    """The preset, file or session that it came from."""
    changed: bool
    """Whether changes are neither saved nor started."""
    running: tuple[str, ...] = ()
    """The sessions that engines of this machine are at work on."""


def title_lines(title: Title, width: int, height: int, symbols: Symbols) -> list[Line]:
    """The sweep at the left; at the right what runs, and how to watch it."""
    left = [(f" {title.name}", "strong"), (f"  {title.origin}", "muted")]
    if title.changed:
        left += [(f" {symbols.dot} ", "muted"), ("not saved", "warning")]
    right = [(running_text(title.running), "accent"), (" ", "plain")] if title.running else []
    return [spread_out(left, right, width, symbols)]


def running_text(running: tuple[str, ...]) -> str:
    """What runs on this machine, and the key that shows it."""
    if len(running) == 1:
        return f"{running[0]} runs on this machine: 2 watches it"
    return f"{len(running)} sweeps run on this machine: 2 watches the newest"
