"""Runs of sweeps from Python: the engine is a process of its own, as under ``benchtui run``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchtui.sessions.errors import BenchtuiError
from benchtui.tui.api.session import Session, load

if TYPE_CHECKING:
    from benchtui.engine.client import Engine
    from benchtui.sessions.state.session import Session as SessionState
    from benchtui.sessions.sweep import Sweep


def run(
    sweep: str | Path | Mapping[str, Any] | Sweep,
    *,
    output: str | Path | None = None,
    progress: bool = True,
    trust: bool = False,
) -> Session:
    """Run a sweep on this machine, wait for its end, and return the session.

    ``sweep`` is a TOML or YAML file, the name of a preset, or a mapping with the entries of such a file.
    ``output`` is the session file; without it, the session goes to the library. ``progress`` prints a line per
    event to standard error. ``trust`` allows the code and the variables that the sweep names, from now on. An
    interrupt stops the sweep; the session keeps what was measured.

    Raises:
        PermissionNeededError: If it names code or variables that you haven't allowed on this machine.
        BenchtuiError: If the sweep isn't valid, or the engine can't start or crashes.
    """
    from benchtui.sessions.library import paths  # imports msgspec

    loaded = _sweep(sweep)
    path = Path(output) if output else paths.new_path(loaded.name, datetime.now().astimezone())
    return _finish(_start(loaded, path, numbered=output is None, trust=trust), progress=progress)


def _sweep(sweep: str | Path | Mapping[str, Any] | Sweep) -> Sweep:
    from benchtui.sessions.sweep import Sweep  # imports msgspec
    from benchtui.sessions.sweep.toml_reader import load_sweep, sweep_of

    if isinstance(sweep, Sweep):
        return sweep
    if isinstance(sweep, Mapping):
        return sweep_of({"name": "sweep", **_entries(sweep)}, "sweep")
    return load_sweep(str(sweep))


def _entries(table: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a mapping as the TOML reader returns it: with strings as names, lists and no paths."""
    for name in table:
        if not isinstance(name, str):
            raise BenchtuiError(f"sweep: {name!r} isn't the name of an entry; names are strings")
    return {name: _entry(value) for name, value in table.items()}


def _entry(value: Any) -> Any:  # noqa: ANN401  (anything; the reader of sweeps validates it)
    if isinstance(value, Mapping):
        return _entries(value)
    if isinstance(value, list | tuple | range):
        return [_entry(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _start(sweep: Sweep, path: Path, *, numbered: bool, trust: bool) -> Engine:
    from benchtui.engine import client  # imports msgspec
    from benchtui.sessions.permissions.needed import NO_CONSENT, keys, needed_permissions

    consent = keys(needed_permissions(sweep)) if trust else NO_CONSENT
    return client.start(sweep, path, consent, numbered=numbered)


def _finish(engine: Engine, *, progress: bool) -> Session:
    """Wait for the end of a sweep, and return its session. An interrupt stops the sweep first."""
    from benchtui.sessions.journal.backup import current_path  # as above
    from benchtui.sessions.state.session import Session as SessionState
    from benchtui.sessions.stats.case_metrics import metrics
    from benchtui.tui.cli.text.progress import follow, summary_line

    state = SessionState(metrics)
    try:
        _follow(engine, state, progress=progress)
    except KeyboardInterrupt:
        with suppress(BenchtuiError):  # an engine that no longer exists has already stopped
            engine.stop()
        for _ in follow(engine, SessionState(metrics)):
            pass
        raise
    if state.finished is None:
        raise BenchtuiError(summary_line(state, engine.path, engine))
    return load(current_path(engine.path, state.start.id))


def _follow(engine: Engine, state: SessionState, *, progress: bool) -> None:
    """Apply the events of a running sweep to its state, and print those that say how far it is."""
    from benchtui.sessions.sanitize import visible  # imported on use, as above
    from benchtui.tui.cli.text.progress import follow, progress_line, stamped

    for event in follow(engine, state):
        line = progress_line(state, event) if progress else None
        if line:
            sys.stderr.write(visible(stamped(state, line.strip())) + "\n")
