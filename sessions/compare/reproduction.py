"""Reproduction: whether a session measured again has the same result, and what differs.

Each case is measured again until its speed relative to the recorded one is known within the margin, or beyond
it. The recorded value has noise of its own, which no further round reduces: the margin makes up for it.
"""

from collections.abc import Iterable, Iterator
from math import ceil, exp, inf, log, log1p, sqrt
from statistics import fmean
from typing import Literal

import msgspec
from msgspec.structs import replace

from benchtui.sessions.advice.deciding_sweep import sweep_over
from benchtui.sessions.advice.open_questions import Remedy
from benchtui.sessions.compare.align import AlignedCase, SessionComparison
from benchtui.sessions.compare.overall import Overall, overall_of_records
from benchtui.sessions.payloads import Effective
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.quantiles import student_t_quantile
from benchtui.sessions.stats.ratios import recorded_ratio, slowdown
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.sampling import LEAST_ROUNDS, VERDICT_CONFIDENCE
from benchtui.sessions.stats.verdicts import Ratio
from benchtui.sessions.sweep import Sweep
from benchtui.sessions.text.formatting import count
from benchtui.sessions.text.wording import ratio_with_interval, why_unsure

LEAST_MARGIN = 0.10
"""Smallest margin of equivalence, unless the user sets one: the pace of a machine often differs by several
percent between two sessions."""
MOST_MARGIN = 0.5
"""Largest margin, unless the user sets one: what is 1.5 times as fast isn't the same result, however noisy."""
_LIMITS = f"at least {100 * LEAST_MARGIN:.0f} %, at most {100 * MOST_MARGIN:.0f} %"
SAME_CLOCK = 0.03
"""Share by which mean clocks differ between runs of the same machine."""

Answer = Literal["REPRODUCED", "NOT REPRODUCED", "UNSURE"]
_CLOCKS = {
    "graphics_clock_mhz": "GPU clock",
    "memory_clock_mhz": "GPU memory clock",
    "processor_mhz": "processor clock",
}
"""Clocks of a case's environment with their names."""
_OUTCOMES = ("weights_mb", "layers", "draft_acceptance", "others", "unread")
"""Fields of the options read back that aren't an option by themselves."""
_AMOUNTS = ("rounds", "rounds auto")
"""Settings that don't change what is measured, only how often."""


class Repeated(msgspec.Struct, frozen=True):
    """A case measured again."""

    row: AlignedCase
    ratio: Ratio
    """Its speed relative to the recorded one, with the interval of the new measurement."""
    known_within: float
    """Share within which the recorded speed is known, with a probability of 99%."""

    @property
    def answer(self) -> Answer:
        """Whether its speed was reproduced."""
        return _answer(self.ratio, self.known_within)

    @property
    def looks_different(self) -> bool:
        """Whether its speed lies beyond the margin, though its interval may not."""
        return abs(log(self.ratio.value)) > log1p(self.ratio.same_within)


class Reproduction(msgspec.Struct, frozen=True):
    """Answer to whether a session was reproduced."""

    answer: Answer
    margin: float
    """Margin of equivalence as a fraction of 1."""
    spread: float | None
    """Relative standard deviation between processes that the margin follows from; None if the user set it."""
    assumed: bool
    """Whether that spread is assumed, because too little was measured."""
    overall: Overall | None
    """All cases together; None if none has a ratio."""
    changed: tuple[Repeated, ...]
    """Cases whose speed lies beyond the margin."""
    undecided: tuple[Repeated, ...]
    """Cases that further rounds may decide."""
    lost: tuple[AlignedCase, ...]
    """Cases that were measured the first time only."""
    other_work: tuple[str, ...]
    """What was measured in other forms, such as the weights of the model: ``Weights file: a1b2 → c3d4``."""
    other_place: tuple[str, ...]
    """Differences in machine, software, settings, clocks, and options that were really applied."""

    @property
    def differing(self) -> list[str]:
        """Names of what differs."""
        return [text.partition(": ")[0] for text in (*self.other_work, *self.other_place)]


def reproduction(comparison: SessionComparison, same_within: float | None = None) -> Reproduction:
    """Judge a session and the one that measured it again, by a margin or by the recorded noise."""
    (pair,) = comparison.against
    rows = [(row, row.pair.base, row.pair.new) for row in pair.compared if row.pair]
    spread = max((_spread(base, new) for _, base, new in rows), default=0.0)
    assumed = not all(base.noise.pool.known or new.noise.pool.known for _, base, new in rows)
    margin = _margin(spread) if same_within is None else same_within
    repeated = [
        Repeated(row, ratio, _range_of(_spread(base, new) / sqrt(len(base.rounds))))
        for row, base, new in rows
        if (ratio := recorded_ratio(base, new, margin)) and ratio.value > 0
    ]
    together = overall_of_records([each.ratio for each in repeated])
    known_within = max((each.known_within for each in repeated), default=0.0)
    answer = _answer(together.ratio, known_within) if together else "UNSURE"
    changed = tuple(each for each in repeated if each.answer == "NOT REPRODUCED")
    undecided = tuple(
        each for each in repeated if each not in changed and (answer == "UNSURE" or each.looks_different)
    )
    lost = tuple(row for row in pair.rows if row.lost or (not rows and row.base and row.base.has_result))
    work, place = (tuple(_differences(comparison, work=of_work, partial=not rows)) for of_work in (True, False))
    if changed or lost or work:
        answer = "NOT REPRODUCED"
    elif undecided and answer == "REPRODUCED":
        answer = "UNSURE"
    return Reproduction(
        answer,
        margin,
        spread if same_within is None else None,
        assumed,
        together,
        changed,
        undecided,
        lost,
        work,
        (*place, *_clock_differences(pair.rows), *_applied_differences(pair.rows), *_disturbances(rows)),
    )


def _answer(ratio: Ratio, known_within: float) -> Answer:
    """Return whether an interval lies within the margin, or surely beyond it and the noise of the record."""
    if ratio.is_within_margin:
        return "REPRODUCED"
    limit, bounds = 1 + max(ratio.same_within, known_within), ratio.bounds
    beyond = bounds is not None and (bounds.sure_low > limit or bounds.sure_high < 1 / limit)
    return "NOT REPRODUCED" if beyond else "UNSURE"


def _spread(base: Result, new: Result) -> float:
    """Return the relative standard deviation between processes: as recorded, else as measured now."""
    pools = [each.noise.pool for each in (base, new) if each.noise.pool.known]
    return sqrt(pools[0].variance) if pools else base.noise.between


def _margin(spread: float) -> float:
    return min(max(LEAST_MARGIN, _range_of(spread)), MOST_MARGIN)


def _range_of(spread: float) -> float:
    """Return the share within which 99% of values with a spread lie."""
    return exp(student_t_quantile((1 + VERDICT_CONFIDENCE) / 2, float("inf")) * spread) - 1


def further_sweep(judged: Reproduction, session: Session, budget_s: float = inf) -> Sweep | None:
    """Return the sweep of the rounds that may decide what is still unsure; None if none would.

    It has as many rounds as the budget allows, by the time of those of the session, and one at least.
    """
    cases = [each for each in judged.undecided if each.row.new]
    if judged.answer != "UNSURE" or not cases or budget_s <= 0:
        return None
    ratios = [each.ratio for each in cases if each.looks_different]
    if judged.overall and not judged.overall.ratio.is_within_margin:
        ratios.append(judged.overall.ratio)
    configs = {replace(each.row.new.config, repeat=0) for each in cases if each.row.new}
    sweep = sweep_over(session, configs, "further", [Remedy(repeat_disturbed=True)])
    round_s = sum(each.row.new.newest_round_s for each in cases if each.row.new)
    round_s *= 1 + (sweep.measure.retries or 0)
    wanted = max(map(_further_rounds, ratios))
    rounds = wanted if wanted * round_s <= budget_s else max(1, int(budget_s / round_s))
    return replace(sweep, measure=replace(sweep.measure, rounds=rounds, rounds_auto=False, aa=False))


def _further_rounds(ratio: Ratio) -> int:
    """Return the rounds that bring an interval to one side of the margin, at most as many as there are."""
    distance = abs(abs(log(ratio.value)) - log1p(ratio.same_within))
    reach = log(ratio.bounds.high / ratio.value) if ratio.bounds else 0.0
    wanted = ratio.rounds * ((reach / distance) ** 2 - 1) if distance else float("inf")
    return max(LEAST_ROUNDS, ceil(min(wanted, ratio.rounds)))


def _differences(comparison: SessionComparison, *, work: bool, partial: bool) -> Iterator[str]:
    """Yield the differences in work, or the others; ``partial`` leaves out what one session didn't record."""
    for difference in comparison.differences:
        ignored = difference.what in _AMOUNTS or (partial and None in difference.values)
        if (difference.group == "work") is work and not ignored:
            before, after = (value or "none" for value in difference.values)
            yield f"{difference.what}: {before} → {after}"


def _clock_differences(rows: Iterable[AlignedCase]) -> Iterator[str]:
    ends = [(row.base.environment, row.new.environment) for row in rows if row.base and row.new]
    for field, name in _CLOCKS.items():
        pairs = [(getattr(before, field), getattr(after, field)) for before, after in ends]
        both = [pair for pair in pairs if None not in pair]
        before, after = map(_mean_clock, zip(*(both or pairs), strict=True)) if pairs else (None, None)
        if before is not None and after is not None:
            differs = abs(after - before) > SAME_CLOCK * before
        else:
            differs = before != after
        if differs:
            yield f"{name}: {_clock_text(before)} → {_clock_text(after)}"


def _mean_clock(clocks: Iterable[float | None]) -> float | None:
    read = [mhz for mhz in clocks if mhz is not None]
    return fmean(read) if read else None


def _clock_text(mhz: float | None) -> str:
    return "none" if mhz is None else f"{mhz:,.0f} MHz"


def _applied_differences(rows: Iterable[AlignedCase]) -> Iterator[str]:
    """Yield the options that were read back with other values, such as the attention kernel."""
    changes: dict[str, int] = {}
    for row in rows:
        before, after = _applied(row.base), _applied(row.new)
        for name in before.keys() & after.keys():
            if before[name] != after[name]:
                text = f"actual {name}: {before[name]} → {after[name]}"
                changes[text] = changes.get(text, 0) + 1
    yield from (f"{text} in {count(cases, 'case')}" for text, cases in sorted(changes.items()))


def _disturbances(rows: Iterable[tuple[AlignedCase, Result, Result]]) -> Iterator[str]:
    """Yield what disturbed cases in one of the sessions only, such as other processes."""
    counts: dict[str, list[int]] = {}
    for _, *sides in rows:
        for side, result in enumerate(sides):
            for why in {why.partition(":")[0] for why in slowdown(result).why}:  # without names of processes
                counts.setdefault(why, [0, 0])[side] += 1
    for why, amounts in counts.items():
        if 0 in amounts:
            before, after = (f"in {count(amount, 'case')}" if amount else "no" for amount in amounts)
            yield f"{why}: {before} → {after}"


def _applied(case: CaseState | None) -> dict[str, object]:
    if case is None or case.effective is None:
        return {}
    fields = (name for name in Effective.__struct_fields__ if name not in _OUTCOMES)
    values = {name: getattr(case.effective, name) for name in fields} | case.effective.others
    values["random_weights"] = case.prepared and case.prepared.model.random_weights
    return {name.replace("_", " "): value for name, value in values.items() if value is not None}


def lines(judged: Reproduction) -> Iterator[str]:
    """Yield the answer with its ratio and what differs, then the reasons and the differences one by one."""
    together = judged.overall
    margin = f"margin {100 * judged.margin:.0f} %"
    speed = (
        f": {count(together.cases, 'case')}, speed {ratio_with_interval(together.ratio)}, {margin}"
        if together
        else ""
    )
    differing = judged.differing
    reason = f"differs: {', '.join(differing)}" if differing else "nothing that is recorded differs"
    yield f"{judged.answer}{speed}{f'; {reason}' if judged.answer != 'REPRODUCED' else ''}"
    for each in judged.changed:
        yield f"  {each.row.case.name}: {ratio_with_interval(each.ratio)}, beyond the margin"
    yield from _lost_lines(judged.lost)
    if judged.answer == "UNSURE":
        yield from _doubts(judged)
    if judged.spread and together:
        spread = (
            f"{'assumed' if judged.assumed else 'measured'} spread between them, {100 * judged.spread:.1f} %"
        )
        yield f"  margin: the range of 99 of 100 processes by the {spread}; {_LIMITS}"
    yield from (f"  measured something else: {difference}" for difference in judged.other_work)
    yield from (f"  differs: {difference}" for difference in judged.other_place)
    if not differing and judged.answer == "REPRODUCED":
        yield "  machine, software and settings are the same"


def _lost_lines(lost: Iterable[AlignedCase]) -> Iterator[str]:
    """Yield the cases that weren't measured again, those with the same reason in one line."""
    rows_by_reason: dict[str, list[AlignedCase]] = {}
    for row in lost:
        rows_by_reason.setdefault(_why_lost(row.new), []).append(row)
    for reason, rows in rows_by_reason.items():
        such_as = f"{count(len(rows), 'case')}, such as " if rows[1:] else ""
        yield f"  {such_as}{rows[0].case.name}: not measured this time: {reason}"


def _why_lost(case: CaseState | None) -> str:
    reason = case.finished.reason if case and case.finished else None
    return ": ".join(filter(None, (case.state, reason))) if case else "not planned"


def _doubts(judged: Reproduction) -> Iterator[str]:
    """Yield why the answer is unsure: what disturbed all cases, or the cases that may lie beyond the margin."""
    if judged.overall and judged.overall.ratio.bounds is None and (doubt := why_unsure(judged.overall.ratio)):
        yield f"  {doubt}"
    known_within = max((each.known_within for each in judged.undecided), default=0.0)
    if known_within > judged.margin:
        yield f"  the recorded speed is only known within {100 * known_within:.0f} %"
    for each in judged.undecided:
        if each.looks_different and each.ratio.bounds:
            yield f"  {each.row.case.name}: {ratio_with_interval(each.ratio)}, not surely beyond the margin"
