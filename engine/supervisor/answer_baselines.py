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
    """Measured cases that are the baseline of other cases."""

    def __init__(self, sweep: Sweep) -> None:
        self._named, self._task = sweep.measure.baseline, sweep.task
        self._cases: dict[int, AnsweredCase] = {}

    def restore(self, session: Session) -> None:
        """Restore the baselines of a recorded session."""
        for case in session.cases:
            if case.state == "ok":
                self.add(case.index, case.config)

    def add(self, index: int, config: Config) -> None:
        """Add a measured case, unless another one is its baseline."""
        case = AnsweredCase(index=index, config=config)
        answered = self._ordered([*self._cases.values(), case])
        if answer_baseline(config, answered, self._named, self._task) is case:
            self._cases[index] = case

    def of(self, config: Config) -> AnsweredCase | None:
        """Return the baseline of a case; None if it hasn't been measured."""
        return answer_baseline(config, self._ordered(self._cases.values()), self._named, self._task)

    @staticmethod
    def _ordered(cases: Iterable[AnsweredCase]) -> list[AnsweredCase]:
        return sorted(cases, key=lambda case: case.index)
