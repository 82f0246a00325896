import pytest

from benchtui.engine.energy import PowerLog
from benchtui.sessions.events import GpuReadings, Telemetry


def log(
    power_w: list[float | None], energy_j: list[float | None] | None = None, period_s: float = 0.5
) -> PowerLog:
    at_s = [index * period_s for index in range(len(power_w))]
    readings = GpuReadings(index=1, power_w=power_w, energy_j=energy_j or [None] * len(power_w))
    kept = PowerLog()
    kept.add(Telemetry(t=at_s[-1], at_s=at_s, gpus=(readings,)))
    return kept


def test_the_counter_is_taken_over_two_seconds_or_more() -> None:
    energy = log([100.0] * 9, [1000 + 60.0 * index for index in range(9)]).over(1, 0.0, 4.0)
    assert energy.source == "counter"
    assert energy.energy_j == pytest.approx(8 * 60)
    assert energy.mean_power_w == pytest.approx(100)


def test_the_counter_is_stretched_to_the_whole_span() -> None:
    energy = log([100.0] * 9, [50.0 * index for index in range(9)]).over(1, 0.1, 4.1)
    assert energy.energy_j == pytest.approx(400)


def test_a_short_span_is_integrated_from_sampled_power() -> None:
    energy = log([100.0, 200.0, 300.0], [0.0, 80.0, 200.0]).over(1, 0.0, 1.0)
    assert energy.source == "sampled power"
    assert energy.mean_power_w == pytest.approx(200)
    assert energy.energy_j == pytest.approx(200)


def test_without_two_readings_there_is_a_reason_and_no_figure() -> None:
    energy = log([100.0, None, None]).over(1, 0.0, 0.7)
    assert energy.energy_j is None
    assert energy.absent == "measured for 0.70 s, too short for two readings of power"


def test_a_cleared_log_knows_nothing_of_the_case_before() -> None:
    kept = log([100.0] * 9)
    kept.clear()
    assert kept.over(1, 0.0, 4.0).absent is not None
