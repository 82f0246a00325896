"""Interpretation of a comparison: a row each for latency, throughput, memory, power and answers."""

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean, geometric_mean

import msgspec
from msgspec.structs import replace

from benchtui.sessions.compare.align import LETTERS, AlignedCase, PairwiseComparison, SessionComparison
from benchtui.sessions.metrics.catalogue import quantity
from benchtui.sessions.metrics.quantity import CaseData
from benchtui.sessions.metrics.views import COMPARED_BY
from benchtui.sessions.report.comparison.naming import place
from benchtui.sessions.stats.ratios import Comparison
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.verdicts import Ratio
from benchtui.sessions.text.formatting import listed, memory, number, ratio_text, span, time_ms
from benchtui.sessions.text.tables import Column, Table, table, text_column
from benchtui.sessions.text.wording import Phrase, memory_change

OTHER_WEIGHTS = "not compared: random weights of another version of benchtui"

Pairs = Sequence[tuple[AlignedCase, Comparison]]


class QuantityRow(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity over all cases of a pair of sessions."""

    session: str
    quantity: str
    base: str | None
    """Range of the values in the base."""
    new: str | None
    ratio: str | None = None
    """Geometric mean of the ratios; of memory, their range."""
    spread: str | None = None
    """Smallest and largest ratio."""
    most: str | None = None
    """Case with the largest ratio."""


def interpretation(compared: SessionComparison) -> Table | None:
    """Return a row for each quantity of each pair of sessions."""
    several = len(compared.against) > 1
    rows = [
        row
        for against in compared.against
        for row in _rows(against, [(row, row.pair) for row in against.compared if row.pair])
        if row.base or row.new
    ]
    quantity, base, new, *ratios = _COLUMNS[1:]
    return table(_COLUMNS if several else (quantity, base, replace(new, title=LETTERS[1]), *ratios), rows)


def _rows(against: PairwiseComparison, pairs: Pairs) -> Iterator[QuantityRow]:
    if not pairs:
        return
    yield _rated(against, "Latency (typical step)", pairs, _step, lambda pair: pair.latency)
    yield _rated(against, "Throughput", pairs, _rate, lambda pair: pair.throughput)
    yield _memory(against, pairs)
    yield _power(against, pairs)
    yield QuantityRow(session=against.new_letter, quantity="Answers", base=None, new=_answers(pairs))


def _answers(pairs: Pairs) -> str | None:
    """Count the cases whose output has changed; None if no case has two comparable outputs."""
    equal = [row.same_answer for row, _ in pairs if row.same_answer is not None]
    if not equal:
        return OTHER_WEIGHTS if any(row.other_weights for row, _ in pairs) else None
    return f"changed in {equal.count(False):,} of {len(equal):,}" if equal.count(False) else "the same"


def _rated(
    against: PairwiseComparison,
    quantity: str,
    pairs: Pairs,
    shown: Callable[[Sequence[Result]], str | None],
    ratio_of: Callable[[Comparison], Ratio | None],
) -> QuantityRow:
    rated = [(ratio.shown, row) for row, pair in pairs if (ratio := ratio_of(pair)) and ratio.shown]
    base, new = _sides(pairs)
    row = QuantityRow(session=against.new_letter, quantity=quantity, base=shown(base), new=shown(new))
    if not rated:
        return row
    values = [value for value, _ in rated]
    ends = ratio_text(min(values)), ratio_text(max(values))
    _, largest = max(rated, key=lambda value: value[0])
    return replace(
        row,
        ratio=ratio_text(geometric_mean(values)),
        spread=None if ends[0] == ends[1] else span(*ends),
        most=place(against, largest) if ends[0] != ends[1] or len(rated) == 1 else None,
    )


def _sides(pairs: Pairs) -> tuple[list[Result], list[Result]]:
    return [pair.base for _, pair in pairs], [pair.new for _, pair in pairs]


def _with_both(pairs: Pairs, value: Callable[[Result], float | None]) -> Pairs:
    """Return the pairs of which both cases have a value."""
    return [(row, pair) for row, pair in pairs if value(pair.base) and value(pair.new)]


def _range(values: Sequence[float], shown: Callable[[float], str | None]) -> str | None:
    return span(shown(min(values)), shown(max(values))) if values else None


def _step(results: Sequence[Result]) -> str | None:
    text = _range([result.typical_ms for result in results], time_ms)
    return text and f"{text} ms"


def _rate(results: Sequence[Result]) -> str | None:
    rates = [result.headline_rate for result in results]
    units = {unit for rate, unit in rates if rate}
    text = _range([rate for rate, _ in rates if rate], number)
    return text and f"{text} {listed(sorted(units))}"


def _memory(against: PairwiseComparison, pairs: Pairs) -> QuantityRow:
    both = _with_both(pairs, lambda result: result.case.peak_memory_mb)
    sides = _sides(both or pairs)
    kinds = [{result.config.device == "cpu" for result in side} for side in sides]
    comparable = len(kinds[0] | kinds[1]) == 1
    ratios = [1 + change for _, pair in both if (change := memory_change(pair.new, pair.base)) is not None]
    shown = list(map(_peaks, sides))
    if both and not comparable:
        words = [listed([_KINDS[is_cpu] for is_cpu in sorted(kind)]) for kind in kinds]
        shown = [f"{peaks} {word}" for peaks, word in zip(shown, words, strict=True)]
    return QuantityRow(
        session=against.new_letter,
        quantity="Peak memory",
        base=shown[0],
        new=shown[1],
        ratio=_range(ratios, ratio_text) if comparable else Phrase.NOT_COMPARABLE if both else None,
    )


_KINDS = {True: "of the worker", False: "on the GPU"}


def _peaks(results: Sequence[Result]) -> str | None:
    peaks = [peak for result in results if (peak := result.case.peak_memory_mb)]
    return _range(peaks, lambda peak: memory(peak, max(peaks)))


def _power(against: PairwiseComparison, pairs: Pairs) -> QuantityRow:
    both = _with_both(pairs, lambda result: result.metrics.mean_power_w)
    base, new = _sides(both or pairs)
    unlike = any((pair.base.config.device == "cpu") != (pair.new.config.device == "cpu") for _, pair in both)
    return QuantityRow(
        session=against.new_letter,
        quantity="Mean power",
        base=_watts(base),
        new=_watts(new),
        ratio=Phrase.NOT_COMPARABLE if unlike else None,
    )


def _watts(results: Sequence[Result]) -> str | None:
    watts = [power for result in results if (power := result.metrics.mean_power_w)]
    row = quantity(COMPARED_BY["energy"])
    energy = [joules for result in results if (joules := row.figure(CaseData.of(result)))]
    per_sample = f" ({_range(energy, number)} {row.unit})" if energy else ""
    return f"{number(fmean(watts))} W{per_sample}" if watts else None


_COLUMNS: tuple[Column[QuantityRow], ...] = (
    text_column("Session", lambda row: row.session),
    text_column("Quantity", lambda row: row.quantity),
    Column("A", lambda row: row.base),
    Column("New", lambda row: row.new),
    Column("Against A (×)", lambda row: row.ratio),
    Column("Least to most (×)", lambda row: row.spread),
    text_column("Most at", lambda row: row.most),
)
