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
_POLL_S = 0.05

_running_argument = click.argument("session", required=False, shell_complete=complete_session)


@click.command()
@_running_argument
def stop(session: str | None) -> None:
    """Stop a running sweep.

    SESSION is its path or library name; it may be omitted if only one sweep is running. Returns once the engine
    has exited, or with status 1 after 45 seconds.
    """
    engine = _select_engine(session)
    engine.stop()
    due_s = time.monotonic() + ENGINE_EXIT_TIMEOUT_S
    while engine.alive():
        if time.monotonic() > due_s:
            click.echo(
                printable(
                    f"the engine is still running after {ENGINE_EXIT_TIMEOUT_S:g} s; session {engine.path}"
                ),
                err=True,
            )
            raise SystemExit(1)
        time.sleep(_POLL_S)
    click.echo(printable(f"stopped; session {engine.path}"), err=True)


@click.command()
@_running_argument
def pause(session: str | None) -> None:
    """Pause a running sweep once its current cases have finished."""
    engine = _select_engine(session)
    engine.pause()
    click.echo(printable(f"paused; continue with `benchtui continue`; session {engine.path}"), err=True)


@click.command("continue")
@_running_argument
def unpause(session: str | None) -> None:
    """Continue a paused sweep."""
    engine = _select_engine(session)
    engine.go_on()
    click.echo(printable(f"continued; session {engine.path}"), err=True)


def resumed_engine(session: str, retry_failed: bool, anyway: bool) -> "Engine | None":
    """Start an engine that resumes a session. If no case is left, print a line and return None."""
    try:
        return client.resume(paths.resolve(session), retry_failed=retry_failed, anyway=anyway)
    except NothingToResumeError as error:
        click.echo(printable(str(error)), err=True)
        return None


def _select_engine(session: str | None) -> "Engine":
    """Return the engine that writes this session, or else the only one. Raises BenchtuiError if unclear."""
    running = client.running()
    names = ", ".join(str(engine.path) for engine in running) or "none"
    if session:
        path = paths.resolve(session).absolute()
        found = next((engine for engine in running if engine.path == path), None)
        if found is None:
            raise BenchtuiError(f"{path}: not a running sweep; running: {names}")
        return found
    if not running:
        raise BenchtuiError("no sweep is running")
    if len(running) > 1:
        raise BenchtuiError(f"{len(running)} sweeps are running; name one: {names}")
    return running[0]
