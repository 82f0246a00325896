"""Case grid of a sweep: its cases, built on demand, and their totals. Independent of Textual."""

from collections.abc import Callable
from math import inf
from typing import Literal

import msgspec

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
from benchtui.tui.drawing.format import duration, memory

Status = Literal["on", "off", "skipped", "missing"]
"""``missing``: its device isn't on this machine."""


class GridCase(msgspec.Struct, frozen=True):
    """One combination of axis values: whether it will run, and its predicted time and memory."""

    config: Config
    status: Status
    reason: str = ""
    """Why the case is skipped, or its device is missing."""
    prediction: Prediction | None = None


class Totals(msgspec.Struct):
    """Totals over all cases."""

    cases: int
    sessions: int
    """Number of earlier sessions that the predictions are based on."""
    off: int = 0
    skipped: int = 0
    missing: int = 0
    missing_reason: str = ""
    """Why the first missing device is missing."""
    seconds: float = 0.0
    """Total time of the enabled cases with a prediction, guesses included."""
    unknown: int = 0
    """Number of enabled cases without a predicted time."""
    near: int = 0
    guessed: int = 0

    @property
    def on(self) -> int:
        """Number of cases to be measured."""
        return self.cases - self.off - self.skipped - self.missing

    def add(self, cell: GridCase) -> None:
        """Add a case to the totals."""
        self.off += cell.status == "off"
        self.skipped += cell.status == "skipped"
        if cell.status == "missing":
            self.missing += 1
            self.missing_reason = self.missing_reason or cell.reason
        if cell.prediction is None:
            return
        if cell.prediction.seconds is None:
            self.unknown += 1
            return
        self.seconds += cell.prediction.seconds
        self.near += cell.prediction.time_basis == "near"
        self.guessed += cell.prediction.time_basis == "guess"


class CaseGrid:
    """All combinations of a sweep's axes by index, disabled ones included."""

    def __init__(
        self, sweep: Sweep, estimator: HistoryEstimator, missing: Callable[[Config], str] | None = None
    ) -> None:
        """Create the grid. ``missing`` returns why a case's device isn't on the machine that runs it."""
        self.sweep = sweep
        self.count = sweep.axes.count
        self.estimator = estimator
        self._off = exclusion_matcher(sweep.exclude)
        self.missing = missing
        self._axes = [(field, getattr(sweep.axes, field)) for field in reversed(AXES)]

    @property
    def axes(self) -> Axes:
        """Axes of the sweep."""
        return self.sweep.axes

    def config(self, index: int) -> Config:
        """Return the options at an index. Machine and device vary slowest, batch size fastest."""
        options = {}
        for field, values in self._axes:
            index, place = divmod(index, len(values))
            options[field] = values[place]
        return Config(**options, unset=self.axes.unset)

    def cell(self, index: int) -> GridCase:
        """Return the case at an index with its status and prediction."""
        config = self.config(index)
        if self._off(config):
            return GridCase(config, "off")
        if reason := unsupported_reason(config) or incompatible_reason(config, self.sweep):
            return GridCase(config, "skipped", reason)
        if reason := self.missing(config) if self.missing and self._runs_here(config) else "":
            return GridCase(config, "missing", reason)
        return GridCase(config, "on", prediction=self.estimator.predict(config, self.sweep))

    def totals(self) -> Totals:
        """Return the totals over all cases and the repeat of an A/A pair."""
        totals = Totals(self.count, self.estimator.sessions)
        repeat_s: float | None = None
        for cell in map(self.cell, range(self.count)):
            totals.add(cell)
            if repeat_s is None and cell.prediction and self._may_repeat(cell.config):
                repeat_s = cell.prediction.seconds
        totals.seconds += repeat_s or 0.0
        return totals

    def _runs_here(self, config: Config) -> bool:
        """Return whether this machine runs the case, rather than a node of a cluster."""
        return self.sweep.run.executor == "local" and not config.machine

    def _may_repeat(self, config: Config) -> bool:
        rules = self.sweep.measure
        return rules.aa and (rules.baseline is None or rules.baseline.matches(config))


def totals_text(totals: Totals, sweep: Sweep, symbols: Symbols) -> str:
    """Format the number of cases and their total time."""
    dot = f" {symbols.dot} "
    verb = " can run" if totals.missing else ""
    counts = [f"{totals.on:,} of {totals.cases:,} case{'s' * (totals.cases != 1)}{verb}"]
    counts += [f"{totals.missing:,} without a device"] if totals.missing else []
    counts += [f"{totals.off:,} off"] if totals.off else []
    counts += [f"{totals.skipped:,} skipped"] if totals.skipped else []
    counts += ["plus those that batch_size = auto adds"] if sweep.axes.batch_size_auto else []
    counts += ["plus a repeated baseline"] if sweep.measure.aa else []
    time = f"{time_text(totals, symbols)}{_further_text(totals, sweep)}"
    return dot.join([*counts, time if sweep.ends_s == inf else f"at most {duration(sweep.ends_s)}"])


def further_s(totals: Totals, sweep: Sweep) -> float | None:
    """Return the maximum time of further rounds in seconds; None if there are none, or if it is unknown."""
    if not sweep.measure.rounds_auto or not totals.on or (totals.unknown and sweep.run.budget_s is None):
        return None
    return sweep.run.budget_after_s(totals.seconds)


def _further_text(totals: Totals, sweep: Sweep) -> str:
    most_s = further_s(totals, sweep)
    return "" if most_s is None else f", then up to {duration(most_s)} more"


def time_text(totals: Totals, symbols: Symbols) -> str:
    """Format the total time, marked as approximate unless all of it was measured."""
    if not totals.on:
        return "nothing to measure"
    if totals.unknown == totals.on:
        return "time unknown"
    sign = "" if totals.guessed + totals.near == 0 else f"{symbols.about} "
    more = f" and {totals.unknown:,} of unknown time" if totals.unknown else ""
    return f"{sign}{duration(totals.seconds)}{more}"


def basis_text(totals: Totals) -> str:
    """Format what the predictions are based on."""
    if totals.guessed == 0 and totals.sessions == 0:
        return ""
    learned = f"based on {totals.sessions} earlier session{'s' * (totals.sessions != 1)}"
    if totals.guessed == 0:
        return learned
    if totals.sessions == 0:
        return "? = rough estimate (nothing similar measured here)"
    return f"{learned}; {totals.guessed:,} rough (?)"


def time_cell(prediction: Prediction | None, symbols: Symbols) -> str:
    """Format a case's predicted time in seconds, with a mark for its basis."""
    if prediction is None or prediction.seconds is None:
        return symbols.absent
    digits = 1 if prediction.seconds < 100 else 0
    return _marked(f"{prediction.seconds:,.{digits}f}", prediction.time_basis, symbols)


def memory_cell(prediction: Prediction | None, symbols: Symbols) -> str:
    """Format a case's predicted memory, with a mark for its basis."""
    if prediction is None or prediction.memory_mb is None:
        return symbols.absent
    return _marked(memory(prediction.memory_mb, symbols), prediction.memory_basis, symbols)


def _marked(figure: str, basis: str, symbols: Symbols) -> str:
    return {"measured": f"{figure} ", "near": f"{symbols.about}{figure} ", "guess": f"{figure}?"}[basis]
