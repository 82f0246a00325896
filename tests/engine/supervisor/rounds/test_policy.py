from typing import Any

import pytest

from benchtui.engine.supervisor.rounds.policy import PAUSE_S, Retry, Rounds
from benchtui.sessions.events import CaseFinished, RoundFinished
from benchtui.sessions.payloads import Energy, Environment, Memory
from benchtui.sessions.sweep import Measure


def end(case: int = 0, **fields: Any) -> CaseFinished:
    return CaseFinished(**{"t": 5.0, "case": case, "outcome": "ok", "measured_s": (1.0, 3.0)} | fields)


HOT = end(environment=Environment(throttle=("sw_thermal",)))
BUSY = end(environment=Environment(processors=2, others_cpu_percent=90.0))
CLOCKS: dict[str, Any] = {"graphics_clock_mhz": 1200.0, "graphics_clock_default_mhz": 1980.0}
LOW = end(environment=Environment(**CLOCKS))
LOCKED = end(environment=Environment(throttle=("app_clocks", "sw_power_cap"), **CLOCKS))
QUIET = end(environment=Environment(processors=2, others_cpu_percent=3.0))


def test_last_round_combines_all_rounds() -> None:
    rounds = Rounds(Measure(rounds=3))
    peaks = (300.0, 500.0, 400.0)
    ends = [
        end(
            memory=Memory(peak_rss_mb=peak),
            energy=Energy(energy_j=10.0, mean_power_w=5.0, source="counter"),
            marks=("random weights", *(("throttled: sw_thermal",) if turn == 0 else ())),
            stop=f"stop {turn}",
        )
        for turn, peak in enumerate(peaks)
    ]
    first, second, last = (rounds.ended(each, turn) for turn, each in enumerate(ends))
    assert isinstance(first, RoundFinished) and isinstance(second, RoundFinished)
    assert (first.round, first.memory, first.stop) == (0, Memory(peak_rss_mb=300.0), "stop 0")
    assert isinstance(last, CaseFinished)
    assert last.memory == Memory(peak_rss_mb=500.0)
    assert last.energy == Energy(energy_j=30.0, mean_power_w=5.0, source="counter")
    assert (last.marks, last.stop) == (("random weights", "throttled: sw_thermal, in 1 of 3 rounds"), "stop 2")


def test_throttled_case_is_retried_with_growing_pauses_up_to_a_limit() -> None:
    rounds = Rounds(Measure())
    pauses = [again.pause_s for attempt in range(9) if (again := rounds.retry(HOT, attempt))]
    assert pauses == [PAUSE_S, 2 * PAUSE_S]


@pytest.mark.parametrize(
    ("retries", "ended", "again"),
    [
        (None, BUSY, None),
        (None, LOW, None),
        (2, LOW, None),
        (2, LOCKED, None),
        (1, BUSY, Retry("disturbed: other processes used 90% CPU", PAUSE_S)),
        (0, HOT, None),
        (1, QUIET, None),
        (1, end(), None),
        (1, end(outcome="failed", environment=BUSY.environment), None),
    ],
)
def test_contention_is_retried_if_the_sweep_sets_retries(
    retries: int | None, ended: CaseFinished, again: Retry | None
) -> None:
    assert Rounds(Measure(retries=retries)).retry(ended, 0) == again


def test_each_process_has_its_own_compiler_cache_unless_shared() -> None:
    cold, shared = Rounds(Measure()), Rounds(Measure(caches="shared"))
    assert len({cold.scratch(case) for case in (0, 0, 1)}) == 3
    assert {shared.scratch(case) for case in (0, 0, 1)} == {"shared"}
