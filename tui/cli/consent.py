"""Consent: yes or no on the terminal, and ``--trust`` for code and variables that the user hasn't allowed."""

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

import click

from benchtui.engine import client
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.library import paths
from benchtui.sessions.permissions.needed import (
    NO_CONSENT,
    Consent,
    PermissionNeededError,
    keys,
    needed_permissions,
)
from benchtui.tui.cli.options import echo

MOST_SHOWN = 20
"""Permissions that a question lists."""

Result = TypeVar("Result")

trust_option = click.option(
    "--trust",
    is_flag=True,
    help="Allow the code and the variables that the sweep or session names; remembered on this machine.",
)


def with_consent(start: Callable[[Consent], Result], trust: bool, typed: Consent = NO_CONSENT) -> Result:
    """Start something with the user's consent to what it runs and sets.

    ``typed`` is what the user has typed on this command line. If more is needed, print it, and go on if
    ``trust`` is set or the user says yes. The engine decides what is needed, and runs nothing before.

    Raises:
        PermissionNeededError: if there is no terminal to ask on.
        click.Abort: if the user doesn't say yes.
    """
    try:
        return start(typed)
    except PermissionNeededError as error:
        _require_consent(error, trust)
        return start(typed | error.consent)


def typed_consent(overrides: Sequence[str]) -> Consent:
    """Return the consent that words after ``--set`` are: the code and the variables that the user typed."""
    if not overrides:
        return NO_CONSENT
    from benchtui.sessions.sweep.toml_reader import parse_sweep  # not needed by most commands

    try:
        return keys(needed_permissions(parse_sweep('model = "typed"', "--set", overrides)))
    except BenchtuiError:
        return NO_CONSENT  # no sweep without its file: the words have to be allowed as those of the file


def _require_consent(error: PermissionNeededError, trust: bool) -> None:
    if not trust and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise error
    click.echo("code or variables that you haven't allowed on this machine yet:", err=True)
    echo(*(f"  {permission}" for permission in error.permissions[:MOST_SHOWN]), err=True)
    if (more := len(error.permissions) - MOST_SHOWN) > 0:
        click.echo(f"  and {more:,} more", err=True)
    if not trust:
        require_yes("allow this, now and from now on?")


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
    echo(f"{ANOTHER_SWEEP_RUNNING}: {names}", err=True)
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
