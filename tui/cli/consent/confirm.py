"""Questions on the terminal: yes, or anything else for no."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click

from benchtui.engine import client
from benchtui.sessions.library import paths
from benchtui.tui.cli.options import printable

_MAX_ANSWER_BYTES = 100


def require_yes(question: str) -> None:
    """Ask for confirmation; raises click.Abort unless the answer is yes.

    Keys typed before the question on a terminal don't answer it. Reads a limited number of bytes, because
    standard input may be endless, such as /dev/zero.
    """
    if _answer_to(f"{question} [y/N]: ").strip() not in (b"y", b"yes"):
        raise click.Abort


def waits_for_others(wait: bool) -> bool:
    """Return whether a sweep waits for those that are running here. Ask on a terminal unless ``wait`` is set.

    Raises:
        click.Abort: if the answer is neither to wait, which is the default, nor to start anyway.
    """
    if wait or not (sys.stdin.isatty() and sys.stderr.isatty()) or not (others := client.running()):
        return wait
    from benchtui.tui.shell.context import ANOTHER_SWEEP_RUNNING, START_ANYWAY, WAIT  # imports Textual

    names = ", ".join(paths.library_name(other.path) for other in others)
    click.echo(printable(f"{ANOTHER_SWEEP_RUNNING}: {names}"), err=True)
    match _answer_to(f"w: {WAIT}; y: {START_ANYWAY} [W/y]: "):
        case b"\n" | b"w\n":
            return True
        case b"y\n":
            return False
    raise click.Abort


def _answer_to(question: str) -> bytes:
    if sys.stdin.isatty():
        with suppress(ModuleNotFoundError):
            import termios  # missing on Windows

            termios.tcflush(sys.stdin, termios.TCIFLUSH)
    click.echo(question, nl=False, err=True)
    with _interruptible():
        answer = sys.stdin.buffer.readline(_MAX_ANSWER_BYTES)
    if not answer.endswith(b"\n"):
        click.echo(err=True)
    return answer.lower()


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
