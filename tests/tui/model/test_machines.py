import time
from operator import attrgetter
from typing import Any

import pytest
from msgspec import structs

from benchtui.sessions.events import (
    CaseStarted,
    NodeJoined,
    NodeLost,
    Resumed,
    Runtime,
    SessionStarted,
    Telemetry,
)
from benchtui.sessions.payloads import Gpu, GpuReadings, Host, HostReadings
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Config, Sweep
from benchtui.themes.symbols import ASCII, UNICODE, Symbols
from benchtui.tui.model.machines import machines_of, throttle_notes
from benchtui.tui.panels.gauges import Machines, gauge_lines

NAME = attrgetter("name")


@pytest.mark.parametrize(
    ("throttle", "said"),
    [
        ([], ((), False)),
        ([None, ""], ((), False)),
        (["hw_thermal", ""], ((), False)),
        (["", "sw_power_cap"], (("power cap",), False)),
        (["app_clocks+reliability"], (("application clocks, reliability",), False)),
        (
            ["sw_power_cap+hw_slowdown+hw_thermal", None],
            (("THROTTLED: HW thermal slowdown", "THROTTLED: HW thermal", "THROTTLED"), True),
        ),
        (["hw_slowdown+sw_power_cap"], (("HW slowdown, power cap",), False)),
        (["\x1b[2Jhw_slowdown"], (("[2Jhw slowdown",), False)),
    ],
)
def test_latest_throttle_reasons_are_named_and_only_hardware_ones_are_alarms(
    throttle: list[str | None], said: tuple[tuple[str, ...], bool]
) -> None:
    assert throttle_notes(throttle) == said


def in_cluster() -> Session:
    config = Config(device="cpu")
    session = Session()
    start = SessionStarted(
        t=0.0, id="c", created="", sweep=Sweep(name="c", model="m"), plan=(config, config), host=Host()
    )
    session.apply(start)
    for node in ("box-one", "box-two", "box-three"):
        host = Host(hostname=node, processor=f"CPU of {node}", cpu_count=4, memory_mb=8000.0)
        session.apply(NodeJoined(t=0.0, node=node, host=host, kind="cpu", clock_offset_s=0.0))
    session.apply(CaseStarted(t=1.0, case=0, config=config, node="box-two"))
    readings = HostReadings(cpu_percent=[200.0], worker_rss_mb=[500.0])
    session.apply(Telemetry(t=1.5, at_s=[1.5], host=readings, node="box-two"))
    session.apply(NodeLost(t=2.0, node="box-three", reason="it went away"))
    return session


def with_gpus(*powers: float | None) -> Session:
    """Return a cluster with one node and these GPUs, the last of them throttled."""
    session = in_cluster()
    cards = tuple(Gpu(index=index, name="H", power_limit_w=700.0) for index in range(len(powers)))
    session.apply(NodeJoined(t=2.0, node="many", host=Host(gpus=cards), kind="H", clock_offset_s=0.0))
    for at_s, share in ((3.0, 0.5), (4.0, 1.0)):
        readings = tuple(
            GpuReadings(
                index=index,
                power_w=[None if power is None else share * power],
                memory_used_mb=[1000.0],
                throttle=["hw_thermal" if index == len(powers) - 1 else ""],
                absent={} if power else {"power_w": "not supported"},
            )
            for index, power in enumerate(powers)
        )
        session.apply(Telemetry(t=at_s, at_s=[at_s], gpus=readings, node="many"))
    return session


def test_a_node_sums_power_and_memory_of_its_gpus() -> None:
    (*_, node) = machines_of(with_gpus(100.0, 300.0), UNICODE, NAME).devices(4)
    power, memory = node.gauge("power"), node.gauge("memory")
    assert power is not None and memory is not None and power.past is not None
    assert (node.name, power.value, memory.value) == ("2 x H", "400/1,400W", "1.9GiB")
    assert list(power.past(2, 1.0)) == [200 / 1400, 400 / 1400]
    notes = (
        "GPU 1 THROTTLED: HW thermal slowdown",
        "1 GPU THROTTLED: HW thermal",
        "1 GPU THROTTLED",
        "THROTTLED",
    )
    assert (node.notes, node.alarming) == (notes, True)


def test_a_node_whose_gpus_are_throttled_keeps_its_bars() -> None:
    session = with_gpus(*[100.0] * 8)
    session.nodes = {"many": session.nodes["many"]}
    throttled = [
        GpuReadings(index=index, power_w=[100.0], utilization_percent=[9.0], throttle=["hw_thermal"])
        for index in range(8)
    ]
    session.apply(Telemetry(t=5.0, at_s=[5.0], gpus=tuple(throttled), node="many"))
    _, row, *_ = drawn_rows(machines_of(session, UNICODE, NAME), 76)
    assert "▕▌····▏   9%" in row and row.endswith("8 GPUs THROTTLED: HW thermal")
    throttled[2] = GpuReadings(index=2, absent={"gpu": "it fell off the bus"})
    session.apply(Telemetry(t=6.0, at_s=[6.0], gpus=tuple(throttled), node="many"))
    assert machines_of(session, UNICODE, NAME).device(0).notes[1:] == (
        "7 GPUs THROTTLED: HW thermal, 1 GPU lost",
        "7 GPUs THROTTLED, 1 GPU lost",
        "THROTTLED, lost",
    )


def test_a_sum_with_a_missing_gpu_is_none() -> None:
    (*_, node) = machines_of(with_gpus(100.0, None), UNICODE, NAME).devices(4)
    power, memory = node.gauge("power"), node.gauge("memory")
    assert power is not None and memory is not None
    assert (power.value, power.absent, memory.value) == ("–", "not supported", "1.9GiB")


@pytest.mark.parametrize(
    ("devices", "reason", "why"),
    [
        ((), "the driver is not loaded", "no GPU: the driver is not loaded"),
        ((), "no driver", "no driver"),
        (("MI300X",), "torch was built for ROCm", "GPU not read: torch was built for ROCm"),
    ],
)
def test_gpu_that_torch_uses_is_not_said_to_be_missing(devices: tuple[str, ...], reason: str, why: str) -> None:
    session = in_cluster()
    host = Host(absent={"gpu": reason})
    session.apply(NodeJoined(t=2.0, node="one", host=host, kind="cpu", clock_offset_s=0.0))
    session.apply(Runtime(t=2.0, torch="2.9", cuda_devices=devices, node="one"))
    assert machines_of(session, UNICODE, NAME, "one").why == why


def one_gpu(gpu: Gpu, host: HostReadings | None = None, **readings: Any) -> Session:
    session = Session()
    start = SessionStarted(
        t=0.0,
        id="s",
        created="2026-11-21T10:00:00Z",
        sweep=Sweep(name="s", model="m"),
        plan=(Config(device="cuda:0"),),
        host=Host(gpus=(gpu,), cpu_count=2, memory_mb=16_000.0),
    )
    session.apply(start)
    columns = {name: [value] for name, value in readings.items()}
    gpus = (GpuReadings(index=gpu.index, **columns),)
    session.apply(Telemetry(t=5.0, at_s=[5.0], gpus=gpus, host=host or HostReadings()))
    return session


def roles(gpu: Gpu, **readings: Any) -> dict[str, str]:
    device = machines_of(one_gpu(gpu, **readings), UNICODE, NAME).device(0)
    return {gauge.label: gauge.role for gauge in device.gauges}


@pytest.mark.parametrize(
    ("used_mb", "power_w", "temperature_c", "expected"),
    [
        (80_000, 600, 79, ("good", "good", "good")),
        (90_000, 686, 80, ("warning", "warning", "warning")),
        (97_000, 800, 90, ("bad", "warning", "bad")),
    ],
)
def test_severity_is_of_memory_power_limit_and_temperature_but_never_of_load(
    used_mb: float, power_w: float, temperature_c: float, expected: tuple[str, str, str]
) -> None:
    gpu = Gpu(index=0, name="H", memory_mb=100_000, power_limit_w=700)
    readings = {"memory_used_mb": used_mb, "power_w": power_w, "temperature_c": temperature_c}
    found = roles(gpu, utilization_percent=100, **readings)
    assert (found["memory"], found["power"], found["temp"]) == expected
    assert found["utilization"] == "accent"


def test_temperature_is_judged_by_the_slowdown_threshold_of_the_device() -> None:
    gpu = Gpu(index=0, name="H", slowdown_c=75)
    assert [roles(gpu, temperature_c=heat)["temp"] for heat in (64, 65, 75)] == ["good", "warning", "bad"]


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("Tesla V100-SXM2-16GB", "V100"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada"),
        ("NVIDIA A100 80GB PCIe", "A100"),
        ("NVIDIA", "NVIDIA"),
    ],
)
def test_gpu_names_are_shortened_to_the_model(name: str, model: str) -> None:
    assert machines_of(one_gpu(Gpu(index=0, name=name)), UNICODE, NAME).device(0).name == model


def test_maximum_clock_is_shown_only_if_the_driver_reported_it_and_there_is_room() -> None:
    known = Gpu(index=0, name="H", graphics_clock_mhz=1980, graphics_clock_is_highest=True)
    for gpu, width, clock in (
        (known, 120, " 345/1980 MHz"),
        (known, 60, "  345 MHz"),
        (Gpu(index=0, name="H", graphics_clock_mhz=1980), 120, "  345 MHz"),
    ):
        _, row, *_ = drawn_rows(machines_of(one_gpu(gpu, graphics_clock_mhz=345.0), UNICODE, NAME), width)
        assert clock in row
    assert "–" in drawn_rows(machines_of(one_gpu(known), UNICODE, NAME), 120)[1]


def test_host_names_its_scale_and_flags_other_processes() -> None:
    readings = HostReadings(cpu_percent=[148.0], worker_cpu_percent=[99.0], engine_cpu_percent=[1.0])
    host = machines_of(one_gpu(Gpu(index=0, name="H"), readings), UNICODE, NAME).host
    assert host is not None
    assert host.gauges[0].value == "148% of 2 cores"
    assert host.readings == (("⚑ other processes 48% CPU", "warning"), ("engine 1% CPU", "muted"))


@pytest.mark.parametrize("symbols", [UNICODE, ASCII])
def test_a_worker_that_is_gone_is_not_named_next_to_gpus(symbols: Symbols) -> None:
    session = one_gpu(Gpu(index=0, name="H"), HostReadings(worker_cpu_percent=[99.0], worker_rss_mb=[500.0]))

    def host_row() -> str:
        *_, host = gauge_lines(machines_of(session, symbols, NAME), 160, 3, symbols)
        return "".join(text for text, _ in host)

    assert "worker 99% CPU, 500 MB RSS" in host_row()
    gone = HostReadings(worker_cpu_percent=[None], worker_rss_mb=[None])
    session.apply(Telemetry(t=6.0, at_s=[6.0], host=gone))
    assert "worker" not in host_row()


def test_readings_of_an_ended_session_carry_the_time_of_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    session = one_gpu(Gpu(index=0, name="H"))
    session.apply(Telemetry(t=130.0, at_s=[130.0]))
    assert machines_of(session, UNICODE, NAME).as_of is None
    assert machines_of(session, UNICODE, NAME, live=False).as_of == "10:02"
    session.apply(Resumed(t=200.0, created="2026-11-21T12:00:00Z", host=Host(), cases=()))
    session.apply(Telemetry(t=260.0, at_s=[260.0]))
    assert machines_of(session, UNICODE, NAME, live=False).as_of == "12:01"
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("created", ["", "yesterday", "9999-12-31T23:59:59+00:00"])
def test_unknown_start_time_leaves_out_the_time_of_the_last_reading(created: str) -> None:
    session = in_cluster()
    session.started = structs.replace(session.start, created=created)
    assert machines_of(session, UNICODE, NAME, live=False).as_of == ""


def drawn_rows(machines: Machines, width: int = 200) -> list[str]:
    """Return the gauges of a tall screen as text."""
    return ["".join(piece for piece, _ in row) for row in gauge_lines(machines, width, 40, UNICODE)]


def test_activity_of_a_gpu_has_gauges_and_charts_where_it_is_read() -> None:
    session = Session()
    gpu = Gpu(index=0, name="H100", power_limit_w=700.0, memory_mb=80_000.0)
    start = SessionStarted(
        t=0.0, id="g", created="", sweep=Sweep(name="g", model="m"), plan=(), host=Host(gpus=(gpu,))
    )
    session.apply(start)
    plain = {"power_w": [400.0, 410.0], "utilization_percent": [97.0, 98.0]}
    session.apply(Telemetry(t=1.0, at_s=[0.5, 1.0], gpus=(GpuReadings(index=0, **plain),)))
    without = machines_of(session, UNICODE, NAME)
    assert not any("tensor" in row for row in drawn_rows(without))
    counters = {"compute_active_percent": [90.0, 91.0], "tensor_active_percent": [60.0, 61.0]}
    session.apply(Telemetry(t=2.0, at_s=[1.5, 2.0], gpus=(GpuReadings(index=0, **plain, **counters),)))
    machines = machines_of(session, UNICODE, NAME)
    gauges = {gauge.label: gauge.value for gauge in machines.device(0).gauges}
    assert (gauges["SM"], gauges["tensor"]) == ("91%", "61%") and "DRAM" not in gauges
    rows = drawn_rows(machines)
    assert "SM" in rows[0] and "tensor" in rows[0] and "91%" in rows[1]
    assert any("tensor 61%" in row for row in rows[2:]), "a chart on a whole screen"
