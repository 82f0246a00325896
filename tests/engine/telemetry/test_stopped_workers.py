"""Workers that were found stopped, by played looks."""

import pytest

from benchtui.engine.telemetry import sampler
from benchtui.engine.telemetry.sampler import StoppedWorkers


def looked(monkeypatch: pytest.MonkeyPatch, looks: dict[float, set[int]]) -> StoppedWorkers:
    found = StoppedWorkers(1.0)
    for at_s, stopped in looks.items():
        monkeypatch.setattr(sampler, "is_stopped", lambda pid, stopped=stopped: pid in stopped)
        found.poll(at_s, (1, 2))
    return found


def test_time_between_polls_that_find_it_stopped_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    found = looked(monkeypatch, {0.0: set(), 0.5: {1}, 1.0: {1}, 1.5: {1, 2}, 2.0: set(), 2.5: {1}})
    assert found.stopped_s(1, 0.0, 9.0) == 1.0
    assert found.stopped_s(1, 1.2, 9.0) == pytest.approx(0.3)
    assert found.stopped_s(2, 0.0, 9.0) == 0.0
    found.forget(1)
    assert found.stopped_s(1, 0.0, 9.0) == 0.0


def test_gap_between_polls_does_not_count_as_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looked(monkeypatch, {0.0: {1}, 3.0: {1}, 3.5: {1}}).stopped_s(1, 0.0, 9.0) == 0.5
