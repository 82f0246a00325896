import random

import pytest
from msgspec.structs import replace

from benchtui.engine.devices.base import StepTime
from benchtui.engine.worker.stop_rule import AUTO_MOST_STEPS, RunningSpread, StopRule, longest_s
from benchtui.sessions.estimates.stop_limits import enough_percent
from benchtui.sessions.payloads import ProcessSpread
from benchtui.sessions.stats.distribution import distribution
from benchtui.sessions.sweep import MEASURE_DEFAULTS, Measure

AUTO = Measure(iterations=10, until_auto=True)


def stopped(
    rules: Measure, times_ms: list[float], device: bool = False, enough_percent: float = 5.0
) -> tuple[int, str | None]:
    """After how many of these steps measuring ends, and why."""
    rule, elapsed_s = StopRule(rules, enough_percent), 0.0
    for n, time_ms in enumerate(times_ms, 1):
        elapsed_s += time_ms / 1000
        if reason := rule.reason(StepTime(time_ms, time_ms if device else None, {}), elapsed_s):
            return n, reason
    return len(times_ms), None


def around(middle_ms: float, deviation: float, steps: int) -> list[float]:
    """Times with this standard deviation over the mean, the same ones every time."""
    noise = random.Random(7)
    return [middle_ms * max(0.01, 1 + noise.gauss(0, deviation)) for _ in range(steps)]


def test_fixed_number_of_steps_is_exact() -> None:
    assert stopped(Measure(iterations=3), [1.0] * 9) == (3, "3 steps")


def test_time_limit_ends_measuring_early() -> None:
    assert stopped(Measure(iterations=100, max_time_s=2.0), [300.0] * 100) == (7, "time limit of 2 s")


def test_steady_steps_reach_the_interval_width_after_the_minimum() -> None:
    number, reason = stopped(Measure(iterations=30, until_percent=1.0), [100.0, 100.5] * 50)
    assert number == 30
    assert reason == "interval of the median within ±1% after 30 steps"


def test_unreached_interval_width_runs_to_the_time_limit() -> None:
    rules = Measure(iterations=10, until_percent=1.0, max_time_s=20.0)
    assert stopped(rules, [50.0, 150.0] * 1000)[1] == "time limit of 20 s"


def test_unreachable_interval_width_ends_before_the_case_timeout() -> None:
    assert longest_s(Measure(until_percent=1.0, timeout_s=100.0)) == 50.0
    assert longest_s(Measure(until_auto=True, timeout_s=100.0)) == 50.0
    assert longest_s(Measure(until_auto=True)) == 60.0
    assert longest_s(Measure(until_auto=True, max_time_s=7.0)) == 7.0
    assert longest_s(Measure()) is None


def test_slow_round_ends_after_six_steps_with_a_small_error() -> None:
    reason = "error of the median within ±5%, the spread between processes, after 6 steps"
    assert stopped(MEASURE_DEFAULTS, [480.0, 485.0] * 20) == (6, reason)


def test_short_round_is_measured_for_half_a_second() -> None:
    assert stopped(MEASURE_DEFAULTS, [20.0, 20.1] * 20)[0] == 25


def test_round_goes_on_while_its_error_is_above_the_spread() -> None:
    few, reason = stopped(MEASURE_DEFAULTS, around(50.0, 0.06, 99), enough_percent=5.0)
    more, later = stopped(MEASURE_DEFAULTS, around(50.0, 0.06, 99), enough_percent=3.0)
    assert 10 <= few < more <= 40
    assert reason is not None and "within ±5%" in reason
    assert later is not None and "within ±3%" in later


def test_long_round_ends_once_the_standard_error_is_below_the_spread() -> None:
    n, reason = stopped(MEASURE_DEFAULTS, around(300.0, 0.06, 40), enough_percent=3.0)
    assert 7 <= n < 20
    assert reason is not None and "within ±6%, twice the spread between processes" in reason


def test_noisy_round_ends_after_twenty_steps_and_two_seconds() -> None:
    n, reason = stopped(MEASURE_DEFAULTS, [100.0, 300.0] * 500)
    assert n == 20
    assert reason == "error of the median still above ±10%, twice the spread between processes, after 20 steps"
    assert 100 <= stopped(MEASURE_DEFAULTS, [10.0, 30.0] * 500)[0] <= 102


def test_stated_count_stays_exact_whatever_the_error() -> None:
    assert stopped(Measure(iterations=20), [480.0, 485.0] * 20) == (20, "20 steps")


def test_minimum_time_on_a_device_comes_on_top() -> None:
    rules = MEASURE_DEFAULTS.for_device("cuda:0")
    assert stopped(rules, [100.0, 100.1] * 40, device=True)[0] == 25


def test_enough_is_the_recorded_spread_or_that_of_one_pace() -> None:
    spread = ProcessSpread(between=0.02, freedom=30.0)
    assert enough_percent({"cpu": spread}, "cpu") == pytest.approx(2.0)
    assert enough_percent({"cpu": spread}, "cuda:1") == pytest.approx(5.0)
    assert enough_percent({"cpu": replace(spread, freedom=2.0)}, "cpu") == pytest.approx(5.0)
    assert enough_percent({"cpu": replace(spread, between=0.2)}, "cpu") == pytest.approx(5.0)


def test_auto_on_cpu_uses_the_interval_of_the_median() -> None:
    times_ms = around(20.0, 0.02, 400)
    number, reason = stopped(AUTO, times_ms)
    assert reason == f"interval of the median within ±1% after {number} steps"
    spread = distribution(times_ms[:number])
    assert spread is not None and (spread.interval_percent or 9) <= 1


def test_auto_on_a_device_uses_the_standard_deviation() -> None:
    number, reason = stopped(AUTO, around(20.0, 0.003, 400), device=True)
    assert number <= 30, "as soon as there is half a second"
    assert reason == f"standard deviation below 0.5% after {number} steps"
    number, reason = stopped(AUTO, around(20.0, 0.02, 2000), device=True)
    assert number >= 64 + 1
    assert reason is not None and reason.startswith("inherently noisy: deviation settled at ")


def test_auto_stops_when_noise_has_settled() -> None:
    number, reason = stopped(AUTO, around(20.0, 0.4, 3000))
    assert 64 < number < 1000
    assert reason is not None and reason.startswith("inherently noisy: deviation settled at 38.1% after ")


def test_auto_stops_at_the_time_or_step_limit() -> None:
    growing = [10.0 * 1.02**step for step in range(1000)]
    assert stopped(AUTO, growing)[1] == "time limit of 60 s"
    tiny = [0.001 * (1 + step) for step in range(AUTO_MOST_STEPS + 10)]
    rules = Measure(iterations=AUTO_MOST_STEPS * 2, until_auto=True, max_time_s=1000.0)
    assert stopped(rules, tiny) == (AUTO_MOST_STEPS, f"limit of {AUTO_MOST_STEPS} steps")


def test_running_spread_matches_the_whole_sample() -> None:
    times_ms, spread = around(5.0, 0.1, 101), RunningSpread()
    for time_ms in times_ms:
        spread.add(time_ms)
    whole = distribution(times_ms)
    assert whole is not None and whole.std is not None
    assert spread.relative_std == pytest.approx(whole.std / whole.mean)
    assert spread.interval_percent == pytest.approx(whole.interval_percent)


GPU = Measure(iterations=20, min_time_s=None).for_device("cuda:0")


def test_fixed_steps_go_on_for_the_minimum_time() -> None:
    assert stopped(GPU, [4.0] * 2000, device=True) == (625, "625 steps, for at least 2.5 s")
    assert stopped(GPU, [200.0] * 50, device=True) == (20, "20 steps")


def test_minimum_time_counts_the_time_of_the_device() -> None:
    rule, steps = StopRule(GPU, 5.0), 1
    while rule.reason(StepTime(50.0, 5.0, {}), steps * 0.05) is None:
        steps += 1
    assert steps == 500


def test_minimum_time_applies_to_a_spread_but_not_to_a_limit() -> None:
    rules = replace(GPU, until_auto=True)
    assert stopped(rules, [4.0] * 2000, device=True)[0] == 625
    assert stopped(replace(GPU, max_time_s=1.0), [4.0] * 2000, device=True) == (250, "time limit of 1 s")
