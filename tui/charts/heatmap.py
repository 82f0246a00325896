"""Heatmap chart: the whole sweep over two options, its cells and legend. Independent of Textual."""

from collections.abc import Callable, Iterable, Sequence
from math import log
from typing import TYPE_CHECKING

import msgspec

from benchtui.sessions.analysis.chart_series import (
    LATENCY,
    SAMPLES,
    Group,
    MetricsLookup,
    PlotMetric,
    Point,
    throughput,
)
from benchtui.sessions.analysis.heatmap import HeatmapData, axis_pairs, heatmap_data
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.themes.symbols import Symbols
from benchtui.tui.charts.line_chart import ChartSelection
from benchtui.tui.charts.readout import case_facts, option_word, option_words, title, with_interval
from benchtui.tui.drawing import format
from benchtui.tui.drawing.bars import HEAT
from benchtui.tui.drawing.heat_grid import HeatCell, HeatGrid, Heatmap
from benchtui.tui.drawing.listing import Listing, titled_table
from benchtui.tui.drawing.styled_text import Span
from benchtui.tui.live.case_verdicts import CaseVerdicts
from benchtui.tui.model.case_rows import ROLES
from benchtui.tui.model.row_cells import base_cell
from benchtui.tui.table.case_names import matches, short_names

if TYPE_CHECKING:
    from benchtui.sessions.advice.conclusion import Conclusions

REACH = 100
"""Number of rows on each side of the selected one that get a verdict. Thousands of verdicts take too long."""


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


def heat_cell(cell: Point, scale: ColorScale | None, best: bool, symbols: Symbols) -> HeatCell:
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


class HeatmapChart:
    """Cases as cells over two options, a grid per combination of the others, with a selected cell."""

    def __init__(
        self,
        session: Session,
        metrics_of: MetricsLookup,
        symbols: Symbols,
        judge: CaseVerdicts,
        choice: ChartSelection,
        conclusions: "Callable[[], Conclusions | None]" = lambda: None,
    ) -> None:
        """Create a chart. ``conclusions`` returns the newest ones, which name the best cases for speed."""
        self._conclusions = conclusions
        self._session = session
        self._known = metrics_of
        self._symbols = symbols
        self._judge = judge
        self._choice = choice
        """Metric, scale and filter, shared with the line chart."""
        self._pair = 0
        self._at: tuple[int, int, int] = (0, 0, 0)
        """Selected grid, row and column."""
        self._selected = False
        """Whether the user has selected a cell; before, that of an ended sweep is the case to run."""
        self._shown: set[int] = set()
        """Cases that match the filter."""
        self._labels: dict[int, str] = {}
        self._data: HeatmapData | None = None
        self.update()

    def update(self) -> None:
        """Rebuild the grids from the current session, and keep the selection valid."""
        cases = self._session.cases
        pairs = axis_pairs(case.config for case in cases)
        self._pair = self._pair if self._pair < len(pairs) else 0
        self._data = heatmap_data(cases, self._known, self._choice.metric, pairs[self._pair]) if pairs else None
        self._axes = pairs[self._pair] if pairs else ("", "")
        self._labels = dict(enumerate(short_names([case.config for case in cases])))
        wanted = self._choice.filter_text
        self._shown = {index for index, text in self._labels.items() if matches(text, wanted)}
        if not self._selected and self._session.finished and (conclusions := self._conclusions()):
            self._find(next((self._session.cases[work.best.case.index] for work in conclusions.works), None))
        self._move(0, 0)

    @property
    def available(self) -> bool:
        """Whether the sweep has two options with several values."""
        return self._data is not None

    @property
    def case(self) -> CaseState | None:
        """Case of the selected cell; None where none was planned."""
        return self._cell.case if self._cell else None

    def select(self, case: CaseState) -> None:
        """Select the cell of a case, if it has one."""
        self._selected = True
        self._find(case)

    def _find(self, case: CaseState | None) -> None:
        data = self._data
        for number, grid in enumerate(data.grids if data else ()):
            for cell in grid.points:
                if data and cell.case is case:
                    column, row = cell.at
                    self._at = (number, data.rows.index(row), data.columns.index(column))

    def next_axis(self) -> str:
        """Switch to the next pair of options. Return a message if there is only one."""
        pairs = axis_pairs(case.config for case in self._session.cases)
        if len(pairs) < 2:
            return "only two options have several values; both are shown"
        case, self._pair = self.case, (self._pair + 1) % len(pairs)
        self.update()
        if case is not None:
            self.select(case)
        return ""

    def move_point(self, by: int) -> None:
        """Select another column."""
        self._selected = True
        self._move(0, by)

    def move_line(self, by: int) -> None:
        """Select another row; past the edge of a grid, one of the next grid."""
        self._selected = True
        self._move(by, 0)

    @property
    def title(self) -> str:
        """Chart title: metric and the two options."""
        names = " and ".join(map(option_words, self._axes))
        return f"{title(self._choice.metric)} over {names}"

    @property
    def notes(self) -> list[str]:
        """Progress of the sweep, active filter and color scale, in words."""
        cases = [case for case in self._session.cases if not case.config.repeat]
        ended = sum(case.finished is not None for case in cases)
        kept = [f"filter {self._choice.filter_text}"] if self._choice.filter_text else []
        scale = self._scale
        colors = ["log colors"] if scale and scale.logarithmic else []
        return [*kept, *colors, f"{ended}/{len(cases)} cases"]

    def readout(self) -> list[list[Span]]:
        """Render the selected case, its value, and its verdict."""
        cell = self._cell
        if cell is None:
            return [[("no case was planned here", "muted")]]
        name = (format.clean(self._labels[cell.case.index]), "plain")
        metric = self._choice.metric
        value = with_interval(cell.case, cell.value, metric, self._known(cell.case), self._judge)
        return [[name], *case_facts(cell.case, value, metric, self._judge, self._symbols)]

    def plot(self) -> Heatmap:
        """Build the grids."""
        data = self._data
        if data is None:
            return Heatmap((), (), "", "", (), None, hint="only one option has several values")
        best, star = self._best(data)
        scale, states = self._scale, {case.state for case in self._session.cases if self._matches(case)}
        several = len(data.grids) > 1
        names = short_names([grid.config for grid in data.grids], *self._axes) if several else [""]
        return Heatmap(
            rows=tuple(map(_value_text, data.rows)),
            columns=tuple(map(_value_text, data.columns)),
            row_title=option_word(self._axes[1]),
            column_title=option_words(self._axes[0]),
            grids=tuple(
                self._drawn(data, grid, name, scale, best) for grid, name in zip(data.grids, names, strict=True)
            ),
            chosen=self._at,
            legend=legend(data.metric, scale, star, states, self._symbols),
        )

    def lines(self, reach: int = REACH) -> Listing:
        """List the cases that have a value, the best first within each sequence length.

        Those more than ``reach`` rows from the selected one have no verdict.
        """
        data = self._data
        if data is None:
            return Listing(("", "case"), (), 1)
        sign = -1 if data.metric.higher_is_better else 1
        ranked = sorted(
            (case.config.work, sign * value, case.index, case)
            for case, value in data.values
            if self._matches(case)
        )
        best, _ = self._best(data)
        selected = self.case
        at = next((place for place, (*_, case) in enumerate(ranked) if case is selected), None)
        rows = tuple(
            (
                (self._symbols.best if case.index in best else "", "bright"),
                (format.clean(self._labels[case.index]), "plain"),
                (format.significant(abs(value), self._symbols), "plain"),
                base_cell(case, self._judge, self._symbols)
                if abs(place - (at or 0)) <= reach
                else ("", "muted"),
            )
            for place, (_, value, _, case) in enumerate(ranked)
        )
        return Listing(
            ("", "best first", title(data.metric), "vs base"),
            rows,
            1,
            at,
            tuple(index for *_, index, _ in ranked),
            self._choice.without_rows,
        )

    def markdown(self) -> str:
        """Return the ranking as a Markdown table; empty if nothing was measured."""
        return titled_table(self.title, self.lines(len(self._session.cases)))

    def _best(self, data: HeatmapData) -> tuple[set[int], str]:
        """Return the starred cases and what they are: those to run for rate or latency, else the best ones.

        The case to run may be a cheaper one as fast as the best.
        """
        metric, several = data.metric.of, len(data.best()) > 1
        rates = (SAMPLES.of, throughput(self._session).of)
        if metric not in (*rates, LATENCY.of):
            best = {case.index for case in data.best().values()}
            return best, "best of its sequence length" if several else "best"
        conclusions = self._conclusions()
        works = conclusions.works if conclusions else ()
        run = (work.best_of("throughput" if metric in rates else "latency") for work in works)
        starred = {result.case.index for result in run if result}
        return starred, "to run at its sequence length" if several else "to run"

    @property
    def _cell(self) -> Point | None:
        data = self._data
        if data is None:
            return None
        grid, row, column = self._at
        at = data.columns[column], data.rows[row]
        return next((cell for cell in data.grids[grid].points if cell.at == at), None)

    @property
    def _scale(self) -> ColorScale | None:
        values = self._data.values if self._data else []
        return ColorScale.of([value for case, value in values if self._matches(case)], self._choice.logarithmic)

    def _matches(self, case: CaseState) -> bool:
        return case.index in self._shown

    def _drawn(
        self, data: HeatmapData, grid: Group, name: str, scale: ColorScale | None, best: set[int]
    ) -> HeatGrid:
        """Render a grid; cells that don't match the filter are blank."""
        cells = {
            cell.at: heat_cell(cell, scale, cell.case.index in best, self._symbols)
            for cell in grid.points
            if self._matches(cell.case)
        }
        rows = (tuple(cells.get((column, row)) for column in data.columns) for row in data.rows)
        return HeatGrid(format.clean(name), tuple(rows))

    def _move(self, down: int, right: int) -> None:
        """Move the selection. Rows of consecutive grids follow each other."""
        data = self._data
        if data is None or not data.grids:
            return
        grid, row, column = self._at
        count = len(data.rows)
        place = min(max(grid * count + min(row, count - 1) + down, 0), len(data.grids) * count - 1)
        self._at = (*divmod(place, count), min(max(column + right, 0), len(data.columns) - 1))


def _value_text(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else format.clean(str(value))
