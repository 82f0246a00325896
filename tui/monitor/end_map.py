"""Heatmap at the end of a sweep: its throughput over two options, with the cases to run marked."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from benchtui.sessions.analysis.chart_series import throughput
from benchtui.sessions.stats.evidence import computed_metrics
from benchtui.themes.symbols import Symbols
from benchtui.tui.charts.heatmap import HeatmapChart
from benchtui.tui.charts.line_chart import ChartSelection
from benchtui.tui.drawing.heat_grid import Heatmap
from benchtui.tui.model.session_view import View

if TYPE_CHECKING:
    from benchtui.sessions.advice.conclusion import Conclusions

EndMap = tuple[str, Heatmap]
"""Title and grids."""


def end_map(view: View, conclusions: "Conclusions", symbols: Symbols) -> EndMap | None:
    """Return the grid of the case to run; None if fewer than two options have several values.

    Its metrics are those of which the conclusions were drawn.
    """
    choices = [work.choice for work in conclusions.works]
    metrics = {row.case.index: computed_metrics(row.case) for choice in choices for row in choice.rejected}
    metrics |= {result.case.index: result.metrics for choice in choices for result in choice.fit}
    chart = HeatmapChart(
        view.session,
        lambda case: metrics.get(case.index),
        symbols,
        view.case_rows.verdicts,
        ChartSelection(metric=throughput(view.session)),
        view.conclusions,
    )
    if not chart.available or not choices:
        return None
    chart.select(view.session.cases[conclusions.works[0].best.case.index])
    plot = chart.plot()
    grid, row, column = plot.chosen or (0, 0, 0)
    return chart.title, replace(plot, grids=plot.grids[grid : grid + 1], chosen=(0, row, column), legend=())
