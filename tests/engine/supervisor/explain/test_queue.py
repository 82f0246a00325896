"""The queue of cases to explain: one at a time, each with its profile or the reason why it has none."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from explained import explained
from msgspec.structs import replace

from benchtui.engine.supervisor.explain.queue import LONG_S, Explanations
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, CasePrepared
from benchtui.sessions.payloads import Model
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Config


def case(index: int) -> CaseState:
    return CaseState(index, Config(device="cpu", batch_size=index + 1))


class Runs:
    """Processes of cases, which end when a test lets them."""

    def __init__(self) -> None:
        self.started: list[int] = []
        self.pending: dict[int, list[Any]] = {}
        self.refused: dict[int, str] = {}

    def launch(self, case: CaseState) -> Any:
        if case.index in self.refused:
            raise BenchtuiError(self.refused[case.index])
        self.started.append(case.index)
        self.pending[case.index] = []
        return SimpleNamespace(
            sources=(3,), left_s=5.0, collect=lambda now_s: self._collect(case.index), end=self._end
        )

    def finish(self, index: int, *, profile: bool = True, plain_ms: float = 27.0) -> None:
        outcome, reason = ("ok", None) if profile else ("oom", "out of memory")
        ended = CaseFinished(t=1.0, case=index, outcome=outcome, reason=reason)  # type: ignore[arg-type]
        event = explained(index)
        event = replace(event, profile=replace(event.profile, plain_ms=plain_ms))
        self.pending[index] = [*([event] if profile else []), ended]

    def _collect(self, index: int) -> Iterator[Any]:
        events, self.pending[index] = self.pending[index], []
        yield from events

    def _end(self, outcome: str, reason: str, now_s: float) -> None:
        index = self.started[-1]
        self.pending[index] = [CaseFinished(t=now_s, case=index, outcome="interrupted", reason=reason)]


def test_cases_run_one_after_another() -> None:
    runs = Runs()
    queue = Explanations(runs.launch)
    queue.add([case(0), case(1)])
    queue.add([case(1)])
    assert list(queue.start_next(0.0)) == [] and runs.started == [0]
    assert list(queue.collect(0.0)) == [] and list(queue.start_next(0.0)) == []
    assert queue.running is not None and (queue.sources, queue.left_s) == ((3,), 5.0)
    runs.finish(0)
    (found,) = queue.collect(1.0)
    assert found.profile is not None and queue.running is None and queue.left_s is None
    list(queue.start_next(1.0))
    runs.finish(1, profile=False)
    (found,) = queue.collect(2.0)
    assert (found.case, found.profile, found.absent) == (1, None, "out of memory")
    assert list(queue.start_next(2.0)) == [] and runs.started == [0, 1]


@pytest.mark.parametrize(
    ("plain_ms", "nearest"), [((27.0,), 27.0), ((60.0, 30.0), 30.0), ((70.0, 50.0, 60.0, 70.0, 80.0), 50.0)]
)
def test_steps_unlike_the_measured_ones_are_profiled_in_other_processes(
    plain_ms: tuple[float, ...], nearest: float
) -> None:
    runs, measured, kept = Runs(), case(0), list[float]()
    measured.measured.wall_ms.extend([28.0] * 40)
    queue = Explanations(runs.launch, lambda: kept.append(plain_ms[len(runs.started) - 1]))
    queue.add([measured])
    profiled: list[Any] = []
    for time_ms in plain_ms:
        assert not profiled and list(queue.start_next(0.0)) == []
        runs.finish(0, plain_ms=time_ms)
        profiled += queue.collect(1.0)
    assert [event.profile.plain_ms for event in profiled] == [nearest] == kept[-1:]
    assert list(queue.start_next(1.0)) == [] and queue.running is None


def test_process_that_took_long_has_no_other_one() -> None:
    runs, measured = Runs(), case(0)
    measured.measured.wall_ms.extend([28.0] * 40)
    queue = Explanations(runs.launch)
    queue.add([measured])
    list(queue.start_next(0.0))
    runs.finish(0, plain_ms=60.0)
    (event,) = queue.collect(2 * LONG_S)
    assert event.profile is not None and event.profile.plain_ms == 60.0


def test_case_that_cannot_start_has_its_reason_and_the_next_one_starts() -> None:
    runs = Runs()
    runs.refused[0] = "no file descriptors"
    queue = Explanations(runs.launch)
    queue.add([case(0), case(1)])
    (found,) = queue.start_next(0.0)
    assert (found.case, found.absent) == (0, "no file descriptors") and runs.started == [1]


def test_stopping_ends_the_running_case_and_drops_the_others() -> None:
    runs = Runs()
    queue = Explanations(runs.launch)
    queue.add([case(0), case(1)])
    list(queue.start_next(0.0))
    queue.stop("stopped by the user", 1.0)
    (found,) = queue.collect(1.0)
    assert found.absent == "stopped by the user"
    assert list(queue.start_next(2.0)) == [] and runs.started == [0]


def test_profile_names_the_files_that_have_changed_since_the_case() -> None:
    def prepared(digest: str) -> CasePrepared:
        return CasePrepared(t=1.0, case=0, model=Model(name="m"), files={"a.py": digest * 16, "b.py": "0" * 16})

    runs, measured = Runs(), case(0)
    measured.prepared = prepared("1")
    queue = Explanations(runs.launch)
    queue.add([measured])
    assert list(queue.start_next(0.0)) == []
    runs.finish(0)
    runs.pending[0].insert(0, prepared("2"))
    (found,) = queue.collect(1.0)
    assert found.changed == ("a.py: 11111111 → 22222222",)
