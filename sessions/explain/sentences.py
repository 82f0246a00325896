"""Sentences about explained cases and about the difference between two of them."""

from collections.abc import Iterator

from benchtui.sessions.explain.cases import FAMILIES, LEAST_EXPLAINED, SLOWED, ExplainedCase
from benchtui.sessions.explain.difference import CaseDifference
from benchtui.sessions.explain.finding import percent_text
from benchtui.sessions.text.formatting import count, listed, number

SAME_SHARE = 0.02
"""Relative difference between two steps below which it isn't worth explaining."""
MOST_NAMED, LEAST_NAMED = 3, 0.05
"""Maximum number of families to name, and the minimum share of a difference for naming one."""
_WAITED_FOR = {
    "python": "Python",
    "tokenizer": "the tokenizer",
    "input": "the DataLoader",
    "compile": "torch's compiler",
    "wait": "a sleeping thread",
}
"""Cause of a GPU's idle time in words, by family."""


def misfit_sentence(case: ExplainedCase) -> str | None:
    """Say that a breakdown doesn't describe the measured step, and why; None if it does."""
    profile = case.profile
    plain = f"{number(profile.plain_ms)} ms without the profiler"
    if case.uneven and profile.host:
        why = f"its steps took {plain} at the median, but {number(profile.host.step_ms)} ms on average"
    elif case.differs and not case.drifted:
        why = f"its steps took {plain} and {number(profile.step_ms)} ms with it: steps differ from each other"
    elif case.differs:
        waits = " (it waited for processors that other processes used)" if case.delayed else ""
        then = f"{number(case.measured_ms)} ms when it was measured"
        why = f"a step took {plain} in this run{waits}, {then}"
    elif case.lengthened:
        why = f"the profiler lengthened it from {number(profile.plain_ms)} to {number(profile.step_ms)} ms"
    else:
        return None
    return f"The breakdown doesn't describe the measured step: {why}. No share of it is the step's."


def no_finding_sentence(case: ExplainedCase) -> str | None:
    """Say what no finding means: nothing unusual, or a step that no rule explains. None if there is no say."""
    if case.differs or case.lengthened:
        return None
    if case.explained_share >= LEAST_EXPLAINED:
        return "no rule found anything unusual"
    families = sorted(case.profile.families, key=lambda family: -family.ms)[:2]
    named = [f"{FAMILIES[family.family]} ({percent_text(case.share(family.family))})" for family in families]
    return f"no rule explains this step; most of it is {listed(named)}"


def step_sentence(case: ExplainedCase) -> str:
    """Describe the time of a step: as measured, without the profiler, and with it."""
    profile = case.profile
    measured = f"{number(case.measured_ms)} ms measured, " if case.measured_ms is not None else ""
    return (
        f"{measured}{number(profile.plain_ms)} ms in this run without the profiler,"
        f" {number(profile.step_ms)} ms with it (mean of {profile.steps})"
    )


def parts_sentence(case: ExplainedCase) -> str | None:
    """Describe what parts a step spends its time in, without the profiler; None for a step of one part."""
    shares = {name: share for name, share in case.part_shares.items() if share >= LEAST_NAMED}
    if not shares:
        return None
    return f"the step spends {listed([f'{percent_text(share)} in {name}' for name, share in shares.items()])}"


def device_sentence(case: ExplainedCase) -> str:
    """Describe how busy the device is, what a GPU waits for, and the launches per step."""
    profile = case.profile
    if profile.busy_ms is None:
        threads = f" on {count(profile.threads, 'thread')}" if profile.threads else ""
        of = f" of {profile.processors}" if profile.processors else ""
        busy = f", {number(profile.busy_cpus)}{of} CPUs busy" if profile.busy_cpus is not None else ""
        return f"{count(round(profile.launches), 'operator')} per step{threads}{busy}"
    causes = sorted(profile.idle_ms.items(), key=lambda cause: -cause[1])
    waits = listed([f"{number(ms)} ms for {_WAITED_FOR.get(family, family)}" for family, ms in causes])
    launching = f", {number(profile.launching_ms)} ms to launch them" if profile.launching_ms else ""
    return (
        f"the GPU is busy for {number(profile.busy_ms)} of {number(profile.step_ms)} ms"
        f"{f', and waits {waits}' if waits else ''}; {profile.launches:,.0f} kernels and copies per"
        f" step{launching}"
    )


def profiling_notes(case: ExplainedCase) -> Iterator[str]:
    """Yield the caveats of a profile."""
    profile = case.profile
    if case.slowdown > SLOWED:
        yield (
            f"Profiling lengthened the step by {percent_text(case.slowdown)}: {number(profile.step_ms)} ms"
            f" instead of {number(profile.plain_ms)} ms. Times of many short operators are overstated."
        )
    if case.drift is not None and abs(case.drift) > SLOWED and not case.drifted:
        longer = "longer" if case.drift > 0 else "shorter"
        yield (
            f"Without the profiler, the step of this run took {number(profile.plain_ms)} ms,"
            f" {percent_text(abs(case.drift))} {longer} than the measured {number(case.measured_ms)} ms: the"
            " machine was in a different state, or the steps differ."
        )
    if case.changed:
        yield f"Changed since the case was measured: {'; '.join(case.changed)}."


def gap_sentences(gap: CaseDifference, names: tuple[str, str] | None = None) -> Iterator[str]:
    """Yield sentences about the difference between two cases: its size, and its largest parts.

    ``names`` label the base and the new case, if case numbers alone would be ambiguous.
    """
    base, new = gap.base, gap.new
    of_base, of_new = names or (base.label, new.label)
    gap_ms, measured_ms = gap.measured_gap_ms, gap.whole_ms[0]
    what = "sample" if gap.per_sample else "step"
    if not measured_ms or abs(gap_ms) < SAME_SHARE * measured_ms:
        yield f"The {what}s of {of_base} and {of_new} take about the same time."
        return
    longer = "longer" if gap_ms > 0 else "shorter"
    yield (
        f"A {what} of {of_new} is {number(abs(gap_ms))} ms {longer} than one of {of_base}"
        f" ({percent_text(abs(gap_ms) / measured_ms)})."
    )
    if abs(gap.remainder_ms) > abs(gap_ms) / 2:
        yield (
            f"The profiles don't show this difference: their own {what}s differ by"
            f" {_signed_ms(gap.profiled_gap_ms)}. Profile both cases again while the machine is idle."
        )
        return
    main = [part for part in gap.families if part.gap_ms / gap_ms > LEAST_NAMED][:MOST_NAMED]
    texts = [
        f"{part.name} ({_signed_ms(part.gap_ms)}, {percent_text(part.gap_ms / gap_ms)} of it)" for part in main
    ]
    if texts:
        yield f"It comes from {listed(texts)}."
    first = next((part for part in gap.kernels if part.gap_ms / gap_ms > 0), None)
    if first:
        yield f"The operator with the largest difference is {first.name}: {_signed_ms(first.gap_ms)}."
    if abs(gap.remainder_ms) > SLOWED * abs(gap_ms):
        yield f"The profiles don't show {_signed_ms(gap.remainder_ms)} of the difference."


def _signed_ms(value_ms: float) -> str:
    shown = number(value_ms) or "0"
    return f"{'' if shown.startswith('-') else '+'}{shown} ms"
