"""Lines that the reader is asked to type: what for, what is wrong with them, what becomes of them."""

from functools import partial
from typing import TYPE_CHECKING

from textual.widgets import Input

from benchtui.tui.monitor.clipboard import write_report
from benchtui.tui.monitor.requests import Control, Request
from benchtui.tui.widgets.input_field import Prompt

if TYPE_CHECKING:
    from benchtui.tui.monitor.screen import Monitor


from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchtui.sessions.errors import BenchtuiError

Take = Callable[[str], str]
"""Takes what was typed; gives a word on why not, or nothing."""


def _nothing(text: str) -> str:
    return ""


@dataclass(slots=True)
class Asked:
    """A line that is being typed."""

    label: str
    """What is asked for."""
    value: str = ""
    """What stands there to begin with."""
    typed: Take = field(default=_nothing)
    """Takes every change while it is typed; gives a word on it."""
    entered: Take = field(default=_nothing)
    """Takes the whole line at its end; a word keeps the line open."""
    dropped: Callable[[], None] = field(default=lambda: None)
    """Called where the reader goes back."""


class Export:
    """A file that a report is to be written to; one that is there is overwritten only when asked for twice."""

    def __init__(self, write: Callable[[Path], None]) -> None:
        self._write = write
        self._warned: str | None = None

    def typed(self, text: str) -> str:
        """What would happen."""
        self._warned = None
        if not text.strip():
            return "a path is needed"
        path = Path(text).expanduser()
        if path.is_dir():
            return f"{path} is a folder"
        return f"{path} is there already" if path.exists() else ""

    def entered(self, text: str) -> str:
        """Write the report, or say why not yet."""
        warned = self._warned == text
        said = self.typed(text)
        if said and not (warned and said.endswith("already")):
            self._warned = text
            return f"{said}; enter once more to overwrite it" if said.endswith("already") else said
        self._write(Path(text).expanduser())
        return ""


def tried(attempt: Callable[[str], object], good: Callable[[object], str] = lambda made: "") -> Take:
    """What is wrong with a line, by trying what is to be done with it."""

    def take(text: str) -> str:
        try:
            return good(attempt(text))
        except BenchtuiError as error:
            return str(error)

    return take


class Typing(Prompt):
    """The line at the bottom, with what becomes of it."""

    def __init__(self, monitor: "Monitor", asked: Asked) -> None:
        super().__init__(asked.value)
        self._monitor = monitor
        self.asked = asked

    def on_mount(self) -> None:
        """Begin."""
        self.focus()
        self._say(self.asked.typed(self.value))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Take a change."""
        event.stop()
        self._say(self.asked.typed(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the line; where it can't be taken it stays."""
        event.stop()
        if word := self.asked.entered(event.value):
            self._say(word)
        else:
            _close(self._monitor, self)

    def tell_again(self) -> None:
        """Say anew what the line leads to."""
        self._say(self.asked.typed(self.value))

    def _say(self, word: str) -> None:
        whole = f"{self.asked.label}   {word}"
        fits = len(whole) <= self._monitor.size.width - 2
        self._monitor.status_line.typing = whole if fits or not word else word
        self._monitor.draw()


def begin_typing(monitor: "Monitor", what: str, control: Control) -> None:
    """Have one of the Monitor's lines typed, once there is a session."""
    if monitor.table_order is None:
        return
    make: dict[str, Callable[[Monitor], Asked]] = {
        "filter": _filter,
        "add": partial(_add, control),
        "export": _export,
    }
    type_line(monitor, make[what](monitor))


def type_line(monitor: "Monitor", asked: Asked) -> None:
    """Have this line typed, if none is yet."""
    if not monitor.query(Typing):
        monitor.mount(Typing(monitor, asked), before="#keys")


def tell_again(monitor: "Monitor") -> None:
    """Have the line that is being typed, if any, say anew what it leads to."""
    for line in monitor.query(Typing):
        line.tell_again()


def end_typing(monitor: "Monitor") -> bool:
    """Drop the line that is being typed; says whether there was one."""
    for line in monitor.query(Typing):
        line.asked.dropped()
        _close(monitor, line)
        return True
    return False


def _close(monitor: "Monitor", line: Typing) -> None:
    monitor.status_line.typing = None
    monitor.set_focus(None)
    line.remove()
    monitor.draw()


def _filter(monitor: "Monitor") -> Asked:
    table_order = monitor.table_order

    def take(text: str) -> str:
        if table_order is None:
            return ""
        table_order.filter = text
        shown = f"{len(table_order.order):,}"
        return f"{shown if table_order.complete else '...'} of {len(monitor.feed.session.cases):,}"

    def enter(text: str) -> str:
        take(text)
        return ""

    before = table_order.filter if table_order else ""
    return Asked(
        "Filter: words of a case, its state or its marks", before, take, enter, lambda: _unfilter(monitor)
    )


def _unfilter(monitor: "Monitor") -> None:
    if monitor.table_order is not None:
        monitor.table_order.filter = ""


def _add(control: Control, monitor: "Monitor") -> Asked:
    case = monitor.shown_case
    base = case.config if case else None

    def name(request: object) -> str:
        return request.word if isinstance(request, Request) else ""

    def enter(text: str) -> None:
        monitor.request(control.add(text, base))

    like = f", on top of {base.name}" if base else ""
    return Asked(
        f"Add a case: batch_size=64 precision=fp16{like}",
        "",
        tried(lambda text: control.add(text, base), name),
        tried(enter),
    )


def _export(monitor: "Monitor") -> Asked:
    def write(path: Path) -> None:
        monitor.say("making the report")
        call = partial(write_report, monitor.feed.path, path, monitor.feed.judging)
        monitor.run_worker(monitor.wait_for(call, f"the report: {path}"))

    export = Export(write)
    return Asked(
        "Write the report as markdown to", f"{monitor.feed.path.stem}.md", export.typed, export.entered
    )
