"""Text prompts of the Monitor: filter cases, add a case, export a report."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.widgets import Input

from benchtui.sessions.errors import BenchtuiError
from benchtui.tui.monitor.clipboard import write_report
from benchtui.tui.monitor.requests import EngineRequests, Request
from benchtui.tui.widgets.input_field import LineInput

if TYPE_CHECKING:
    from benchtui.tui.monitor.screen import Monitor

TextHandler = Callable[[str], str]
"""Handler of typed text: returns a message to show, or an empty string."""


def _nothing(text: str) -> str:
    return ""


@dataclass(slots=True)
class TextPrompt:
    """A text prompt and its handlers."""

    label: str
    """Label of the prompt."""
    value: str = ""
    """Initial text."""
    typed: TextHandler = field(default=_nothing)
    """Called on every change; returns a message on the text."""
    entered: TextHandler = field(default=_nothing)
    """Called on Enter; a message keeps the prompt open."""
    dropped: Callable[[], None] = field(default=lambda: None)
    """Called when the user cancels."""


class Export:
    """Target file of a report; overwriting an existing file needs a second Enter."""

    def __init__(self, write: Callable[[Path], None]) -> None:
        self._write = write
        self._warned: str | None = None

    def typed(self, text: str) -> str:
        """Return what is wrong with the path, or that the file exists."""
        self._warned = None
        if not text.strip():
            return "a path is needed"
        path = Path(text).expanduser()
        if path.is_dir():
            return f"{path} is a folder"
        return f"{path} is there already" if path.exists() else ""

    def entered(self, text: str) -> str:
        """Write the report, or return why not yet."""
        warned = self._warned == text
        said = self.typed(text)
        if said and not (warned and said.endswith("already")):
            self._warned = text
            return f"{said}; enter once more to overwrite it" if said.endswith("already") else said
        self._write(Path(text).expanduser())
        return ""


def error_handler(
    attempt: Callable[[str], object], good: Callable[[object], str] = lambda made: ""
) -> TextHandler:
    """Return a handler that tries ``attempt``. It reports the error, or ``good`` of the result."""

    def take(text: str) -> str:
        try:
            return good(attempt(text))
        except BenchtuiError as error:
            return str(error)

    return take


class PromptInput(LineInput):
    """Input field of an open prompt, at the bottom of the screen."""

    def __init__(self, monitor: "Monitor", asked: TextPrompt) -> None:
        super().__init__(asked.value)
        self._monitor = monitor
        self.asked = asked

    def on_mount(self) -> None:
        """Focus the field and show the message on its initial text."""
        self.focus()
        self._say(self.asked.typed(self.value))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the message on the changed text."""
        event.stop()
        self._say(self.asked.typed(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Submit the text; the prompt stays open if it is rejected."""
        event.stop()
        if word := self.asked.entered(event.value):
            self._say(word)
        else:
            _close(self._monitor, self)

    def tell_again(self) -> None:
        """Refresh the message on the current text."""
        self._say(self.asked.typed(self.value))

    def _say(self, word: str) -> None:
        whole = f"{self.asked.label}   {word}"
        fits = len(whole) <= self._monitor.size.width - 2
        self._monitor.status_line.typing = whole if fits or not word else word
        self._monitor.draw()


def begin_typing(monitor: "Monitor", what: str, control: EngineRequests) -> None:
    """Open one of the Monitor's prompts, once there is a session."""
    if monitor.table_order is None:
        return
    make: dict[str, Callable[[Monitor], TextPrompt]] = {
        "filter": _filter,
        "add": partial(_add, control),
        "export": _export,
    }
    type_line(monitor, make[what](monitor))


def type_line(monitor: "Monitor", asked: TextPrompt) -> None:
    """Open a prompt, unless one is open."""
    if not monitor.query(PromptInput):
        monitor.mount(PromptInput(monitor, asked), before="#keys")


def tell_again(monitor: "Monitor") -> None:
    """Refresh the message of the open prompt, if any."""
    for line in monitor.query(PromptInput):
        line.tell_again()


def end_typing(monitor: "Monitor") -> bool:
    """Cancel the open prompt. Return whether there was one."""
    for line in monitor.query(PromptInput):
        line.asked.dropped()
        _close(monitor, line)
        return True
    return False


def _close(monitor: "Monitor", line: PromptInput) -> None:
    monitor.status_line.typing = None
    monitor.set_focus(None)
    line.remove()
    monitor.draw()


def _filter(monitor: "Monitor") -> TextPrompt:
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
    return TextPrompt(
        "Filter: words of a case, its state or its marks", before, take, enter, lambda: _unfilter(monitor)
    )


def _unfilter(monitor: "Monitor") -> None:
    if monitor.table_order is not None:
        monitor.table_order.filter = ""


def _add(control: EngineRequests, monitor: "Monitor") -> TextPrompt:
    case = monitor.shown_case
    base = case.config if case else None

    def name(request: object) -> str:
        return request.word if isinstance(request, Request) else ""

    def enter(text: str) -> None:
        monitor.request(control.add(text, base))

    like = f", on top of {base.name}" if base else ""
    return TextPrompt(
        f"Add a case: batch_size=64 precision=fp16{like}",
        "",
        error_handler(lambda text: control.add(text, base), name),
        error_handler(enter),
    )


def _export(monitor: "Monitor") -> TextPrompt:
    def write(path: Path) -> None:
        monitor.say("making the report")
        call = partial(write_report, monitor.feed.path, path, monitor.feed.judging)
        monitor.run_worker(monitor.wait_for(call, f"the report: {path}"))

    export = Export(write)
    return TextPrompt(
        "Write the report as markdown to", f"{monitor.feed.path.stem}.md", export.typed, export.entered
    )
