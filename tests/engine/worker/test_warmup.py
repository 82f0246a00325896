import random

import pytest

from benchtui.engine.worker.warmup import MAX_MS, MAX_STEPS, WINDOW, stable, warmed_up
from benchtui.sessions.estimates.stop_limits import LEAST_WARMUP_STEPS
from benchtui.sessions.sweep import Measure

AUTO = Measure(warmup_auto=True)


def ended(times_ms: list[float], rules: Measure = AUTO) -> tuple[int, str | None]:
    """After how many of these steps warming up ends, and why."""
    for n in range(len(times_ms) + 1):
        if reason := warmed_up(times_ms[:n], rules):
            return n, reason
    return len(times_ms), None


def test_fixed_number_of_steps_is_exact() -> None:
    assert ended([5.0, 1.0, 1.0, 1.0], Measure(warmup=3)) == (3, "3 steps")
    assert ended([], Measure(warmup=0)) == (0, "0 steps")


def test_stable_steps_fill_one_window() -> None:
    assert ended([10.0, 10.05] * 20) == (WINDOW, f"stable over the last {WINDOW} of {WINDOW} steps")


def test_compiling_is_no_part_of_the_maximum_time() -> None:
    times_ms = [4000.0, 20_000.0, 100.0]
    assert warmed_up(times_ms, AUTO, cold={0, 1}) is None
    assert warmed_up(times_ms, AUTO, cold={0}) == "not stable after 3 steps and 15 s, the maximum"


def test_slow_first_step_must_leave_the_window() -> None:
    times_ms = [4000.0] + [10.0, 10.1] * 20
    assert ended(times_ms) == (WINDOW + 1, f"stable over the last {WINDOW} of {WINDOW + 1} steps")


def test_warmup_waits_for_drift_to_end() -> None:
    falling = [200.0 * 0.9**step for step in range(20)]
    n, reason = ended([*falling, *[falling[-1]] * 20])
    assert 20 < n <= 20 + WINDOW
    assert reason == "the last 2 of 21 steps are within 5%"
    n, reason = ended([step / 20 for step in [*falling, *[falling[-1]] * 20]])
    assert 20 < n <= 20 + WINDOW
    assert reason is not None and reason.startswith("stable")


def test_single_spike_inside_the_window_is_stable() -> None:
    assert stable([100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 101.0, 100.0])
    assert not stable([900.0, 100.0, 100.0, 100.0, 100.0, 100.0, 101.0, 100.0])


def test_unstable_steps_end_at_the_maximum() -> None:
    noise = random.Random(1)
    wild = [10.0 * 3 ** noise.randint(0, 4) for _ in range(4 * MAX_STEPS)]
    rising = [1.1**step for step in range(MAX_STEPS + 5)]
    assert ended(rising) == (MAX_STEPS, f"not stable after {MAX_STEPS} steps, the maximum")
    assert ended(wild)[0] <= MAX_STEPS


def test_slow_steps_end_by_time_after_the_minimum_number() -> None:
    n, reason = ended([90_000.0, MAX_MS + 1, 1.0, 1.0])
    assert n == LEAST_WARMUP_STEPS
    assert reason == "not stable after 3 steps and 15 s, the maximum"


def test_first_step_may_compile_for_any_time() -> None:
    n, reason = ended([90_000.0] + [10.0] * 20)
    assert n == WINDOW + 1
    assert reason is not None and reason.startswith("stable")


def test_two_equal_steps_end_a_slow_warmup() -> None:
    reason = "the last 2 of 3 steps are within 5%"
    assert ended([900.0, 480.0, 490.0, 480.0]) == (3, reason)
    assert ended([900.0, 600.0, 500.0, 490.0]) == (4, "the last 2 of 4 steps are within 5%")


def test_two_equal_steps_do_not_end_a_warmup_that_has_just_begun() -> None:
    assert ended([900.0, 100.0, 100.0]) == (3, None)


def test_two_equal_steps_in_which_something_was_compiled_end_nothing() -> None:
    times_ms = [900.0, 600.0, 600.0, 600.0, 600.0]
    assert warmed_up(times_ms[:4], AUTO, cold={0, 3}) is None
    assert warmed_up(times_ms, AUTO, cold={0, 3}) is None
    assert warmed_up([*times_ms, 600.0], AUTO, cold={0, 3}) is not None


@pytest.mark.parametrize("factor", [0.9, 1.12])
def test_different_halves_are_not_stable(factor: float) -> None:
    half = WINDOW // 2
    assert not stable([100.0] * half + [100.0 * factor] * half)
