"""Reproduction: whether a session measured again has the same result, and what differs."""

from collections.abc import Iterable, Iterator
from statistics import fmean
from typing import Literal

import msgspec

from benchtui.sessions.compare.align import AlignedCase, PairwiseComparison, SessionComparison
from benchtui.sessions.compare.overall import Overall
from benchtui.sessions.payloads import Effective
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.verdicts import Ratio, Verdict
from benchtui.sessions.text.formatting import count
from benchtui.sessions.text.wording import ratio_cell, ratio_with_interval, why_unsure

REPRODUCED_WITHIN = 0.25
"""Margin of equivalence, unless the user sets one: the pace of a virtual machine often differs by several
percent between two sessions, which is a sure difference of its cases."""
SAME_CLOCK = 0.03
"""Share by which mean clocks differ between runs of the same machine."""

Answer = Literal["REPRODUCED", "NOT REPRODUCED", "UNSURE"]
_CHANGED = (Verdict.FASTER, Verdict.SLOWER)
_CLOCKS = {
    "graphics_clock_mhz": "GPU clock",
    "memory_clock_mhz": "GPU memory clock",
    "processor_mhz": "processor clock",
}
"""Clocks of a case's environment with their names."""
_OUTCOMES = ("weights_mb", "layers", "draft_acceptance", "others", "unread")
"""Fields of the options read back that aren't an option by themselves."""


class Reproduction(msgspec.Struct, frozen=True):
    """Answer to whether a session was reproduced, by the verdicts of the comparison."""

    answer: Answer
    overall: Overall | None
    """All cases together; None if none has a ratio."""
    changed: tuple[AlignedCase, ...]
    """Cases that are faster or slower, and not within the margin."""
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


def reproduction(comparison: SessionComparison) -> Reproduction:
    """Judge a session and the one that measured it again."""
    (pair,) = comparison.against
    changed = tuple(row for row in pair.rows if row.ratio and _differs(row.ratio))
    lost = tuple(
        row for row in pair.rows if row.lost or (pair.overall is None and row.base and row.base.has_result)
    )
    other_work = tuple(_differences(comparison, work=True))
    place = _differences(comparison, work=False)
    return Reproduction(
        _answer(pair, unlike=bool(changed or lost or other_work)),
        pair.overall,
        changed,
        lost,
        other_work,
        (*place, *_clock_differences(pair.rows), *_applied_differences(pair.rows)),
    )


def _answer(pair: PairwiseComparison, *, unlike: bool) -> Answer:
    ratio = pair.overall.ratio if pair.overall else None
    if unlike or (ratio and _differs(ratio)):
        return "NOT REPRODUCED"
    return "REPRODUCED" if ratio and ratio.is_within_margin else "UNSURE"


def _differs(ratio: Ratio) -> bool:
    return ratio.verdict in _CHANGED and not ratio.is_within_margin


def _differences(comparison: SessionComparison, *, work: bool) -> Iterator[str]:
    for difference in comparison.differences:
        if (difference.group == "work") is work:
            before, after = (value or "none" for value in difference.values)
            yield f"{difference.what}: {before} → {after}"


def _clock_differences(rows: Iterable[AlignedCase]) -> Iterator[str]:
    ends = [(row.base.environment, row.new.environment) for row in rows if row.base and row.new]
    for field, name in _CLOCKS.items():
        pairs = [(getattr(before, field), getattr(after, field)) for before, after in ends]
        clocks = [pair for pair in pairs if None not in pair]
        if clocks:
            before, after = map(fmean, zip(*clocks, strict=True))
            if abs(after - before) > SAME_CLOCK * before:
                yield f"{name}: {before:,.0f} → {after:,.0f} MHz"


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
    speed = (
        f": {count(together.cases, 'case')}, speed {ratio_with_interval(together.ratio)}" if together else ""
    )
    differing = judged.differing
    reason = f"differs: {', '.join(differing)}" if differing else "nothing that is recorded differs"
    yield f"{judged.answer}{speed}{f'; {reason}' if judged.answer != 'REPRODUCED' else ''}"
    for row in judged.changed:
        if row.ratio:
            yield f"  {row.case.name}: {ratio_cell(row.ratio)}"
    for row in judged.lost:
        yield f"  {row.case.name}: not measured this time: {row.new.state if row.new else 'not planned'}"
    if judged.answer == "UNSURE" and together and (doubt := why_unsure(together.ratio)):
        yield f"  {doubt}"
    yield from (f"  measured something else: {difference}" for difference in judged.other_work)
    yield from (f"  differs: {difference}" for difference in judged.other_place)
    if not differing and judged.answer == "REPRODUCED":
        yield "  machine, software and settings are the same"
