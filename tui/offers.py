"""What the chooser has to offer: engines that run, presets, sweeps in the folder, recorded sessions."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.library import Entry
from benchtui.sessions.sweep import Sweep
from benchtui.sessions.sweep_file import load_sweep, preset_names
from benchtui.tui.surroundings import Surroundings
from benchtui.tui.text import clean

NEWEST = 20
"""Recorded sessions that are offered."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One line of the chooser: a sweep to start or a session to open, or why it can't be."""

    group: str
    name: str
    about: str
    sweep: Sweep | None = None
    path: Path | None = None
    engine: Engine | None = None
    problem: str = ""


def offers(surroundings: Surroundings) -> list[Offer]:
    """All offers, grouped, in the order in which they are shown."""
    engines = surroundings.running()
    at_work = {engine.path for engine in engines}
    recorded = [entry for entry in surroundings.recorded() if entry.path not in at_work][:NEWEST]
    return [
        *(_running(engine, surroundings) for engine in engines),
        *(_sweep("Presets", name, name) for name in preset_names()),
        *_files(surroundings.folder),
        *(_recorded(entry, surroundings) for entry in recorded),
    ]


def needs(sweep: Sweep) -> str:
    """What a sweep asks of the machine, in words."""
    devices = ", ".join(sweep.axes.device)
    weights = "no download" if sweep.weights == "random" else "downloads weights"
    return f"{devices}; {weights}"


def _running(engine: Engine, surroundings: Surroundings) -> Offer:
    name = clean(surroundings.name_of(engine.path))
    return Offer("Running", name, "watch it", path=engine.path, engine=engine)


def _sweep(group: str, name: str, source: str) -> Offer:
    shown = clean(name)
    try:
        sweep = load_sweep(source)
    except BenchtuiError as error:
        return Offer(group, shown, "", problem=clean(str(error)))
    count = sweep.axes.count
    about = f"{count:,} case{'s' * (count != 1)}; {clean(needs(sweep))}; {clean(sweep.model)}"
    return Offer(group, shown, about, sweep=sweep)


def _files(folder: Path) -> Iterable[Offer]:
    try:
        found = sorted(folder.glob("*.toml"))
    except OSError:
        return []
    sources = (path for path in found if path.name != "pyproject.toml")
    return [_sweep("Sweeps in this folder", path.name, str(path)) for path in sources]


def _recorded(entry: Entry, surroundings: Surroundings) -> Offer:
    count = len(entry.started.plan)
    end = "" if entry.finished else "; cut off"
    about = f"{clean(entry.started.host.hostname or '')}  {count:,} case{'s' * (count != 1)}{end}"
    return Offer("Recorded", clean(surroundings.name_of(entry.path)), about.strip(), path=entry.path)
