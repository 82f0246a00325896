"""Cells and legend of a heatmap: color steps, states, and the best. Independent of Textual."""

from collections.abc import Iterable, Sequence
from math import log

import msgspec

from benchtui.sessions.analysis.chart_series import PlotMetric
from benchtui.sessions.analysis.heatmap import HeatValue
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing import format
from benchtui.tui.drawing.heat_grid import HEAT, HeatCell
from benchtui.tui.drawing.styled_text import Span
from benchtui.tui.model.case_rows import ROLES

TOP = len(HEAT) - 1
WIDE_RANGE = 10.0
"""Max/min ratio from which the color steps are logarithmic by default."""
LEGEND = {
    "running": "running",
    "queued": "not measured yet",
    "skipped": "skipped",
    "failed": "failed",
    "timeout": "timed out",
    "interrupted": "interrupted",
}


class ColorScale(msgspec.Struct, frozen=True):
    """Range of the values that the color steps cover."""

    low: float
    high: float
    logarithmic: bool

    @classmethod
    def of(cls, values: Sequence[float], other: bool) -> "ColorScale | None":
        """Return the scale of the values; None if there are none. ``other`` selects the non-default scale."""
        if not values:
            return None
        low, high = min(values), max(values)
        return cls(low, high, low > 0 and other != (high >= WIDE_RANGE * low))

    def step(self, value: float) -> int:
        """Return the color step of a value, 0 for the lowest."""
        if self.high <= self.low:
            return TOP
        share = (value - self.low) / (self.high - self.low)
        if self.logarithmic:
            share = log(value / self.low) / log(self.high / self.low)
        return min(int(share * len(HEAT)), TOP)


def heat_cell(cell: HeatValue, scale: ColorScale | None, best: bool, symbols: Symbols) -> HeatCell:
    """Render a case as a cell: its value on a color step, or its state."""
    state, index = cell.case.state, cell.case.index
    if cell.value is None or scale is None:
        if state == "oom":
            return HeatCell(symbols.hatch, "OOM", ROLES[state], symbols.hatch, index)
        sign = getattr(symbols, state) if state != "ok" else symbols.absent
        return HeatCell(sign, "", ROLES[state], case=index)
    step = scale.step(cell.value.middle)
    running = symbols.running if state == "running" else _level(step, symbols)
    return HeatCell(
        symbols.best if best else running, format.compact(cell.value.middle), HEAT[step], case=index
    )


def legend(
    figure: PlotMetric, scale: ColorScale | None, star: str, states: Iterable[str], symbols: Symbols
) -> tuple[tuple[Span, ...], ...]:
    """Explain the color steps and the signs in use."""
    facts: list[tuple[Span, ...]] = []
    if scale is not None:
        steps = tuple((f" {_level(step, symbols)} ", role) for step, role in enumerate(HEAT))
        low, high = format.compact(scale.low), format.compact(scale.high)
        facts.append(((f"{low} ", "muted"), *steps, (f" {high} {figure.unit_words}", "muted")))
        facts.append(((symbols.best, "bright"), (f" {star}", "muted")))
    present = set(states)
    if "oom" in present:
        facts.append(((f"{symbols.hatch}OOM{symbols.hatch}", ROLES["oom"]), (" out of memory", "muted")))
    for state, words in LEGEND.items():
        if state in present:
            facts.append(((getattr(symbols, state), ROLES[state]), (f" {words}", "muted")))
    return tuple(facts)


def _level(step: int, symbols: Symbols) -> str:
    """Return the fill level of a color step, which distinguishes the steps without color."""
    return symbols.up[1 + step * (len(symbols.up) - 2) // TOP]
