from benchtui.engine.node.telemetry_window import TelemetryWindow
from benchtui.sessions.events import Telemetry
from benchtui.sessions.payloads import HostReadings


def sampled(*at_s: float) -> Telemetry:
    return Telemetry(t=at_s[-1], at_s=list(at_s), host=HostReadings(cpu_percent=[1.0] * len(at_s)))


def test_readings_that_no_running_case_needs_are_dropped() -> None:
    readings = TelemetryWindow()
    for at_s in (1.0, 2.0, 3.0):
        readings.add(sampled(at_s - 0.5, at_s))
    readings.drop_before(2.0)
    assert [at for at, _ in readings.host("cpu_percent", 0.0, 9.0)] == [1.5, 2.0, 2.5, 3.0]


def test_standstill_counts_for_every_overlapping_span() -> None:
    readings = TelemetryWindow()
    for at_s, still_s in ((10.0, 3.0), (20.0, 2.0)):
        readings.add(Telemetry(t=at_s, at_s=[], stood_still_s=still_s))
    assert readings.stood_still_s(5.0, 12.0) == 3.0
    assert readings.stood_still_s(5.0, 19.0) == 5.0
    assert readings.stood_still_s(11.0, 17.0) is None


def test_most_workers_is_the_maximum_concurrency_in_a_span() -> None:
    readings = TelemetryWindow()
    for at_s, amount in ((10.0, 1), (20.0, 3), (20.5, 3), (30.0, 2), (40.0, 0)):
        readings.set_worker_count(amount, at_s)
    assert readings.most_workers(11.0, 19.0) == 1
    assert readings.most_workers(11.0, 21.0) == 3
    assert readings.most_workers(31.0, 39.0) == 2
    assert readings.most_workers(50.0, 60.0) == 0
    readings.drop_before(35.0)
    assert readings.most_workers(31.0, 39.0) == 2
    assert readings.most_workers(36.0, 50.0) == 2
