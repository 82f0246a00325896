"""Answer baselines: the measured case that a case's answer to the probe is compared with."""

from collections.abc import Iterable

from benchtui.engine.job import AnsweredCase
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import answer_baseline
from benchtui.sessions.sweep import Config, Sweep


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
