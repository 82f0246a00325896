"""The terminal as Textual drives it, and three things more: what it shows, whether it keeps up and is there."""

import select
from typing import Any

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from benchtui.tui.shell.output_diff import Painted

GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL


class Terminal(LinuxDriver):
    """Textual's driver, counting what it writes, and silent once nobody listens."""

    bytes_written = 0
    lost = False
    """Whether the terminal is gone; whatever is written from then on is dropped."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self.painted = Painted()

    def resume_application_mode(self) -> None:
        """Take the terminal over again, whatever others have written there."""
        self.painted.forget()
        super().resume_application_mode()

    @property
    def congested(self) -> bool:
        """Whether the terminal hasn't taken yet what was written before.

        Textual's queue holds 30 writes and then stops the whole app, keys included.
        """
        queue = getattr(self._writer_thread, "_queue", None)
        return queue is not None and not queue.empty()

    def hung_up(self) -> bool:
        """Whether the other end of the terminal has gone; with SIGHUP ignored nothing else tells."""
        poll = select.poll()
        poll.register(self.fileno, 0)
        return any(event & GONE for _, event in poll.poll(0))

    def write(self, data: str) -> None:
        """Write to the terminal, if it is still there."""
        if not self.lost:
            self.bytes_written += len(data.encode())
            super().write(data)

    def run_input_thread(self) -> None:
        """Read keys until the end; a terminal that went away ends them without a word."""
        try:
            super().run_input_thread()
        except OSError:
            self.lost = True

    def close(self) -> None:
        """Close, without waiting for a terminal that will never take the rest."""
        if not self.lost:
            super().close()


class TerminalHandle:
    """What the screens may know of the terminal they are drawn on; under test there is none."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app

    @property
    def terminal(self) -> Terminal | None:
        """The terminal, or None where the app draws nowhere."""
        driver = self._app._driver
        return driver if isinstance(driver, Terminal) else None

    @property
    def congested(self) -> bool:
        """Whether drawing now would only queue up."""
        return self.terminal is not None and self.terminal.congested

    @property
    def bytes_written(self) -> int | None:
        """Bytes sent so far; None where nobody counts."""
        return None if self.terminal is None else self.terminal.bytes_written
