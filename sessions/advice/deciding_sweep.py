"""Deciding sweep: only the cases of a session's open questions and their baselines."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from benchtui.sessions.advice.open_questions import OpenQuestion, Remedy
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sanitize import LONGEST_VALUE, visible
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baselines
from benchtui.sessions.stats.results import measured
from benchtui.sessions.sweep import Axes, Config, Measure, Sweep
from benchtui.sessions.sweep.options import AXES, BY_NAME, Baseline, Exclusion
from benchtui.sessions.sweep.plan import included_configs

DISTURBED_RETRIES = 2
"""Number of repeats of a disturbed round: the engine's default for a throttled one."""


def deciding_sweep(session: Session, questions: Sequence[OpenQuestion]) -> Sweep | None:
    """Return the sweep that answers the questions with a remedy; None if there are none.

    Raises:
        BenchtuiError: If the cases were imported from another tool, because not all of their options are known.
    """
    asked = [question for question in questions if question.remedy]
    if not asked:
        return None
    remedies = [question.remedy for question in asked if question.remedy]
    before = session.start.sweep
    if before.find or before.measure.rounds_auto:  # the engine plans the rounds, as it did the first time
        remedies = [replace(remedy, rounds=None, steps=None, by_turns=True) for remedy in remedies]
    configs = {case.config for question in asked for case in question.cases}
    bases = baselines(measured(session), before.measure.baseline)
    configs |= {bases[work].config for work in {config.work for config in configs} if work in bases}
    return sweep_over(session, {replace(config, repeat=0) for config in configs}, "next", remedies)


def sweep_over(session: Session, wanted: Collection[Config], suffix: str, remedies: Sequence[Remedy]) -> Sweep:
    """Return a sweep of these cases alone, with the rules of the session's and what the remedies need.

    Raises:
        BenchtuiError: If the cases were imported from another tool, because not all of their options are known.
    """
    if session.start.source:
        raise BenchtuiError(f"the cases were imported from {session.start.source}; benchtui can't run them")
    sweep = spanning(session.start.sweep, wanted)
    axes = sweep.axes
    models = axes.model
    if len(models) == 1:
        axes = replace(axes, model=Axes().model)
    return replace(
        sweep,
        name=f"{sweep.name}-{suffix}",
        model=models[0] if len(models) == 1 and models[0] else sweep.model,
        axes=axes,
        find=None,
        run=replace(sweep.run, budget_s=None),
        measure=_rules(sweep.measure, remedies, axes),
    )


def spanning(sweep: Sweep, wanted: Collection[Config]) -> Sweep:
    """Return a sweep with other cases: axes that span these, and exclusions that leave only them."""
    axes = _axes(sweep.axes, wanted)
    return replace(sweep, axes=axes, exclude=tuple(_exclusions(axes, wanted)))


def single_case_sweep(sweep: Sweep, config: Config) -> Sweep:
    """Return the sweep with this one configuration in place of its axes, and without a baseline.

    Raises BenchtuiError if the case was imported from another tool, because not all of its options are known.
    """
    if config.label:
        name = visible(config.name, LONGEST_VALUE)
        raise BenchtuiError(f"{name}: imported from another tool; benchtui can't run it")
    single = spanning(sweep, [config])
    return replace(
        single,
        name=f"{sweep.name}-optimal",
        model=config.model or sweep.model,
        axes=replace(single.axes, model=Axes().model),
        measure=replace(sweep.measure, baseline=None, aa=False),
    )


def further_rounds(session: Session, sweep: Sweep) -> Sweep:
    """Return a deciding sweep with only the rounds that the session's cases lack to its number of rounds."""
    configs = {replace(config, repeat=0) for config in included_configs(sweep)}
    done = [len(case.ends) * (case.state == "ok") for case in session.cases if case.config in configs]
    rounds = max(1, sweep.measure.rounds - min(done, default=0))
    return replace(sweep, measure=replace(sweep.measure, rounds=rounds))


def _axes(planned: Axes, wanted: Collection[Config]) -> Axes:
    """Return the axes that span these cases, with values in plan order.

    A sweep file stores an axis of named values as one list per name, which can't leave out single combinations.
    Such an axis therefore keeps all of its planned values if it needs several.
    """
    values_by_axis: dict[str, Any] = {}
    for axis in AXES:
        used, before = {getattr(config, axis) for config in wanted}, getattr(planned, axis)
        if BY_NAME[axis].named_values and len(used) > 1:
            used |= set(before)
        order = [value for value in before if value in used]
        values_by_axis[axis] = (*order, *sorted(used - set(order)))
    return Axes(**values_by_axis, unset=planned.unset)


def _rules(rules: Measure, remedies: Sequence[Remedy], axes: Axes) -> Measure:
    """Return the sweep's rules, with the largest values that any remedy needs or the sweep already has."""
    times = {name: _largest(name, (rules, *remedies)) for name in ("rounds", "max_time_s", "timeout_s")}
    steps = max((remedy.steps or 0 for remedy in remedies), default=0)
    repeat = any(remedy.repeat_disturbed for remedy in remedies)
    return replace(
        rules,
        **times,
        rounds_auto=any(remedy.by_turns for remedy in remedies),
        iterations=max(steps, rules.iterations),
        iterations_auto=rules.iterations_auto and not steps,
        retries=max(rules.retries or 0, DISTURBED_RETRIES) if repeat else rules.retries,
        aa=rules.aa or any(remedy.aa for remedy in remedies),
        explain=(),
        baseline=_baseline(rules.baseline, axes),
    )


def _largest(name: str, records: Sequence[Measure | Remedy]) -> float | None:
    """Return the largest value of a field; None if no record sets it."""
    return max((value for record in records if (value := getattr(record, name)) is not None), default=None)


def _baseline(named: Baseline | None, axes: Axes) -> Baseline | None:
    """Return the baseline without the options that all cases share, because the axes no longer span them."""
    if named is None:
        return None
    shared = {axis: None for axis in named.named if len(getattr(axes, axis)) == 1}
    narrowed = replace(named, **shared)
    return narrowed if narrowed.named else None


def _exclusions(axes: Axes, wanted: Collection[Config]) -> Iterator[Exclusion]:
    """Yield the exclusions that reduce the product of the axes to these cases."""
    several = [axis for axis in AXES if len(getattr(axes, axis)) > 1]

    def without(depth: int, named: dict[str, Any], remaining: Collection[Config]) -> Iterator[Exclusion]:
        if depth == len(several):
            return
        axis = several[depth]
        for value in getattr(axes, axis):
            below = [config for config in remaining if getattr(config, axis) == value]
            if below:
                yield from without(depth + 1, {**named, axis: value}, below)
            else:
                yield Exclusion(**named, **{axis: value})

    yield from without(0, {}, wanted)
