"""Terminal driver for Textual: no input is an error; it tracks displayed content, congestion and hang-ups."""

import os
import re
import select
import termios
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, ClassVar

from textual import events
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message
from textual.scrollbar import ScrollBar, ScrollBarRender

from benchtui.sessions.sanitize import REPLACEMENT
from benchtui.tui.drawing.format import clean
from benchtui.tui.shell.output_diff import TerminalContent

PUSH_TITLE, POP_TITLE = "\x1b[22;2t", "\x1b[23;2t"
"""xterm's controls that save and restore the window title; terminals without them ignore both."""
GIVE_BACK = "\x1b[?1000l\x1b[?1006l\x1b[?2004l\x1b[?1004l\x1b[<u\x1b[?7h\x1b[?1049l\x1b[?25h"
"""Ends mouse reports, bracketed paste, focus reports, kitty's keys and the alternate screen."""
GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL
READ_BYTES = 4096
POLL_MS = 100
"""Time between checks for an escape key, which no further byte follows, and for the end."""

_COORDINATE = rb"(?:[\xc2-\xdf][\x80-\xbf]|[\x20-\xff])"
_MOUSE = re.compile(rb"\x1b\[M" + _COORDINATE + rb"{3}")
"""Mouse report in the encoding of X10: three bytes, which aren't UTF-8 right of column 95 or below row 95; in
mode 1005, three characters of UTF-8. benchtui requests neither, but a terminal sends them after it was started
again under a running app, such as tmux that is attached again."""
_BEGUN_MOUSE = re.compile(rb"\x1b\[M" + _COORDINATE + rb"{0,2}\Z")
_BEGUN_ESCAPE = re.compile(rb"\x1b\[?\Z")
_IGNORED_MOUSE = b"\x1b[M!!!"
"""Mouse report in characters, which Textual's parser ignores."""
MOST_CELLS = 2000
"""Maximum columns or rows of a terminal, and of a position on it. A report with more is damaged."""


class AsciiScrollBarRender(ScrollBarRender):
    """Scroll bars of whole cells, because the ends of Textual's are block characters."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * 8


def choose_scroll_bars(*, ascii_only: bool) -> None:
    """Set how all scroll bars are drawn."""
    ScrollBar.renderer = AsciiScrollBarRender if ascii_only else ScrollBarRender


class InputDecoder:
    """Decodes UTF-8 across reads. Undecodable bytes are replaced, and old mouse reports made harmless."""

    def __init__(self) -> None:
        self._utf8 = getincrementaldecoder("utf-8")("replace")
        self._delivered = b""
        """Begin of an escape sequence. It may be the whole escape key, and thus isn't held back."""
        self._held = b""
        """Begin of a mouse report, until its end arrives."""

    def decode(self, data: bytes) -> str:
        """Return the characters that end with these bytes."""
        done = len(self._delivered)
        whole = _MOUSE.sub(_IGNORED_MOUSE, self._delivered + self._held + data)
        begun = _BEGUN_MOUSE.search(whole) or _BEGUN_ESCAPE.search(whole)
        begin = begun.start() if begun else len(whole)
        held_from = max(done, begin) if begun and begun.re is _BEGUN_MOUSE else len(whole)
        self._delivered, self._held = whole[begin:held_from], whole[held_from:]
        return self._utf8.decode(whole[done:held_from])


class _Parser(XTermParser):
    """Textual's parser, with mouse positions always in cells. Positions in pixels are never requested."""

    @property
    def mouse_pixels(self) -> bool:
        return False

    @mouse_pixels.setter
    def mouse_pixels(self, value: bool) -> None:
        pass


class TerminalInput:
    """Messages for the app, from what its terminal sends."""

    def __init__(self) -> None:
        self._decoder = InputDecoder()
        self._parser = _Parser()

    def read(self, data: bytes) -> Iterator[Message]:
        """Yield the messages of the next bytes."""
        for character in self._decoder.decode(data):  # so that a damaged sequence costs no key behind it
            yield from self._sound(self._parser.feed(character))

    def tick(self) -> Iterator[Message]:
        """Yield the messages of an escape sequence that isn't continued. Call this at regular intervals."""
        yield from self._sound(self._parser.tick())

    def _sound(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Yield the messages that an intact terminal may send. A sequence that can't be parsed is dropped."""
        try:
            yield from filter(_is_sound, messages)
        except (
            ArithmeticError,
            LookupError,
            StopIteration,
            TypeError,
            ValueError,
        ):  # such as a key beyond Unicode
            self._parser = _Parser()


def _is_sound(message: Message) -> bool:
    """Return whether a message may reach the app."""
    match message:
        case events.Key(character=str(character)):
            return character.isascii() or (character.isprintable() and character != REPLACEMENT)
        case events.Resize(size=size):
            return 0 < size.width <= MOST_CELLS and 0 < size.height <= MOST_CELLS
        case events.MouseEvent():
            return message.x <= MOST_CELLS and message.y <= MOST_CELLS
        case events.CursorPosition():  # only an inline app requests it; it would move later mouse events
            return False
    return True


class Terminal(LinuxDriver):
    """Textual's driver, counting bytes written and dropping output once the terminal is closed."""

    bytes_written = 0
    lost = False
    """Whether the terminal is closed; all further output is dropped."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._size = self._size or self._get_terminal_size()
        self.content = TerminalContent()
        self._taken = False
        """Whether the terminal is taken over, and not yet given back."""

    def start_application_mode(self) -> None:
        """Take over the terminal and save its title."""
        self._taken = True
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.write(PUSH_TITLE)

    def stop_application_mode(self) -> None:
        """Give the terminal back with its own title."""
        self.write(POP_TITLE)
        super().stop_application_mode()
        self._taken = self._writer_thread is not None and not self._writer_thread.is_alive()

    def ensure_given_back(self) -> None:
        """Restore the terminal if an error has kept Textual from doing so."""
        if self._taken and not self.lost:
            with suppress(OSError, termios.error):
                if self.attrs_before is not None:
                    termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)
                os.write(self.fileno, f"{POP_TITLE}{GIVE_BACK}".encode())

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
        terminal_input, poll = TerminalInput(), select.poll()
        poll.register(self.fileno, select.POLLIN)
        try:
            while not self.exit_event.is_set():
                ready = poll.poll(POLL_MS)
                data = os.read(self.fileno, READ_BYTES) if ready else b""
                if ready and not data:  # hung up: reading on would only keep the processor busy
                    self.lost = True
                    return
                for message in (*terminal_input.read(data), *terminal_input.tick()):
                    self.process_message(message)
        except OSError:
            self.lost = True

    def _run_input_thread(self) -> None:
        """Read keys without Textual's own report of an exception, which ends the app as that of any thread."""
        self.run_input_thread()

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


class Announcer:
    """Shows the sweep's progress in the window title, and announces its end once."""

    def __init__(self, link: TerminalHandle, notify: bool) -> None:
        self._link = link
        self._notify = notify
        self._title = ""
        self._watched = False
        """Whether the sweep was seen running. Otherwise, its end isn't announced."""

    def update(self, name: str, state: str, percent: str) -> None:
        """Follow a sweep and its progress, such as ``50 %``. One that wasn't seen running changes nothing."""
        if state == "running":
            self._watched = True
            self._show(f"{percent} {name} - benchtui")
        elif self._watched:
            self._watched = False
            self._show(f"{name}: {state} - benchtui")
            if self._notify:
                self._link.notify(f"benchtui: sweep {name} {state}")

    def show_name(self, name: str) -> None:
        """Show a recording's name. Playing it isn't announced."""
        self._show(f"{name} - benchtui")

    def restore(self) -> None:
        """Show the title again, after the shell has had its own."""
        if self._title:
            self._link.set_title(self._title)

    def _show(self, title: str) -> None:
        if title != self._title:
            self._title = title
            self._link.set_title(title)
