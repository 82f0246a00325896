from typing import Any

import pytest

from benchtui.engine.node.energy import gpu_energy, idle_power_w, processor_energy
from benchtui.engine.node.telemetry_window import TelemetryWindow
from benchtui.sessions.events import Telemetry
from benchtui.sessions.payloads import Energy, Gpu, GpuReadings, HostReadings

PERIOD_S = 0.5


def gpu_log(
    power_w: list[float | None], energy_j: list[float | None] | None = None, **fields: Any
) -> TelemetryWindow:
    columns = GpuReadings(index=1, power_w=power_w, energy_j=energy_j or [None] * len(power_w), **fields)
    return log(len(power_w), gpus=(columns,))


def log(samples: int, **readings: Any) -> TelemetryWindow:
    kept = TelemetryWindow()
    at_s = [index * PERIOD_S for index in range(samples)]
    kept.add(Telemetry(t=at_s[-1], at_s=at_s, **readings))
    return kept


def test_energy_counter_is_used_from_two_seconds_on() -> None:
    kept = gpu_log([100.0] * 9, [1000 + 60.0 * index for index in range(9)])
    energy = gpu_energy(kept, 1, 0.0, 4.0)
    assert energy.source == "counter"
    assert energy.energy_j == pytest.approx(8 * 60)
    assert energy.mean_power_w == pytest.approx(100)


def test_counter_energy_is_extrapolated_to_the_whole_span() -> None:
    energy = gpu_energy(gpu_log([100.0] * 9, [50.0 * index for index in range(9)]), 1, 0.1, 4.1)
    assert energy.energy_j == pytest.approx(400)


def test_short_span_uses_integrated_power() -> None:
    energy = gpu_energy(gpu_log([100.0, 200.0, 300.0], [0.0, 80.0, 200.0]), 1, 0.0, 1.0)
    assert energy.source == "sampled power"
    assert energy.mean_power_w == pytest.approx(200)
    assert energy.energy_j == pytest.approx(200)


def test_energy_with_fewer_than_two_readings_is_absent_with_a_reason() -> None:
    energy = gpu_energy(gpu_log([100.0, None, None]), 1, 0.0, 0.7)
    assert energy.energy_j is None
    assert energy.absent == "measured span too short for two power readings"


def test_energy_counter_is_used_without_power_readings() -> None:
    kept = gpu_log([None] * 17, [30.0 * index for index in range(17)], absent={"power_w": "not supported"})
    assert gpu_energy(kept, 1, 0.0, 8.0) == Energy(energy_j=480.0, mean_power_w=60.0, source="counter")


@pytest.mark.parametrize("name", ["power_w", "gpu"])
def test_energy_without_power_and_counter_has_the_reason_of_the_driver(name: str) -> None:
    kept = gpu_log([None] * 17, absent={name: "not supported by this GPU"})
    assert gpu_energy(kept, 1, 0.0, 8.0) == Energy(absent="not supported by this GPU")


def test_averaged_power_is_told_apart_and_takes_five_seconds() -> None:
    kept = gpu_log([100.0] * 13, power_averaged=True)
    assert gpu_energy(kept, 1, 0.0, 5.0) == Energy(
        energy_j=pytest.approx(500.0), mean_power_w=pytest.approx(100.0), source="averaged power"
    )
    short = "this GPU reports averaged power only, which requires a measured span of 5 s"
    assert gpu_energy(kept, 1, 0.0, 4.4) == Energy(absent=short)


def test_dropped_readings_do_not_count_as_energy() -> None:
    kept = gpu_log([100.0] * 9)
    kept.drop_before(1e9)
    assert gpu_energy(kept, 1, 0.0, 4.0).absent is not None


def test_processor_energy_is_separate_from_dram_energy() -> None:
    host = HostReadings(package_energy_j=[0.0, 10.0, 20.0, 30.0, 40.0], dram_energy_j=[0.0, 1.0, 2.0, 3.0, 4.0])
    energy = processor_energy(log(5, host=host), 0.4, 1.9)
    assert energy.source == "counter"
    assert (energy.mean_power_w, energy.energy_j) == (pytest.approx(20), pytest.approx(30))
    assert energy.dram_j == pytest.approx(3)
    short = processor_energy(log(5, host=host), 0.4, 0.6)
    assert short.absent == "measured span too short for the processor's energy counter"


def test_idle_power_covers_devices_with_readings() -> None:
    columns = GpuReadings(index=1, power_w=[60.0, 70.0, None])
    kept = log(3, gpus=(columns,), host=HostReadings(package_energy_j=[0.0, 5.0, 10.0]))
    gpus = (Gpu(index=0, name="silent"), Gpu(index=1, name="told"))
    assert idle_power_w(kept, gpus, 0.0, 2.0) == {"gpu 1": 65.0, "processor": 10.0}
    assert idle_power_w(log(3), gpus, 0.0, 2.0) == {}
