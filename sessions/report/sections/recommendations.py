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

    A group of another tool with a single case is left out, because it offers no choice.
    """
    named = session.start.sweep.measure.baseline
    works, bases = by_work(results), baselines(results, named)
    found = []
    for need in NEEDS:
        for work, rows in works.items():
            if (work.group and len(rows) == 1) or not is_need_of(need, rows):
                continue
            choice = decide(session, Objective(need, work=work), rows)
            base = bases.get(work)
            if choice.best:
                where = f", {work}" if len(works) > 1 else ""
                why = "" if base else explain_missing_baseline(choice.best.config, session.cases, named)
                found.append(Recommendation(need, choice, choice.best, where, base, why, varying, per_hour))
    return found


def details(choices: Sequence[Recommendation]) -> list[Remark]:
    """Describe each choice: its gain over the baseline, its certainty, and its costs."""
    return [Remark(f"{OPTIMA[each.need]}{each.where}", _detail(each)) for each in choices]


def _detail(each: Recommendation) -> str:
    versus = against_baseline(each.best, each.baseline, each.need, each.varying)
    head = f"{case_label(each.best.config, each.varying)}: {figure(each.best, each.need)}" + (
        f", {versus}" if versus else ""
    )
    without = None if each.baseline else capitalized(f"no ratio to a baseline: {each.no_baseline}")
    rest = (against_others(each.choice, each.varying), _cost_note(each), without, unverified_note(each.best))
    return sentences(head, *rest)


def _cost_note(each: Recommendation) -> str | None:
    """Describe the costs of the case relative to its baseline."""
    found = costs(each.best, each.baseline)
    return f"It costs {found}" if found else None


def memory_limits(found: Sequence[Frontier], varying: Sequence[str]) -> list[Remark]:
    """Return the batch size to stay at for each series in which another one ran out of memory."""
    return [_memory_limit(each, varying) for each in found]


def _memory_limit(each: Frontier, varying: Sequence[str]) -> Remark:
    largest, too_large = each.largest.config.batch_size, each.too_large.config.batch_size
    stay = f"stay at batch size {largest:,} or below; {too_large:,} ran out of memory"
    if too_large < largest:
        stay = f"batch size {too_large:,} ran out of memory, although {largest:,} didn't"
    return Remark(f"Memory, {series_title(each.series.config, varying)}", f"{stay}.")


def growths(results: Sequence[Result], choices: Sequence[Recommendation]) -> list[str]:
    """Describe where larger batches stop paying off, in the series of the fastest case of each length."""
    fastest = [each for each in choices if each.need == "throughput"]
    found = [(scaling(_series_of(each.best, results)), each.varying) for each in fastest]
    return [_growth(growth, varying) for growth, varying in found if growth]


def _series_of(result: Result, results: Sequence[Result]) -> Series:
    key = series_key(result.config)
    (found,) = series(each for each in results if series_key(each.config) == key)
    return found


def _growth(found: Scaling, varying: Sequence[str]) -> str:
    """Describe which batch size has the highest throughput, and compare it with the largest batch."""
    first, last, peak = found.steps[0].result, found.steps[-1].result, found.peak.result
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
        return f"{rise}; it is the largest size measured{_still_rising(found)}."
    return f"{rise}; batch size {_size(last)} gives {_throughput_against(peak, last, 'that of the peak')}."


def _throughput_against(base: Result, new: Result, other: str) -> str:
    """Compare two throughputs at typical steps. If all steps together contradict that, give both ratios."""
    ratio, rates = throughput_ratio(base, new), [each.metrics.samples_per_s or 0.0 for each in (base, new)]
    if ratio is None or (ratio.value - 1) * (rates[1] - rates[0]) >= 0:
        return against(ratio, other)
    by_all = ratio_text(rates[1] / rates[0], ratio.value)
    return f"{by_all} × {other} by all steps together, {ratio_text(ratio.value)} × by typical steps"


def _still_rising(found: Scaling) -> str:
    """Return a note that throughput was still rising, if the last batch size is FASTER; otherwise empty."""
    gain = found.steps[-1].gain
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
    notable = sorted((each for each in shares if each[1] >= NOTABLE_TOKENIZING), key=lambda each: -each[1])
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
