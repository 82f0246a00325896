"""Standard streams of a command: errors of standard output by name, and only harmless text to a terminal."""

import codecs
import errno
import io
import os
import sys
from contextlib import suppress
from typing import IO, TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STDOUT, _STDERR = 1, 2


class StandardOutputError(OSError):
    """Raised when standard output can't be written, so that no other file is taken for it or it for another."""


class _Stream(io.FileIO):
    """Descriptor of a standard stream. After an error, it discards what is written to it.

    Otherwise, Python would write the same data again when it exits, and report the error a second time.
    """

    def __init__(self, number: int, encoding: str) -> None:
        super().__init__(number, "w", closefd=False)
        self._decoder = codecs.getincrementaldecoder(encoding)("replace") if self.isatty() else None
        self._encoding = encoding
        self._failed = False

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write bytes; to a terminal, without characters that could control it."""
        size = memoryview(data).nbytes
        if self._failed:
            return size
        try:
            return self._write_clean(bytes(data)) if self._decoder else super().write(data)
        except OSError as error:
            self._failed = True
            if self.fileno() == _STDERR:  # there is no place left to report it
                return size
            raise StandardOutputError(error.errno, error.strerror) from error

    def _write_clean(self, data: bytes) -> int:
        from benchtui.sessions.sanitize import terminal_text  # not needed for output to files and pipes

        assert self._decoder is not None
        view = memoryview(terminal_text(self._decoder.decode(data)).encode(self._encoding, "replace"))
        while view:
            view = view[super().write(view) or 0 :]
        return len(data)


def guard() -> None:
    """Replace standard output and error by guarded streams, and a closed standard input by an empty one.

    Closed streams are opened first, so that no other file gets their descriptors: standard error then discards
    everything, and writing to standard output fails as on a full disk.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115  (open until the process exits)
            setattr(sys, name, stream)
    sys.stdout, sys.stderr = _guarded(sys.stdout, _STDOUT), _guarded(sys.stderr, _STDERR)


def output_error_text(error: StandardOutputError) -> str:
    """Describe why standard output can't be written."""
    if error.errno == errno.EBADF:
        return "standard output is closed"
    return f"can't write to standard output: {error.strerror}"


def unguarded_stderr() -> IO[str]:
    """Return standard error for a library that moves the cursor, to which only sanitized text may be given."""
    return sys.__stderr__ if sys.stderr.isatty() and sys.__stderr__ else sys.stderr


def unguarded_stdout() -> IO[str]:
    """Return standard output for codes of colors, to which only sanitized text may be given."""
    return sys.__stdout__ if sys.stdout.isatty() and sys.__stdout__ else sys.stdout


def _guarded(stream: TextIO, number: int) -> TextIO:
    """Return a guarded stream to a descriptor; a stream to anything else, as in tests, unchanged."""
    try:
        if stream.fileno() != number:
            return stream
    except (OSError, ValueError):
        return stream
    with suppress(OSError):
        stream.flush()
    raw = _Stream(number, stream.encoding)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors="replace",  # a Latin-1 terminal has no "≈"; print the rest anyway
        line_buffering=number == _STDERR or raw.isatty(),
    )
