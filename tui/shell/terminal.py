"""Terminal driver for Textual that also tracks displayed content, congestion and hang-ups."""

import select
from typing import Any, ClassVar

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.scrollbar import ScrollBar, ScrollBarRender

from benchtui.tui.drawing.format import clean
from benchtui.tui.shell.output_diff import TerminalContent

PUSH_TITLE, POP_TITLE = "\x1b[22;2t", "\x1b[23;2t"
"""xterm's controls that save and restore the window title; terminals without them ignore both."""
GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL


class AsciiScrollBarRender(ScrollBarRender):
    """Scroll bars of whole cells, because the ends of Textual's are block characters."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * 8


def choose_scroll_bars(*, ascii_only: bool) -> None:
    """Set how all scroll bars are drawn."""
    ScrollBar.renderer = AsciiScrollBarRender if ascii_only else ScrollBarRender


class Terminal(LinuxDriver):
    """Textual's driver, counting bytes written and dropping output once the terminal is closed."""

    bytes_written = 0
    lost = False
    """Whether the terminal is closed; all further output is dropped."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self.content = TerminalContent()

    def start_application_mode(self) -> None:
        """Take over the terminal and save its title."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.write(PUSH_TITLE)

    def stop_application_mode(self) -> None:
        """Give the terminal back with its own title."""
        self.write(POP_TITLE)
        super().stop_application_mode()

    def resume_application_mode(self) -> None:
        """Take over the terminal again; its content is unknown."""
        self.content.forget()
        super().resume_application_mode()

    def _enable_mouse_support(self) -> None:
        """Request reports of buttons and the wheel only; Textual would request every movement."""
        if self._mouse:
            self.write("\x1b[?1000h\x1b[?1006h")
            self.flush()

    def _enable_mouse_pixels(self) -> None:
        """Keep positions in cells."""

    @property
    def congested(self) -> bool:
        """Whether earlier output is still waiting to be written to the terminal.

        Textual's queue holds 30 writes. When it is full, the whole app blocks, keys included.
        """
        queue = getattr(self._writer_thread, "_queue", None)
        return queue is not None and not queue.empty()

    def hung_up(self) -> bool:
        """Return whether the other end has closed. If SIGHUP is ignored, nothing else reports it."""
        poll = select.poll()
        poll.register(self.fileno, 0)
        return any(event & GONE for _, event in poll.poll(0))

    def write(self, data: str) -> None:
        """Write to the terminal, unless it is closed."""
        if not self.lost:
            self.bytes_written += len(data.encode())
            super().write(data)

    def run_input_thread(self) -> None:
        """Read keys until exit. A terminal that disappears ends the thread silently."""
        try:
            super().run_input_thread()
        except OSError:
            self.lost = True

    def close(self) -> None:
        """Close the driver without waiting for a closed terminal."""
        if not self.lost:
            super().close()


class TerminalHandle:
    """Access to the terminal for screens. Under test there is none."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app

    @property
    def terminal(self) -> Terminal | None:
        """The terminal; None if the app has none."""
        driver = self._app._driver
        return driver if isinstance(driver, Terminal) else None

    def set_title(self, title: str) -> None:
        """Set the window title."""
        if self.terminal is not None:
            self.terminal.write(f"\x1b]2;{clean(title)}\x07")

    def notify(self, text: str) -> None:
        """Ring the bell, and show a desktop notification in terminals that know OSC 9."""
        if self.terminal is not None:
            self.terminal.write(f"\x07\x1b]9;{clean(text)}\x07")

    @property
    def congested(self) -> bool:
        """Whether drawing now would only add to the output queue."""
        return self.terminal is not None and self.terminal.congested

    @property
    def bytes_written(self) -> int | None:
        """Bytes sent so far; None if not counted."""
        return None if self.terminal is None else self.terminal.bytes_written
