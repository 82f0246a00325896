from operator import attrgetter

import pytest

from benchtui.sessions.events import CaseStarted, NodeJoined, NodeLost, SessionStarted, Telemetry
from benchtui.sessions.payloads import Gpu, GpuReadings, Host, HostReadings
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Config, Sweep
from benchtui.themes.symbols import UNICODE
from benchtui.tui.model.machine_gauges import machines_of, throttle_text
from benchtui.tui.panels.gauges import gauge_lines

NAME = attrgetter("name")


@pytest.mark.parametrize(
    ("throttle", "said"),
    [
        ([], ("", False)),
        ([None, ""], ("", False)),
        (["hw_thermal", ""], ("", False)),
        (["", "sw_power_cap"], ("clock limited by sw power cap", False)),
        (["sw_power_cap+hw_thermal", None], ("clock limited by sw power cap, hw thermal", True)),
        (["\x1b[2Jhw_slowdown"], ("clock limited by [2Jhw slowdown", False)),
    ],
)
def test_throttle_text_shows_the_latest_reasons(throttle: list[str | None], said: tuple[str, bool]) -> None:
    assert throttle_text(throttle) == said


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


def test_each_node_shows_gauges_and_running_cases() -> None:
    machines = machines_of(in_cluster(), UNICODE, NAME)
    assert machines.host is None
    devices = machines.first(3)
    assert [(each.title, each.remark, each.alarming) for each in devices] == [
        ("box-one", "idle", False),
        ("box-two", "cpu fp32 compile=off bs=1 seq=128", False),
        ("box-three", "lost: it went away", True),
    ]
    assert [gauge.value for gauge in devices[1].gauges] == ["200 %", "500 MB"]
    assert devices[2].gauges == ()


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
    (*_, node) = machines_of(with_gpus(100.0, 300.0), UNICODE, NAME).first(4)
    power, vram = node.gauges
    assert (node.name, power.value, power.limit, vram.value) == ("H, 2 GPUs", "400 W", "1,400 W", "2.0 GB")
    assert power.past is not None and list(power.past())[-2:] == [200 / 1400, 400 / 1400]
    assert (node.remark, node.alarming) == ("GPU 1 clock limited by hw thermal", True)


def test_a_sum_with_a_missing_gpu_is_none() -> None:
    (*_, node) = machines_of(with_gpus(100.0, None), UNICODE, NAME).first(4)
    power, vram = node.gauges
    assert (power.value, power.absent, vram.value) == ("–", "not supported", "2.0 GB")


def test_readings_of_an_undescribed_gpu_are_shown() -> None:
    session = in_cluster()
    readings = (GpuReadings(index=5, power_w=[100.0]),)
    session.apply(Telemetry(t=3.0, at_s=[3.0], gpus=readings, node="box-one"))
    assert machines_of(session, UNICODE, NAME).first(1)[0].gauges[0].value == "100 W"


def test_a_selected_node_is_shown_alone() -> None:
    machines = machines_of(in_cluster(), UNICODE, NAME, "box-two")
    assert machines.host is not None
    assert (machines.host.title, machines.host.name) == ("box-two", "CPU of box-two")


def test_many_nodes_get_one_line_each_with_full_names() -> None:
    lines = gauge_lines(machines_of(in_cluster(), UNICODE, NAME), 80, 3, UNICODE)
    texts = ["".join(text for text, _ in line) for line in lines]
    assert [text.split()[0] for text in texts] == ["box-one", "box-two", "box-three"]
    assert "200 %" in texts[1] and texts[1].rstrip().endswith("seq=128")


def test_machines_are_placed_side_by_side_if_they_do_not_fit_below_each_other() -> None:
    machines = machines_of(with_gpus(100.0, 300.0), UNICODE, NAME)
    narrow, wide = (
        ["".join(text for text, _ in line) for line in gauge_lines(machines, width, 10, UNICODE)]
        for width in (80, 83)
    )
    assert [text.split()[0] for text in narrow] == ["box-one", "box-two", "box-three", "many"]
    assert len(wide) <= 10 and wide[0].split()[0] == "box-one"
    (beside,) = [text for text in wide if "many" in text]
    assert beside.index("many") == 43


def test_hidden_machines_are_counted() -> None:
    lines = gauge_lines(machines_of(in_cluster(), UNICODE, NAME), 60, 2, UNICODE, ": z")
    assert lines[-1] == (("2 more: z", "muted"),)


def test_a_machine_too_tall_for_the_panel_gets_one_line() -> None:
    machines = machines_of(with_gpus(100.0, 300.0), UNICODE, NAME, "many")
    lines = ["".join(text for text, _ in line) for line in gauge_lines(machines, 200, 4, UNICODE)]
    assert [text.split("  ")[0] for text in lines] == ["GPU 0", "GPU 1", "many"]


def test_a_gpu_without_readings_hides_the_history_of_its_node() -> None:
    session = with_gpus(100.0)
    late = (GpuReadings(index=1, power_w=[5.0], memory_used_mb=[1.0]),)
    session.apply(Telemetry(t=5.0, at_s=[], gpus=late, node="many"))
    machines = machines_of(session, UNICODE, NAME)
    assert [(gauge.value, gauge.past) for gauge in machines.first(4)[-1].gauges] == [("–", None), ("–", None)]
    assert len(gauge_lines(machines, 120, 60, UNICODE)) > 10
