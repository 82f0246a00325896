"""``benchtui stop``, ``pause`` and ``continue``: control a running sweep."""

import time
from typing import TYPE_CHECKING

import click

from benchtui.engine import client
from benchtui.sessions.errors import BenchtuiError, NothingToResumeError
from benchtui.sessions.library import paths
from benchtui.tui.cli.options import complete_session, printable

if TYPE_CHECKING:
    from benchtui.engine.client import Engine

ENGINE_EXIT_TIMEOUT_S = 45.0
"""Seconds to wait for an engine to exit; it may itself be waiting for processes it killed."""
_LOOK_S = 0.05

_running_argument = click.argument("session", required=False, shell_complete=complete_session)


@click.command()
@_running_argument
def stop(session: str | None) -> None:
    """Stop a running sweep: the only one that runs, or the one that writes SESSION.

    Returns once its engine has ended; with status 1 where that takes longer than 45 seconds.
    """
    engine = _meant(session)
    engine.stop()
    due_s = time.monotonic() + ENGINE_EXIT_TIMEOUT_S
    while engine.alive():
        if time.monotonic() > due_s:
            click.echo(
                printable(f"still ending after {ENGINE_EXIT_TIMEOUT_S:g} s; session {engine.path}"), err=True
            )
            raise SystemExit(1)
        time.sleep(_LOOK_S)
    click.echo(printable(f"stopped; session {engine.path}"), err=True)


@click.command()
@_running_argument
def pause(session: str | None) -> None:
    """Let a running sweep start no further case; what runs is finished first."""
    engine = _meant(session)
    engine.pause()
    click.echo(printable(f"paused; `benchtui continue` goes on; session {engine.path}"), err=True)


@click.command("continue")
@_running_argument
def go_on(session: str | None) -> None:
    """Let a paused sweep go on."""
    engine = _meant(session)
    engine.go_on()
    click.echo(printable(f"continued; session {engine.path}"), err=True)


def resumed_engine(session: str, retry_failed: bool, anyway: bool) -> "Engine | None":
    """Start an engine that resumes a session. If no case is left, print a line and return None."""
    try:
        return client.resume(paths.resolve(session), retry_failed=retry_failed, anyway=anyway)
    except NothingToResumeError as error:
        click.echo(printable(str(error)), err=True)
        return None


def _meant(session: str | None) -> "Engine":
    """Return the engine that writes this session, or else the only one. Raises BenchtuiError if unclear."""
    running = client.running()
    if session:
        wanted = paths.resolve(session).absolute()
        running = [engine for engine in running if engine.path == wanted]
    if len(running) != 1:
        names = ", ".join(str(engine.path) for engine in running) or "none"
        raise BenchtuiError(f"{len(running)} sweeps fit, and one must be meant; running: {names}")
    return running[0]
