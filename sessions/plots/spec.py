"""Plot specifications, before rendering."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from benchtui.sessions.plots.values import Value
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baselines
from benchtui.sessions.stats.results import Result, measured, varied
from benchtui.sessions.sweep import Work

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class PlotData(msgspec.Struct, frozen=True):
    """Data shared by all plots, computed once."""

    session: Session
    results: tuple[Result, ...]
    kinds: tuple[str, ...]
    """Options that vary in the session."""
    baselines: dict[Work, Result]
    """Baseline case of each work."""


class Plan(msgspec.Struct, frozen=True):
    """A plot to draw, with its title and caption."""

    name: str
    """File name without extension."""
    section: str
    """Heading of the report section that it belongs to; empty for the first section, whatever its heading."""
    title: str
    caption: str
    """Legend in words: n, and the meaning of bars and marks. Shown below the plot."""
    draw: Callable[["Figure"], Sequence[Value]]
    """Draws the plot and returns its values."""
    height_in: float = 4.2


class SkippedPlot(msgspec.Struct, frozen=True):
    """A plot that isn't drawn, and why."""

    name: str
    reason: str


def plot_data(session: Session) -> PlotData:
    """Collect the data for plots. Raises BenchtuiError if the session has no first event."""
    results = measured(session)
    bases = baselines(results, session.start.sweep.measure.baseline)
    return PlotData(session, results, varied(case.config for case in session.cases), bases)


def step_counts(results: Sequence[Result]) -> str:
    """Describe how many steps per case the plots are based on."""
    counts = sorted({result.metrics.latency_ms.n for result in results})
    if not counts or not counts[-1]:
        return "The source has no steps."
    few, many = counts[0], counts[-1]
    return f"n = {few:,} steps per case." if few == many else f"n = {few:,} to {many:,} steps per case."
