"""Every measured case by its throughput, against the baseline, and what a million samples cost."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchtui.sessions.compare import Ratio, Verdict, baseline_of, throughput_ratio
from benchtui.sessions.report.gains import Block
from benchtui.sessions.report.labels import case_label
from benchtui.sessions.report.tables import Column, table
from benchtui.sessions.report.text import number, signed_percent, span, time_ms
from benchtui.sessions.report.wording import cost_of_a_million
from benchtui.sessions.results import Result, by_length
from benchtui.sessions.session import Session


@dataclass(frozen=True, slots=True)
class Place:
    """A case in its place."""

    rank: int
    result: Result
    baseline: Result | None
    ratio: Ratio | None
    """Throughput over the baseline's; None for the baseline itself."""
    kinds: tuple[str, ...]
    per_hour: float | None


def leaderboard(
    session: Session, results: Sequence[Result], kinds: tuple[str, ...], per_hour: float | None
) -> list[Block]:
    """A block for each sequence length of which at least two cases have a rate."""
    found = []
    for length, rows in sorted(by_length(results).items()):
        rated = [row for row in rows if row.metrics.samples_per_s]
        ranked = sorted(rated, key=lambda row: row.metrics.samples_per_s or 0.0, reverse=True)
        named = session.start.sweep.measure.baseline
        places = [
            _place(rank, row, baseline_of(row, rows, named), kinds, per_hour)
            for rank, row in enumerate(ranked, 1)
        ]
        shown = table(_COLUMNS, places) if len(places) > 1 else None
        if shown:
            found.append(Block(f"Ranked, {length:,} tokens", _against(places), shown))
    return found


def _place(
    rank: int, row: Result, baseline: Result | None, kinds: tuple[str, ...], per_hour: float | None
) -> Place:
    ratio = throughput_ratio(baseline, row) if baseline and baseline is not row else None
    return Place(rank, row, baseline, ratio, kinds, per_hour)


def _against(places: Sequence[Place]) -> str:
    """What the cases are held against."""
    bases = {place.baseline.case.index: place.baseline for place in places if place.baseline}
    if not bases:
        return "The baseline wasn't measured."
    if len(bases) > 1:
        return (
            f"Held against {len(bases):,} baselines: for each case the one that agrees with it in most options."
        )
    (base,) = bases.values()
    rate = number(base.metrics.samples_per_s)
    return f"Held against {case_label(base.config, places[0].kinds)}, {rate} samples/s."


def _change(place: Place) -> str | None:
    return signed_percent(place.ratio.value - 1) if place.ratio else None


def _interval(place: Place) -> str | None:
    ratio = place.ratio
    if ratio is None or ratio.low is None or ratio.high is None:
        return None
    return span(signed_percent(ratio.low - 1), signed_percent(ratio.high - 1))


def _verdict(place: Place) -> str | None:
    if place.ratio is None:
        return "the baseline" if place.baseline is place.result else None
    return None if place.ratio.verdict is Verdict.UNSURE else str(place.ratio.verdict)


_COLUMNS: tuple[Column[Place], ...] = (
    Column("Rank", lambda place: str(place.rank)),
    Column("Case", lambda place: case_label(place.result.config, place.kinds), right=False),
    Column("Throughput (samples/s)", lambda place: number(place.result.metrics.samples_per_s)),
    Column("Real tokens/s", lambda place: number(place.result.metrics.tokens_per_s, 0)),
    Column("With padding (tokens/s)", lambda place: number(place.result.metrics.padded_tokens_per_s, 0)),
    Column("Against the baseline (%)", _change),
    Column("Interval (%)", _interval),
    Column("Verdict", _verdict, right=False),
    Column("Step (ms)", lambda place: time_ms(place.result.typical_ms)),
    Column("Peak memory (MB)", lambda place: number(place.result.case.peak_memory_mb)),
    Column("Tokens/s per MB", lambda place: number(place.result.tokens_per_mb)),
    Column(
        "Cost of a million samples", lambda place: number(cost_of_a_million(place.result, place.per_hour), 4)
    ),
)
