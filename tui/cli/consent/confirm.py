"""Questions on the terminal: yes, or anything else for no."""

import signal
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager

import click

_MAX_ANSWER_BYTES = 100


def require_yes(question: str) -> None:
    """Ask for confirmation; raises click.Abort unless the answer is yes.

    Keys typed before the question on a terminal don't answer it. Reads a limited number of bytes, because
    standard input may be endless, such as /dev/zero.
    """
    if sys.stdin.isatty():
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    click.echo(f"{question} [y/N]: ", nl=False, err=True)
    with _interruptible():
        answer = sys.stdin.buffer.readline(_MAX_ANSWER_BYTES)
    if not answer.endswith(b"\n"):
        click.echo(err=True)
    if answer.strip().lower() not in (b"y", b"yes"):
        raise click.Abort


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the question, although the command handles them otherwise."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
