from benchtui.engine.supervisor.waits import MachineLoads
from benchtui.sessions.events import Telemetry
from benchtui.sessions.payloads import GpuReadings, HostReadings


def others(*percents: float | None, begin_s: float = 0.0, node: str | None = None) -> Telemetry:
    """Readings half a second apart."""
    at_s = [begin_s + place / 2 for place in range(len(percents))]
    return Telemetry(t=at_s[-1], at_s=at_s, host=HostReadings(others_cpu_percent=list(percents)), node=node)


def test_use_by_others_is_the_mean_of_the_newest_two_seconds() -> None:
    loads = MachineLoads()
    loads.add(others(90.0, 90.0, 90.0, 90.0))
    loads.add(others(1.0, None, 3.0, 2.0, begin_s=2.0))
    assert loads.others_percent(None, since_s=0.0) == 2.0
    assert loads.others_percent("n1", since_s=0.0) is None


def test_use_by_others_is_unknown_until_two_seconds_have_passed() -> None:
    loads = MachineLoads()
    loads.add(others(*[90.0] * 4, 1.0, 1.0, 1.0))
    assert loads.others_percent(None, since_s=1.6) is None
    loads.add(others(1.0, 1.0, begin_s=3.5))
    assert loads.others_percent(None, since_s=1.6) == loads.others_percent(None, since_s=2.0) == 1.0
    assert loads.others_percent(None, since_s=9.0) is None


def test_each_machine_and_gpu_has_its_own_readings() -> None:
    loads = MachineLoads()
    gpus = (
        GpuReadings(index=0, temperature_c=[70.0, 71.0], utilization_percent=[99.0, 4.0]),
        GpuReadings(index=1, temperature_c=[50.0, None], utilization_percent=[None, None]),
    )
    loads.add(Telemetry(t=9.0, at_s=[8.5, 9.0], gpus=gpus))
    loads.add(Telemetry(t=9.0, at_s=[9.0], gpus=(GpuReadings(index=0, temperature_c=[40.0]),), node="n1"))
    assert (loads.temperature_c(None, 0), loads.temperature_c(None, 1)) == (71.0, 50.0)
    assert (loads.temperature_c("n1", 0), loads.temperature_c("n1", 1)) == (40.0, None)
    assert loads.gpu_percent(None, 0, since_s=7.0) == 4.0
    assert loads.gpu_percent(None, 0, since_s=7.1) is None, "it is too early"
    assert loads.gpu_percent(None, 1, since_s=0.0) is None
