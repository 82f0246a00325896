"""Leaderboard: measured cases by throughput, compared with the baseline, and the cost of a million samples."""

from collections.abc import Iterator, Sequence

import msgspec

from benchtui.sessions.metrics.quantity import CaseData
from benchtui.sessions.metrics.views import RANKED
from benchtui.sessions.report.content import Section, section
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baseline_of
from benchtui.sessions.stats.ratios import throughput_ratio
from benchtui.sessions.stats.results import Result, by_work, task_of
from benchtui.sessions.stats.verdicts import Ratio
from benchtui.sessions.sweep import Work
from benchtui.sessions.text.formatting import number, signed_percent, span
from benchtui.sessions.text.labels import case_label
from benchtui.sessions.text.quantities import columns, token_rates
from benchtui.sessions.text.tables import Column, in_unit, table
from benchtui.sessions.text.wording import cost_of_a_million, memory_change, verdict_cell


class RankedCase(msgspec.Struct, frozen=True):
    """A case with its rank and its ratio to the baseline."""

    rank: int
    result: Result
    baseline: Result | None
    ratio: Ratio | None
    """Throughput relative to the baseline. None for the baseline itself, or without one."""
    varying: tuple[str, ...]
    per_hour: float | None


def leaderboard(
    session: Session, results: Sequence[Result], varying: tuple[str, ...], per_hour: float | None
) -> Iterator[Section | None]:
    """Yield a table for each work with at least two cases that have a throughput."""
    for work, rows in by_work(results).items():
        rated = [row for row in rows if row.metrics.samples_per_s]
        ranked = sorted(rated, key=_rate, reverse=True)
        base = baseline_of(rows[0].config, rows, session.start.sweep.measure.baseline)
        places = [_ranked_case(rank, row, base, varying, per_hour) for rank, row in enumerate(ranked, 1)]
        figures = in_unit(columns(RANKED, lambda place: CaseData.of(place.result), _OWN), task_of(ranked))
        yield section(_title(work, rows), table(figures, places) if len(places) > 1 else None)


def _title(work: Work, rows: Sequence[Result]) -> str:
    """Return the heading. The sequence length of cases named by another tool is unknown."""
    unknown = not work.group and any(row.config.label for row in rows)
    return "Ranked" if unknown or not str(work) else f"Ranked, {work}"


def _rate(row: Result) -> float:
    """Return the rate to rank by: tokens of a language model, else samples."""
    return row.headline_rate[0] or 0.0


def _ranked_case(
    rank: int, row: Result, baseline: Result | None, varying: tuple[str, ...], per_hour: float | None
) -> RankedCase:
    ratio = throughput_ratio(baseline, row) if baseline and baseline is not row else None
    return RankedCase(rank, row, baseline, ratio, varying, per_hour)


def _change(place: RankedCase) -> str | None:
    shown = place.ratio.shown if place.ratio else None
    return None if shown is None else signed_percent(shown - 1)


def _interval(place: RankedCase) -> str | None:
    ratio = place.ratio
    if ratio is None or ratio.low is None or ratio.high is None:
        return None
    return span(signed_percent(ratio.low - 1), signed_percent(ratio.high - 1))


def _memory_change(place: RankedCase) -> str | None:
    base = place.baseline
    change = memory_change(place.result, base) if base and base is not place.result else None
    return signed_percent(change) if change is not None else None


def _verdict(place: RankedCase) -> str | None:
    if place.ratio is None:
        return "the baseline" if place.baseline is place.result else None
    return verdict_cell(place.ratio)


_OWN: dict[str, tuple[Column[RankedCase], ...]] = {
    "headline": token_rates(lambda place: place.result),
    "rank": (Column("Rank", lambda place: str(place.rank)),),
    "label": (Column("Case", lambda place: case_label(place.result.config, place.varying), right=False),),
    "against the baseline": (
        Column("Against the baseline (%)", _change),
        Column("95% interval (%)", _interval),
        Column("Verdict", _verdict, right=False),
    ),
    "memory against the baseline": (Column("Memory against the baseline (%)", _memory_change),),
    "cost": (
        Column(
            "Cost of a million samples",
            lambda place: number(cost_of_a_million(place.result, place.per_hour)),
        ),
    ),
}
