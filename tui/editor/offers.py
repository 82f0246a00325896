"""Sweeps to choose from: presets, and the TOML files of a folder. Knows no Textual."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import Sweep
from benchtui.sessions.sweep.toml_reader import load_sweep, preset_names
from benchtui.tui.drawing.format import clean


@dataclass(frozen=True, slots=True)
class Offer:
    """A sweep that can be opened, or why it can't be."""

    group: str
    name: str
    source: str
    """What opens it: a preset's name or a path."""
    about: str = ""
    problem: str = ""


def offers(folder: Path) -> list[Offer]:
    """Presets, then the sweeps of a folder."""
    return [*(_sweep("Presets", name, name) for name in preset_names()), *_files(folder)]


def needs(sweep: Sweep) -> str:
    """What a sweep asks of the machine, in words."""
    devices = ", ".join(sweep.axes.device)
    weights = "no download" if sweep.weights == "random" else "downloads weights"
    return f"{devices}; {weights}"


def _sweep(group: str, name: str, source: str) -> Offer:
    shown = clean(name)
    try:
        sweep = load_sweep(source)
    except BenchtuiError as error:
        return Offer(group, shown, source, problem=clean(str(error)))
    count = sweep.axes.count
    about = f"{count:,} case{'s' * (count != 1)}; {clean(needs(sweep))}; {clean(sweep.model)}"
    return Offer(group, shown, source, about)


def _files(folder: Path) -> Iterable[Offer]:
    try:
        found = sorted(folder.glob("*.toml"))
    except OSError:
        return []
    sources = (path for path in found if path.name != "pyproject.toml")
    return [_sweep("Sweeps in this folder", path.name, str(path)) for path in sources]
