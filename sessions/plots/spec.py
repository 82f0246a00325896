"""A figure before it is drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baselines
from benchtui.sessions.stats.results import Result, measured, varied

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Facts:
    """What all figures draw from, computed once."""

    session: Session
    results: tuple[Result, ...]
    kinds: tuple[str, ...]
    """The options that vary in the session."""
    baselines: dict[int, Result]
    """The baseline case of each sequence length that has one."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to draw, and what to say of it."""

    name: str
    """Of its files, without an ending."""
    section: str
    """Heading of the section of the report that it belongs to."""
    title: str
    caption: str
    """How to read it: n, what bars and marks mean. Below the figure."""
    draw: Callable[["Figure"], None]
    height_in: float = 4.2


@dataclass(frozen=True, slots=True)
class SkippedPlot:
    """A figure that isn't drawn, and why."""

    name: str
    reason: str


def facts(session: Session) -> Facts:
    """The facts of a session; raises BenchtuiError for one without its first event."""
    results = measured(session)
    bases = baselines(results, session.start.sweep.measure.baseline)
    return Facts(session, results, varied(case.config for case in session.cases), bases)


def steps_said(results: Sequence[Result]) -> str:
    """How many steps the figures of each case rest on."""
    counts = sorted({result.metrics.latency_ms.n for result in results})
    if not counts or not counts[-1]:
        return "The source kept no steps."
    few, many = counts[0], counts[-1]
    return f"n = {few:,} steps a case." if few == many else f"n = {few:,} to {many:,} steps a case."
