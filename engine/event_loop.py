"""Event loop of the engine: one wait for readable sources, the control socket, signals and timers."""

import selectors
import signal
import socket
from collections.abc import Callable, Iterable
from time import monotonic


class EventLoop:
    """A selector in which each permanently registered file has its own callback."""

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.timers: list[Callable[[], float]] = []
        """Callbacks that do any due work and return the seconds until their next call."""
        self._due_s = 0.0

    def wait(self, sources: Iterable[int], timeout_s: float | None) -> None:
        """Wait for a source, command, signal, timer or timeout, and handle everything except the sources.

        A ``timeout_s`` of None means no timeout.
        """
        registered = list(sources)
        for source in registered:
            self.selector.register(source, selectors.EVENT_READ)
        try:
            ready = self.selector.select(self._select_timeout_s(timeout_s))
        finally:
            for source in registered:
                self.selector.unregister(source)
        for key, _ in ready:
            # an earlier callback may have closed this one
            if key.data and self.selector.get_map().get(key.fd) == key:
                key.data()
        # timers run last, so that input that arrived while the engine was suspended counts as in time
        self._due_s = monotonic() + min((timer() for timer in self.timers), default=0.0)

    def _select_timeout_s(self, timeout_s: float | None) -> float | None:
        if self.timers:
            due_s = self._due_s - monotonic()
            timeout_s = due_s if timeout_s is None else min(timeout_s, due_s)
        return None if timeout_s is None else max(0.0, timeout_s)

    def catch_signals(self, stop: Callable[[str], None]) -> None:
        """Call ``stop`` with the reason on SIGTERM and SIGINT; ignore SIGHUP."""
        reader, writer = socket.socketpair()
        reader.setblocking(False)
        writer.setblocking(False)
        signal.set_wakeup_fd(writer.fileno())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)  # reported by the byte in the socket
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self._wakeup = writer  # keep it open as long as signals may arrive
        self.selector.register(reader, selectors.EVENT_READ, lambda: _report_signals(reader, stop))


def _report_signals(reader: socket.socket, stop: Callable[[str], None]) -> None:
    for number in reader.recv(64):
        if number in (signal.SIGTERM, signal.SIGINT):
            stop(f"stopped by {signal.Signals(number).name}")
