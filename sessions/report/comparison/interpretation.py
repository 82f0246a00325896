"""Interpretation of a comparison: latency, throughput, memory and power in a sentence or two each."""

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, geometric_mean

from benchtui.sessions.advice.objectives import Need
from benchtui.sessions.compare.align import AlignedCase, PairwiseComparison, SessionComparison
from benchtui.sessions.report.comparison.decision import Choice
from benchtui.sessions.report.comparison.naming import all_of, place
from benchtui.sessions.stats.ratios import Comparison
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.verdicts import Doubt, Ratio, Verdict
from benchtui.sessions.text.formatting import (
    count,
    listed,
    memory,
    number,
    ratio_span,
    ratio_text,
    span,
    time_ms,
)
from benchtui.sessions.text.labels import case_label
from benchtui.sessions.text.wording import Remark, headline_rate, sentences

Pairs = Sequence[tuple[AlignedCase, Comparison]]

OTHER_WEIGHTS = (
    "Not compared: they belong to other random weights, because the versions of benchtui generate others"
)


def interpretation(compared: SessionComparison, choices: Sequence[Choice]) -> list[Remark]:
    """Return a finding for each quantity of each pair of sessions, and a recommendation."""
    several = len(compared.against) > 1
    remarks = [
        Remark(f"{lead}, {against.new_letter} against A" if several else lead, text)
        for against in compared.against
        for lead, text in _pair(against)
        if text
    ]
    advice = sentences(_runs(choices, "throughput"), _runs(choices, "latency"), _next(compared))
    return [*remarks, *([Remark("Recommendation", advice)] if advice else [])]


def _pair(against: PairwiseComparison) -> list[tuple[str, str]]:
    pairs = [(row, row.pair) for row in against.compared if row.pair]
    if not pairs:
        return []
    return [
        ("Latency", sentences(_latency(against, pairs))),
        ("Throughput", sentences(_throughput(against, pairs))),
        ("Memory", sentences(_memory(against, pairs))),
        ("Power", sentences(_power(against, pairs))),
        ("Answers", sentences(_answers(against))),
    ]


def _latency(against: PairwiseComparison, pairs: Pairs) -> str | None:
    def figures(pair: Comparison) -> str:
        old, new = (time_ms(result.typical_ms) for result in (pair.base, pair.new))
        return f"{old} ms in A, {new} ms in {against.new_letter}"

    what = f"{against.new_letter}'s typical step is {{}} as fast as A's"
    return _average(against, what, [(row, pair, pair.latency) for row, pair in pairs], figures)


def _throughput(against: PairwiseComparison, pairs: Pairs) -> str | None:
    def figures(pair: Comparison) -> str:
        (old, unit), (new, new_unit) = (headline_rate(result) for result in (pair.base, pair.new))
        return f"{number(old)} {unit} in A, {number(new)} {new_unit} in {against.new_letter}"

    what = f"{against.new_letter}'s throughput is {{}} that of A"
    return _average(against, what, [(row, pair, pair.throughput) for row, pair in pairs], figures)


def _answers(against: PairwiseComparison) -> str | None:
    """Count the cases whose output for the probe has changed; None if no case has two comparable outputs."""
    equal = [row.same_answer for row in against.compared if row.same_answer is not None]
    if not equal:
        return OTHER_WEIGHTS if any(row.other_weights for row in against.compared) else None
    if not (changed := equal.count(False)):
        return f"The same in both, bit for bit, in {count(len(equal), 'case')}"
    return (
        f"Changed in {changed:,} of {count(len(equal), 'case')}; each session's report says how close they are"
    )


def _average(
    against: PairwiseComparison,
    what: str,
    pairs: Iterable[tuple[AlignedCase, Comparison, Ratio | None]],
    figures: Callable[[Comparison], str],
) -> str | None:
    """Describe the ratios of all cases: their geometric mean, the largest and the smallest."""
    rated = [(row, pair, ratio) for row, pair, ratio in pairs if ratio and ratio.value > 0]
    if not rated:
        return None
    row, pair, most = max(rated, key=lambda rated_pair: rated_pair[2].value)
    if len(rated) == 1:
        value, interval = ratio_text(most.value), ratio_span(most.low, most.high, most.value) or "no interval"
        return f"{what.format(f'{value} ×')} ({interval}), at {place(against, row)}: {figures(pair)}"
    least_row, _, least = min(rated, key=lambda rated_pair: rated_pair[2].value)
    mean = ratio_text(geometric_mean(ratio.value for _, _, ratio in rated))
    if ratio_text(least.value) == ratio_text(most.value):
        row, pair, _ = max(rated, key=lambda rated_pair: rated_pair[0].case.config.batch_size)
        example = f"such as {figures(pair)} at {place(against, row)}"
        return f"{what.format(f'{mean} ×')} in {all_of(len(rated))}, {example}"
    return (
        f"On average over {len(rated):,} cases (geometric mean), {what.format(f'{mean} ×')}: at most"
        f" {ratio_text(most.value)} × at {place(against, row)} ({figures(pair)}), at least"
        f" {ratio_text(least.value)} × at {place(against, least_row)}"
    )


def _memory(against: PairwiseComparison, pairs: Pairs) -> str | None:
    measured = [
        (row, pair) for row, pair in pairs if pair.base.case.peak_memory_mb and pair.new.case.peak_memory_mb
    ]
    if not measured:
        return _one_sided(against, pairs, _peaks, "peak memory")
    sides = ([pair.base for _, pair in measured], [pair.new for _, pair in measured])
    old, new = (_peaks(side) for side in sides)
    kinds = [{result.config.device == "cpu" for result in side} for side in sides]
    at = f" at {place(against, measured[0][0])}" if len(measured) == 1 else f" over {len(measured):,} cases"
    if kinds[0] != kinds[1] or len(kinds[0]) > 1:
        words = [_kind_of_memory(kind) for kind in kinds]
        return (
            f"Peak memory{at}: {old} in A ({words[0]}), {new} in {against.new_letter} ({words[1]});"
            " the two kinds aren't comparable"
        )
    times = _memory_ratios(pair for _, pair in measured)
    if times == ratio_text(1.0):
        return f"Peak memory{at} is the same in A and {against.new_letter}: {old}"
    return f"{against.new_letter}'s peak memory{at} is {times} × A's: {old} in A, {new} in {against.new_letter}"


def _memory_ratios(pairs: Iterable[Comparison]) -> str | None:
    peaks = [(pair.base.case.peak_memory_mb, pair.new.case.peak_memory_mb) for pair in pairs]
    ratios = [new / old for old, new in peaks if old and new]
    return span(ratio_text(min(ratios)), ratio_text(max(ratios)))


def _kind_of_memory(on_cpu: set[bool]) -> str:
    words = {True: "resident memory of the worker", False: "memory of the GPU"}
    return listed([words[is_cpu] for is_cpu in sorted(on_cpu)])


def _peaks(results: Sequence[Result]) -> str | None:
    peaks = [peak for result in results if (peak := result.case.peak_memory_mb)]
    return span(memory(min(peaks)), memory(max(peaks))) if peaks else None


def _power(against: PairwiseComparison, pairs: Pairs) -> str | None:
    measured = [
        (row, pair) for row, pair in pairs if pair.base.metrics.mean_power_w and pair.new.metrics.mean_power_w
    ]
    if not measured:
        return _one_sided(against, pairs, _watts, "power reading")
    old, new = (_watts([getattr(pair, side) for _, pair in measured]) for side in ("base", "new"))
    at = f" at {place(against, measured[0][0])}" if len(measured) == 1 else f", mean of {len(measured):,} cases"
    text = f"{old} in A, {new} in {against.new_letter}{at}"
    if any((pair.base.config.device == "cpu") != (pair.new.config.device == "cpu") for _, pair in measured):
        text += "; a CPU's reading leaves out the GPU, and a GPU's the CPU"
    return text


def _watts(results: Sequence[Result]) -> str | None:
    watts = [power for result in results if (power := result.metrics.mean_power_w)]
    energy = [joules for result in results if (joules := result.metrics.energy_per_sample_j)]
    if not watts:
        return None
    per_sample = f" ({span(number(min(energy)), number(max(energy)))} J/sample)" if energy else ""
    return f"{number(fmean(watts))} W{per_sample}"


def _one_sided(
    against: PairwiseComparison, pairs: Pairs, shown: Callable[[Sequence[Result]], str | None], what: str
) -> str | None:
    """Describe a quantity that only one of the sessions has; None if neither has it."""
    old, new = shown([pair.base for _, pair in pairs]), shown([pair.new for _, pair in pairs])
    letters = ("A", against.new_letter) if old else (against.new_letter, "A")
    value = old or new
    at = f" at {place(against, pairs[0][0])}" if len(pairs) == 1 else f" in {count(len(pairs), 'case')}"
    return f"{value} in {letters[0]}{at}; {letters[1]} has no {what}" if value else None


def _runs(choices: Sequence[Choice], need: Need) -> str | None:
    """Name the session and its case to run for a need, at each sequence length."""
    named = [_run(choice) for choice in choices if choice.need == need]
    return f"For {need}, run {listed(named)}" if named else None


def _run(choice: Choice) -> str:
    name = case_label(choice.best.result.config, choice.varying)
    if choice.ahead.verdict is Verdict.SAME:
        return f"{choice.best.letter} or {choice.next.letter} with {name}"
    sure = "" if choice.ahead.verdict is Verdict.FASTER else " (not established)"
    return f"{choice.best.letter} with {name}{sure}"


def _next(compared: SessionComparison) -> str | None:
    """Describe what would settle the unsure cases."""
    ratios = [
        row.ratio
        for against in compared.against
        for row in against.compared
        if row.ratio and row.verdict in (Verdict.UNSURE, Verdict.REPORTED)
    ]
    wanted = [ratio.next_rounds for ratio in ratios if ratio.next_rounds]
    if wanted:
        settled = count(len(wanted), "unsure case")
        return f"To settle {settled}, measure the sessions again with {max(wanted):,} rounds"
    if ratios and all(ratio.doubt is Doubt.NO_INTERVAL for ratio in ratios):
        return "To test the ratios, measure both setups with every step recorded"
    return None
