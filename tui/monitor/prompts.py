"""Text prompts of the Monitor: filter cases, add a case, export a report."""

from __future__ import annotations  # the Monitor imports this module

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from textual.widgets import Input

from benchtui.sessions.errors import BenchtuiError
from benchtui.tui.monitor.requests import EngineRequests, Request
from benchtui.tui.widgets.completion import Completer, path_completer
from benchtui.tui.widgets.input_field import TextInput

if TYPE_CHECKING:
    from benchtui.tui.model.table_order import TableOrder
    from benchtui.tui.monitor.screen import Monitor

TextHandler = Callable[[str], str]
"""Handler of changed text: returns a message to show, or an empty string."""


class TextPrompt(msgspec.Struct):
    """A text prompt and its handlers."""

    label: str
    """Label of the prompt."""
    value: str = ""
    """Initial text."""
    changed: TextHandler = lambda text: ""
    """Called on every change; returns a message on the text."""
    submitted: TextHandler = lambda text: ""
    """Called on Enter; a message keeps the prompt open."""
    canceled: Callable[[], object] = lambda: None
    """Called when the user cancels."""
    completer: Completer | None = None
    """Completes the text at tab."""


class Export:
    """Target file of a report; overwriting an existing file needs a second Enter."""

    def __init__(self, write: Callable[[Path], None]) -> None:
        self._write = write
        self._warned: str | None = None

    def changed(self, text: str) -> str:
        """Return what is wrong with the path, or that the file exists."""
        self._warned = None
        if not text.strip():
            return "enter a path"
        path = Path(text).expanduser()
        if path.is_dir():
            return f"{path} is a directory"
        return f"{path} already exists" if path.exists() else ""

    def submitted(self, text: str) -> str:
        """Write the report, or return why not yet."""
        warned = self._warned == text
        problem = self.changed(text)
        if problem and not (warned and problem.endswith("already exists")):
            self._warned = text
            return (
                f"{problem}; press Enter again to overwrite it"
                if problem.endswith("already exists")
                else problem
            )
        self._write(Path(text).expanduser())
        return ""


def error_handler(
    attempt: Callable[[str], object], good: Callable[[object], str] = lambda made: ""
) -> TextHandler:
    """Return a handler that tries ``attempt``. It reports the error, or ``good`` of the result."""

    def apply(text: str) -> str:
        try:
            return good(attempt(text))
        except BenchtuiError as error:
            return str(error)

    return apply


class PromptInput(TextInput):
    """Input field of an open prompt, at the bottom of the screen."""

    DEFAULT_CSS = "PromptInput { margin: 0 1; }"

    def __init__(self, monitor: Monitor, prompt: TextPrompt) -> None:
        super().__init__(prompt.value)
        self._monitor = monitor
        self.prompt = prompt
        self.completer = prompt.completer

    def on_mount(self) -> None:
        """Focus the field and show the message on its initial text."""
        self.focus()
        self._show_message(self.prompt.changed(self.value))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the message on the changed text."""
        event.stop()
        self._show_message(self.prompt.changed(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Submit the text; the prompt stays open if it is rejected."""
        event.stop()
        if text := self.prompt.submitted(event.value):
            self._show_message(text)
        else:
            _close(self._monitor, self)

    def on_text_input_completed(self, event: TextInput.Completed) -> None:
        """Show how the text may continue."""
        event.stop()
        if event.options:
            self._show_message("  ".join(event.options))

    def _show_message(self, text: str) -> None:
        whole = f"{self.prompt.label}   {text}"
        fits = len(whole) <= self._monitor.size.width - 2
        self._monitor.status_line.prompt = whole if fits or not text else text
        self._monitor.draw()


def open_prompt(monitor: Monitor, what: str, requests: EngineRequests) -> None:
    """Open one of the Monitor's prompts, once there is a session."""
    if monitor.view is not None:
        make: dict[str, Callable[[], TextPrompt]] = {
            "filter": partial(_filter, monitor, monitor.view.order),
            "add": partial(_add, monitor, requests),
            "export": partial(_export, monitor),
        }
        show_prompt(monitor, make[what]())


def show_prompt(monitor: Monitor, prompt: TextPrompt) -> None:
    """Open a prompt, unless one is open."""
    if not monitor.query(PromptInput):
        monitor.mount(PromptInput(monitor, prompt), before="#keys")


def cancel_prompt(monitor: Monitor) -> bool:
    """Cancel the open prompt. Return whether there was one."""
    for line in monitor.query(PromptInput):
        line.prompt.canceled()
        _close(monitor, line)
        return True
    return False


def _close(monitor: Monitor, line: PromptInput) -> None:
    monitor.status_line.prompt = None
    monitor.set_focus(None)
    line.remove()
    monitor.draw()


def _filter(monitor: Monitor, table_order: TableOrder) -> TextPrompt:
    def apply(text: str) -> str:
        table_order.filter = text
        return f"{len(table_order.order):,} of {len(monitor.feed.session.cases):,}"

    def submit(text: str) -> str:
        table_order.filter = text
        return ""

    about = "Filter by words of a case, its state or its marks"
    return TextPrompt(about, table_order.filter, apply, submit, partial(apply, ""))


def _add(monitor: Monitor, requests: EngineRequests) -> TextPrompt:
    case = monitor.shown_case
    base = case.config if case else None

    def name(request: object) -> str:
        return request.message if isinstance(request, Request) else ""

    def submit(text: str) -> None:
        monitor.request(requests.add(text, base))

    like = f", based on {base.name}" if base else ""
    return TextPrompt(
        f"Add a case: batch_size=64 precision=fp16{like}",
        "",
        error_handler(lambda text: requests.add(text, base), name),
        error_handler(submit),
    )


def _export(monitor: Monitor) -> TextPrompt:
    def write(path: Path) -> None:
        # not needed for the first paint: imports the formats of other tools
        from benchtui.tui.library.actions import write_document
        from benchtui.tui.report.generated import report_markdown

        monitor.show_message("generating the report")
        session = monitor.feed.path
        make = partial(report_markdown, session, monitor.feed.judging)
        call = partial(write_document, make, path, (session,), over=True)
        monitor.run_in_thread(call, f"report written to {path}")

    export = Export(write)
    return TextPrompt(
        "Write the report as markdown to",
        f"{monitor.feed.path.stem}.md",
        export.changed,
        export.submitted,
        completer=path_completer(Path()),
    )
