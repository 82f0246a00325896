"""Baseline selection: the case that other cases are compared with.

One rule for the screen, the report and its ranking, and every export.
"""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from msgspec.structs import replace

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Baseline, Config, Work

NOT_MEASURED = {
    "queued": "hasn't been measured yet",
    "running": "hasn't been measured yet",
    "oom": "ran out of memory",
    "skipped": "was skipped",
    "failed": "failed",
    "timeout": "timed out",
    "interrupted": "was interrupted",
}
"""Wording per state of a case that has no metrics."""


class HasConfig(Protocol):
    """Any object with the options of a case."""

    @property
    def config(self) -> Config:
        """Options of the case."""


T = TypeVar("T", bound=HasConfig)


def baseline_of(config: Config, cases: Iterable[T], named: Baseline | None) -> T | None:
    """Return the baseline that a case is compared with, or None if there is none.

    It is the first case of the same work (``Config.work``) that matches the sweep's baseline, or the first one
    of all if the sweep names no baseline. ``cases`` are the measured cases, in plan order, without the second
    case of an A/A pair.
    """
    return next((case for case in cases if _fits(case.config, config, named)), None)


def baselines(cases: Iterable[T], named: Baseline | None) -> dict[Work, T]:
    """Return the baseline of each work that has one.

    One pass over the cases, for callers that need many baselines.
    """
    by_work: dict[Work, T] = {}
    for case in cases:
        if case.config.work not in by_work and _fits(case.config, case.config, named):
            by_work[case.config.work] = case
    return by_work


def answer_baseline(config: Config, cases: Iterable[T], named: Baseline | None, task: str) -> T | None:
    """Return the case whose answer this one's is compared with: its baseline.

    Training steps with another batch size or accumulation see other samples, so these have separate baselines.
    """
    if task != "lm-train":
        return baseline_of(config, cases, named)
    alike = (case for case in cases if _samples_per_step(case.config) == _samples_per_step(config))
    return baseline_of(config, alike, named and replace(named, batch_size=None, accumulation=None))


def _samples_per_step(config: Config) -> tuple[int, int]:
    return config.batch_size, config.accumulation


def explain_missing_baseline(
    config: Config,
    planned: Iterable[CaseState],
    named: Baseline | None,
    name_of: Callable[[CaseState], str] = lambda case: case.name,
) -> str:
    """Explain why a case has no baseline: none was planned, or it has no metrics."""
    wanted = next((case for case in planned if _fits(case.config, config, named)), None)
    if wanted is None:
        options = ", ".join(f"{option}={value}" for option, value in named.named.items()) if named else "any"
        of = f" of {config.model}" if config.model else ""
        at = f" at {config.sequence_length:,} tokens" if config.sequence_length else ""
        return f"no case with {options} was planned{of}{at}"
    return f"the baseline, {name_of(wanted)}, {NOT_MEASURED.get(wanted.state, 'has no figures')}"


def _fits(candidate: Config, config: Config, named: Baseline | None) -> bool:
    same_work = candidate.work == config.work and not candidate.repeat
    return same_work and (named is None or named.matches(candidate))
