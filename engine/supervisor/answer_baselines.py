"""Answer baselines: what a case's answer to the probe is compared with, and which cases must answer."""

from collections.abc import Iterable

from benchtui.engine.job import AnsweredCase
from benchtui.sessions.analysis.answers import numerics
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import answer_baseline
from benchtui.sessions.sweep import Case, Config, Sweep


def is_largest(config: Config, planned: Iterable[Case]) -> bool:
    """Return whether no planned case that differs only in size is larger."""
    size, own = _size(config), numerics(config)
    return not any(
        _size(case.config) > size for case in planned if not case.skip and numerics(case.config) == own
    )


def _size(config: Config) -> tuple[int, int]:
    return config.sequence_length, config.batch_size


class AnswerBaselines:
    """Measured cases, among which are the baselines of others."""

    def __init__(self, sweep: Sweep) -> None:
        self._named, self._task = sweep.measure.baseline, sweep.task
        self._cases: dict[int, AnsweredCase] = {}

    def restore(self, session: Session) -> None:
        """Restore the measured cases of a recorded session."""
        for case in session.cases:
            if case.state == "ok":
                self.add(case.index, case.config)

    def add(self, index: int, config: Config) -> None:
        """Add a measured case."""
        self._cases[index] = AnsweredCase(index=index, config=config)

    def of(self, config: Config) -> AnsweredCase | None:
        """Return the baseline of a case; None if it hasn't been measured."""
        in_order = (case for _, case in sorted(self._cases.items()))
        return answer_baseline(config, in_order, self._named, self._task)
