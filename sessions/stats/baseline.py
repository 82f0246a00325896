"""Which case the others are held against: one rule for the screen, the report, its ranking and every export."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Baseline, Config

NOT_MEASURED = {
    "queued": "hasn't been measured yet",
    "running": "hasn't been measured yet",
    "oom": "ran out of memory",
    "skipped": "was skipped",
    "failed": "failed",
    "timeout": "ran into its time limit",
    "interrupted": "was interrupted",
}
"""What became of a case that has no figures."""


class Configured(Protocol):
    """Anything that knows the options of its case."""

    @property
    def config(self) -> Config:
        """Its options."""


T = TypeVar("T", bound=Configured)


def baseline_of(config: Config, cases: Iterable[T], named: Baseline | None) -> T | None:
    """The case to hold one against: of those of the same work the first that the sweep's baseline matches.

    Another sequence length is other work. Where the sweep names no baseline, the first case of that length.
    ``cases`` are those that were measured, in the order of the plan, without the second one of an A/A pair.
    """
    return next((case for case in cases if _fits(case.config, config, named)), None)


def baselines(cases: Iterable[T], named: Baseline | None) -> dict[int, T]:
    """The baseline of each sequence length that has one, found in one pass where many cases ask for theirs."""
    found: dict[int, T] = {}
    for case in cases:
        if case.config.sequence_length not in found and _fits(case.config, case.config, named):
            found[case.config.sequence_length] = case
    return found


def why_none(config: Config, planned: Iterable[CaseState], named: Baseline | None) -> str:
    """Why there is no case to hold one against: none was planned, or it has no figures."""
    wanted = next((case for case in planned if _fits(case.config, config, named)), None)
    if wanted is None:
        options = ", ".join(f"{option}={value}" for option, value in named.named.items()) if named else "any"
        return f"no case with {options} was planned at {config.sequence_length:,} tokens"
    return f"the baseline, {wanted.name}, {NOT_MEASURED.get(wanted.state, 'has no figures')}"


def _fits(candidate: Config, config: Config, named: Baseline | None) -> bool:
    same_work = candidate.sequence_length == config.sequence_length and not candidate.repeat
    return same_work and (named is None or named.matches(candidate))
