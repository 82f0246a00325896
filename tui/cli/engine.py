"""``benchtui stop``, ``pause`` and ``continue``: control a running sweep."""

import time
from typing import Literal

import click

from benchtui.engine import client
from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError, NothingToResumeError
from benchtui.sessions.library import paths
from benchtui.sessions.permissions.needed import Consent
from benchtui.tui.cli.consent import waits_for_others, with_consent
from benchtui.tui.cli.exit_status import FAILED
from benchtui.tui.cli.options import complete_session, echo, json_option
from benchtui.tui.cli.schema.records import EngineJson
from benchtui.tui.cli.text.output import print_json
from benchtui.tui.cli.watch import session_to_watch

ENGINE_EXIT_TIMEOUT_S = 45.0
"""Seconds to wait for an engine to exit; it may itself be waiting for processes it killed."""
_POLL_S = 0.05

_running_argument = click.argument("session", required=False, shell_complete=complete_session)
_json_option = json_option("Print the session and its state as JSON.")


@click.command()
@_running_argument
@_json_option
def stop(session: str | None, as_json: bool) -> None:
    """Stop a running sweep.

    SESSION is its path or library name; it may be omitted if only one sweep is running. Returns once the engine
    has exited, or with status 1 after 45 seconds.
    """
    engine = _select_engine(session)
    engine.stop()
    due_s = time.monotonic() + ENGINE_EXIT_TIMEOUT_S
    while engine.alive():
        if time.monotonic() > due_s:
            text = f"the engine is still running after {ENGINE_EXIT_TIMEOUT_S:g} s"
            _print_state(engine, "running", text, as_json)
            raise SystemExit(FAILED)
        time.sleep(_POLL_S)
    _print_state(engine, "stopped", "stopped", as_json)


@click.command()
@_running_argument
@_json_option
def pause(session: str | None, as_json: bool) -> None:
    """Pause a running sweep once its current cases have finished."""
    engine = _select_engine(session)
    engine.pause()
    _print_state(engine, "paused", "paused; continue with `benchtui continue`", as_json)


@click.command("continue")
@_running_argument
@_json_option
def unpause(session: str | None, as_json: bool) -> None:
    """Continue a paused sweep."""
    engine = _select_engine(session)
    engine.go_on()
    _print_state(engine, "running", "continued", as_json)


def resumed_engine(session: str, retry_failed: bool, anyway: bool, trust: bool, wait: bool) -> Engine | None:
    """Start an engine that resumes a session. If no case is left, print a line and return None."""
    path, wait = paths.resolve(session), waits_for_others(wait)

    def resume(consent: Consent) -> Engine:
        return client.resume(path, retry_failed=retry_failed, anyway=anyway, consent=consent, wait=wait)

    try:
        return with_consent(resume, trust)
    except NothingToResumeError as error:
        echo(str(error), err=True)
        return None


def _print_state(
    engine: Engine, state: Literal["stopped", "paused", "running"], text: str, as_json: bool
) -> None:
    if as_json:
        print_json(EngineJson(session=str(engine.path), state=state))
    else:
        echo(f"{text}; session {engine.path}", err=True)


def _select_engine(session: str | None) -> Engine:
    """Return the engine that writes this session, or else the only one. Raises BenchtuiError if unclear."""
    running = client.running()
    names = ", ".join(str(engine.path) for engine in running) or "none"
    if session:
        path = session_to_watch(session).absolute()
        running_engine = next((engine for engine in running if engine.path == path), None)
        if running_engine is None:
            raise BenchtuiError(f"{path}: not a running sweep; running: {names}")
        return running_engine
    if not running:
        raise BenchtuiError("no sweep is running")
    if len(running) > 1:
        raise BenchtuiError(f"{len(running)} sweeps are running; name one: {names}")
    return running[0]
