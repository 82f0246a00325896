"""Lines that are typed in the Monitor: a filter, a case to add, the file of a report."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.widgets import Input

from benchtui.tui.monitor.clipboard import write_report
from benchtui.tui.monitor.prompts import Asked, Export, tried
from benchtui.tui.monitor.requests import Control, Request
from benchtui.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from benchtui.tui.monitor.screen import Monitor


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
        self._monitor.foot.typing = whole if fits or not word else word
        self._monitor.draw()


def begin_typing(monitor: "Monitor", what: str, control: Control) -> None:
    """Have one of the Monitor's lines typed, once there is a session."""
    if monitor.arranging is None:
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
    monitor.foot.typing = None
    monitor.set_focus(None)
    line.remove()
    monitor.draw()


def _filter(monitor: "Monitor") -> Asked:
    arranging = monitor.arranging

    def take(text: str) -> str:
        if arranging is None:
            return ""
        arranging.filter = text
        shown = f"{len(arranging.order):,}"
        return f"{shown if arranging.complete else '...'} of {len(monitor.feed.session.cases):,}"

    def enter(text: str) -> str:
        take(text)
        return ""

    before = arranging.filter if arranging else ""
    return Asked(
        "Filter: words of a case, its state or its marks", before, take, enter, lambda: _unfilter(monitor)
    )


def _unfilter(monitor: "Monitor") -> None:
    if monitor.arranging is not None:
        monitor.arranging.filter = ""


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
