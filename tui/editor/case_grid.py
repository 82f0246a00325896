"""The cases that a sweep spans, each worked out when it is asked for, and their totals. Knows no Textual."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Literal

from benchtui.sessions.estimates.history import HistoryEstimator, Prediction
from benchtui.sessions.sweep import (
    Axes,
    Config,
    Sweep,
    exclusion_matcher,
    incompatible_reason,
    unsupported_reason,
)
from benchtui.sessions.sweep.options import AXES
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import duration

SLICE = 250
"""Cases that are looked at in one go: a few milliseconds."""

Status = Literal["on", "off", "skipped"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of the axes: whether it will be run, and what it is expected to need."""

    config: Config
    status: Status
    reason: str = ""
    """Why it is skipped."""
    prediction: Prediction | None = None


@dataclass(slots=True)
class Totals:
    """What all cases come to, as far as they have been looked at."""

    cases: int
    sessions: int
    """Earlier sessions that were learned from."""
    looked_at: int = 0
    off: int = 0
    skipped: int = 0
    seconds: float = 0.0
    """Of the cases that are on and whose time is known or guessed."""
    unknown: int = 0
    """Cases that are on, and nothing says how long they take."""
    near: int = 0
    guessed: int = 0

    @property
    def on(self) -> int:
        """Cases that will be measured, as far as they have been looked at."""
        return self.looked_at - self.off - self.skipped

    @property
    def complete(self) -> bool:
        """Whether all cases have been looked at."""
        return self.looked_at == self.cases

    def add(self, cell: Cell) -> None:
        """Take in one more case."""
        self.looked_at += 1
        self.off += cell.status == "off"
        self.skipped += cell.status == "skipped"
        if cell.prediction is None:
            return
        if cell.prediction.seconds is None:
            self.unknown += 1
            return
        self.seconds += cell.prediction.seconds
        self.near += cell.prediction.time_basis == "near"
        self.guessed += cell.prediction.time_basis == "guess"


class Matrix:
    """Every combination of a sweep's axes by its number, switched off ones included."""

    def __init__(self, sweep: Sweep, precedents: HistoryEstimator) -> None:
        self.sweep = sweep
        self.count = sweep.axes.count
        self.precedents = precedents
        self._off = exclusion_matcher(sweep.exclude)
        self._axes = [(field, getattr(sweep.axes, field)) for field in reversed(AXES)]

    @property
    def axes(self) -> Axes:
        """The axes that span it."""
        return self.sweep.axes

    def config(self, index: int) -> Config:
        """The options of a combination: device outermost, batch size innermost."""
        options = {}
        for field, values in self._axes:
            index, place = divmod(index, len(values))
            options[field] = values[place]
        return Config(**options)

    def cell(self, index: int) -> Cell:
        """A combination with what becomes of it."""
        config = self.config(index)
        if self._off(config):
            return Cell(config, "off")
        if reason := unsupported_reason(config) or incompatible_reason(config, self.sweep):
            return Cell(config, "skipped", reason)
        return Cell(config, "on", prediction=self.precedents.predict(config, self.sweep))

    def survey(self, size: int = SLICE) -> Iterator[Totals]:
        """The totals, after each slice of cases; the last ones are of all cases, an A/A pair included."""
        totals = Totals(self.count, self.precedents.sessions)
        again_s: float | None = None
        while not totals.complete:
            for index in range(totals.looked_at, min(totals.looked_at + size, self.count)):
                cell = self.cell(index)
                totals.add(cell)
                if again_s is None and cell.prediction and self._once_more(cell.config):
                    again_s = cell.prediction.seconds
            totals.seconds += (again_s or 0.0) * totals.complete
            yield copy(totals)

    def _once_more(self, config: Config) -> bool:
        """Whether a case may be the one that an A/A pair repeats."""
        rules = self.sweep.measure
        return rules.aa and (rules.baseline is None or rules.baseline.matches(config))


def totals_text(totals: Totals, sweep: Sweep, symbols: Symbols) -> str:
    """How many cases, and how long they take."""
    dot = f" {symbols.dot} "
    if not totals.complete:
        return f"{totals.cases:,} cases{dot}{totals.looked_at:,} looked at so far"
    counts = [f"{totals.on:,} of {totals.cases:,} case{'s' * (totals.cases != 1)}"]
    counts += [f"{totals.off:,} off"] if totals.off else []
    counts += [f"{totals.skipped:,} skipped"] if totals.skipped else []
    counts += ["more as batch_size = auto looks for them"] if sweep.axes.batch_size_auto else []
    counts += ["the baseline once more"] if sweep.measure.aa else []
    return dot.join([*counts, time_text(totals, symbols)])


def time_text(totals: Totals, symbols: Symbols) -> str:
    """How long all cases take, and what that rests on."""
    if totals.unknown == totals.on:
        return "time not known"
    sign = "" if totals.guessed + totals.near == 0 else f"{symbols.about} "
    more = f" and {totals.unknown:,} of unknown time" if totals.unknown else ""
    return f"{sign}{duration(totals.seconds)}{more}"


def basis_text(totals: Totals) -> str:
    """What the estimates rest on, in words."""
    if totals.guessed == 0 and totals.sessions == 0:
        return ""
    learned = f"learned from {totals.sessions} earlier session{'s' * (totals.sessions != 1)}"
    if totals.guessed == 0:
        return learned
    if totals.sessions == 0:
        return "? is a guess: nothing like it was measured here"
    return f"{learned}; {totals.guessed:,} guessed (?)"


def time_cell(prediction: Prediction | None, symbols: Symbols) -> str:
    """A case's time in seconds, with a sign of what it rests on."""
    if prediction is None or prediction.seconds is None:
        return symbols.absent
    digits = 1 if prediction.seconds < 100 else 0
    return _marked(f"{prediction.seconds:,.{digits}f}", prediction.time_basis, symbols)


def memory_cell(prediction: Prediction | None, symbols: Symbols) -> str:
    """A case's memory in units of 10**6 bytes, with a sign of what it rests on."""
    if prediction is None or prediction.memory_mb is None:
        return symbols.absent
    return _marked(f"{prediction.memory_mb:,.0f}", prediction.memory_basis, symbols)


def _marked(figure: str, basis: str, symbols: Symbols) -> str:
    return {"measured": f"{figure} ", "near": f"{symbols.about}{figure} ", "guess": f"{figure}?"}[basis]
