"""Plot specifications, before rendering."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import Work, baselines
from benchtui.sessions.stats.results import Result, measured, varied

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class PlotData:
    """Data shared by all plots, computed once."""

    session: Session
    results: tuple[Result, ...]
    kinds: tuple[str, ...]
    """Options that vary in the session."""
    baselines: dict[Work, Result]
    """Baseline case by sequence length."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A plot to draw, with its title and caption."""

    name: str
    """File name without extension."""
    section: str
    """Heading of the report section that it belongs to."""
    title: str
    caption: str
    """How to read the plot: n, and what bars and marks mean. Shown below it."""
    draw: Callable[["Figure"], None]
    height_in: float = 4.2


@dataclass(frozen=True, slots=True)
class SkippedPlot:
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
