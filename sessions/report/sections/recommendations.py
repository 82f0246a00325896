"""Best case for each need, and sentences about it that are computed from metrics and omitted without them."""

from collections.abc import Collection, Sequence

import msgspec

from benchtui.sessions.advice.objectives import NEEDS, Need, Objective, is_need_of
from benchtui.sessions.advice.optimal import Decision, decide
from benchtui.sessions.analysis.scaling import Scaling, scaling
from benchtui.sessions.report.sections.memory_energy import Frontier
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baselines, explain_missing_baseline
from benchtui.sessions.stats.ratios import throughput_ratio
from benchtui.sessions.stats.results import Result, Series, by_work, series, series_key
from benchtui.sessions.stats.verdicts import Verdict
from benchtui.sessions.sweep import Work
from benchtui.sessions.text.formatting import capitalized, percent, ratio_text
from benchtui.sessions.text.labels import (
    case_label,
    case_name,
    choices_label,
    machine_label,
    series_title,
)
from benchtui.sessions.text.wording import (
    Remark,
    against,
    against_baseline,
    against_others,
    costs,
    figure,
    sentences,
    unverified_note,
)

NOTABLE_TOKENIZING = 0.1
"""Minimum share of a step for tokenizing to be mentioned, and for a part of a user-defined step."""
MOST_PARTS = 3
"""Maximum number of parts to mention."""

OPTIMA: dict[Need, str] = {
    "throughput": "Maximum throughput",
    "latency": "Minimum latency",
    "memory": "Most throughput per MB of memory",
    "energy": "Least energy per sample",
    "steadiness": "Steadiest steps",
    "balanced": "Balanced",
}
BALANCED = "lowest time per sample x step time (x peak memory, x energy, where all cases have them)"


class Recommendation(msgspec.Struct, frozen=True):
    """Best case for a need and work, with the baseline to compare it with."""

    need: Need
    choice: Decision
    best: Result
    where: str
    """``, 128 tokens`` if there is more than one work, else empty."""
    baseline: Result | None
    no_baseline: str
    """Why there is no baseline; empty if there is one."""
    varying: tuple[str, ...]
    """Options that vary in the session, to be named in case labels."""
    per_hour: float | None
    """Price of the machine per hour."""


def recommendations_by_need(
    session: Session,
    results: Sequence[Result],
    varying: tuple[str, ...],
    per_hour: float | None = None,
) -> list[Recommendation]:
    """Return the best case for each need and work.

    A group of another tool with a single case is left out, because it offers no choice. So is the steadiest
    case, unless it is surely the steadiest of those that are as fast as the fastest.
    """
    named = session.start.sweep.measure.baseline
    works, bases = by_work(results), baselines(results, named)
    recommendations = []
    for need in NEEDS:
        for work, rows in works.items():
            if (work.group and len(rows) == 1) or not is_need_of(need, rows):
                continue
            if need == "steadiness" and not (rows := _ties(session, work, rows)):
                continue
            choice = decide(session, Objective(need, work=work), rows)
            if need == "steadiness" and not choice.clear:
                continue
            base = bases.get(work)
            if choice.best:
                where = f", {work}" if len(works) > 1 else ""
                why = "" if base else explain_missing_baseline(choice.best.config, session.cases, named)
                recommendations.append(
                    Recommendation(need, choice, choice.best, where, base, why, varying, per_hour)
                )
    return recommendations


def _ties(session: Session, work: Work, rows: Sequence[Result]) -> tuple[Result, ...]:
    """Return the cases that can't be distinguished from the one with the highest throughput, and it."""
    fastest = decide(session, Objective("throughput", work=work), rows)
    return (fastest.best, *fastest.ties) if fastest.best and fastest.ties else ()


def details(choices: Sequence[Recommendation]) -> list[Remark]:
    """Describe each choice: its gain over the baseline, its certainty, and its costs."""
    return [Remark(f"{OPTIMA[choice.need]}{choice.where}", _detail(choice)) for choice in choices]


def _detail(choice: Recommendation) -> str:
    versus = against_baseline(choice.best, choice.baseline, choice.need, choice.varying)
    head = f"{case_label(choice.best.config, choice.varying)}: {figure(choice.best, choice.need)}" + (
        f", {versus}" if versus else ""
    )
    without = None if choice.baseline else capitalized(f"no ratio to a baseline: {choice.no_baseline}")
    rest = (
        against_others(choice.choice, choice.varying),
        _cost_note(choice),
        without,
        unverified_note(choice.best),
    )
    return sentences(head, *rest)


def _cost_note(choice: Recommendation) -> str | None:
    """Describe the costs of the case relative to its baseline."""
    cost_text = costs(choice.best, choice.baseline)
    return f"It costs {cost_text}" if cost_text else None


def memory_limits(frontiers: Sequence[Frontier], varying: Sequence[str]) -> list[Remark]:
    """Return the batch size to stay at for each series in which another one ran out of memory."""
    return [_memory_limit(frontier, varying) for frontier in frontiers]


def _memory_limit(frontier: Frontier, varying: Sequence[str]) -> Remark:
    largest, too_large = frontier.largest.config.batch_size, frontier.too_large.config.batch_size
    stay = f"stay at batch size {largest:,} or below; {too_large:,} ran out of memory"
    if too_large < largest:
        stay = f"batch size {too_large:,} ran out of memory, although {largest:,} didn't"
    return Remark(f"Memory, {series_title(frontier.series.config, varying)}", f"{stay}.")


def growths(results: Sequence[Result], choices: Sequence[Recommendation]) -> list[str]:
    """Describe where larger batches stop paying off, in the series of the fastest case of each length."""
    fastest = [choice for choice in choices if choice.need == "throughput"]
    scalings = [(scaling(_series_of(choice.best, results)), choice.varying) for choice in fastest]
    return [_growth(growth, varying) for growth, varying in scalings if growth]


def _series_of(result: Result, results: Sequence[Result]) -> Series:
    key = series_key(result.config)
    (own_series,) = series(candidate for candidate in results if series_key(candidate.config) == key)
    return own_series


def _growth(scaled: Scaling, varying: Sequence[str]) -> str:
    """Describe which batch size has the highest throughput, and compare it with the largest batch."""
    first, last, peak = scaled.steps[0].result, scaled.steps[-1].result, scaled.peak.result
    config = peak.config
    what = choices_label(config, varying)
    options = f" with {what}" if what else ""
    at = f" at {config.sequence_length:,} tokens" if config.sequence_length else ""
    subject = f"On {machine_label(config)}{options}{at}"
    if peak is first:
        return f"{subject}, no batch size above {config.batch_size:,} brings more throughput."
    gain = _throughput_against(first, peak, f"that of {_size(first)}")
    rise = f"{subject}, throughput is highest at batch size {config.batch_size:,}: {gain}"
    if peak is last:
        return f"{rise}; it is the largest size measured{_still_rising(scaled)}."
    return f"{rise}; batch size {_size(last)} gives {_throughput_against(peak, last, 'that of the peak')}."


def _throughput_against(base: Result, new: Result, other: str) -> str:
    """Compare two throughputs at typical steps. If all steps together contradict that, give both ratios."""
    ratio, rates = throughput_ratio(base, new), [result.metrics.samples_per_s or 0.0 for result in (base, new)]
    if ratio is None or (ratio.value - 1) * (rates[1] - rates[0]) >= 0:
        return against(ratio, other)
    by_all = ratio_text(rates[1] / rates[0], ratio.value)
    return f"{by_all} × {other} by all steps together, {ratio_text(ratio.value)} × by typical steps"


def _still_rising(scaled: Scaling) -> str:
    """Return a note that throughput was still rising, if the last batch size is FASTER; otherwise empty."""
    gain = scaled.steps[-1].gain
    rising = gain is not None and gain.verdict is Verdict.FASTER
    return ", and throughput was still rising" if rising else ""


def _size(result: Result) -> str:
    return f"{result.config.batch_size:,}"


def tokenizing(results: Sequence[Result], varying: Collection[str]) -> list[str]:
    """Mention tokenizing if it takes a notable share of a step."""
    share, most = _largest_share("tokenize", results)
    if most is None or share < NOTABLE_TOKENIZING:
        return []
    where = case_name(most.config, varying)
    return [f"Tokenizing, which is in the total, takes up to {percent(share)} % of a step ({where})."]


def own_parts(results: Sequence[Result], varying: Collection[str]) -> list[str]:
    """Mention the largest parts of a user-defined step, each with the case in which it takes most."""
    names = dict.fromkeys(name for result in results for name in result.metrics.parts_ms)
    shares = [(name, *_largest_share(name, results)) for name in names]
    notable = sorted((part for part in shares if part[1] >= NOTABLE_TOKENIZING), key=lambda part: -part[1])
    return [
        f"Part {name} takes up to {percent(share)} % of a step ({case_name(most.config, varying)})."
        for name, share, most in notable[:MOST_PARTS]
        if most and len(names) > 1
    ]


def _largest_share(part: str, results: Sequence[Result]) -> tuple[float, Result | None]:
    """Return the largest share of a step that a part takes in any case, and that case."""
    shares = [
        (result.metrics.parts_ms[part].mean / result.metrics.latency_ms.mean, result)
        for result in results
        if part in result.metrics.parts_ms and result.metrics.latency_ms.mean > 0
    ]
    return max(shares, key=lambda pair: pair[0], default=(0.0, None))
