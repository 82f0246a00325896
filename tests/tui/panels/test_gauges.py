from collections.abc import Sequence
from typing import Any

import pytest
from rich.cells import cell_len

from benchtui.themes.symbols import ASCII, UNICODE, Symbols
from benchtui.tui.drawing.styled_text import Line
from benchtui.tui.model.machines import FOREIGN
from benchtui.tui.panels.gauges import Machines, gauge_height, gauge_lines, machine_title
from benchtui.tui.panels.machine_rows import Gauge, Machine


def past(count: int, bucket_s: float) -> Sequence[float]:
    return [0.5] * count


def gpu(index: int, **fields: Any) -> Machine:
    gauges = (
        Gauge("utilization", "94%", 0.94, "accent", 4, past=past),
        Gauge("memory", "41/82G", 0.5, "good", 7, past=past),
        Gauge("power", "659/700W", 0.94, "good", 8, past=past),
        Gauge("temp", "74°C", widest=5, barred=False),
        Gauge("clock", "1980/2100 MHz", barred=False, short="1980 MHz"),
        Gauge("SM", "91%", barred=False, optional=True),
    )
    return Machine(**{"title": f"{index}", "name": "H100", "gauges": gauges, "trend": "power"} | fields)


HOST = Machine(
    "host",
    "",
    (
        Gauge("CPU", "148% of 16 cores", 0.1, "accent", past=past),
        Gauge("memory", "12/64G", 0.2, "good", past=past),
        Gauge("worker CPU", "99%", 0.1, "accent", past=past),
        Gauge("worker RSS", "1.49 GiB", 0.1, "good", past=past),
    ),
    (("other processes 48% CPU", "warning"), ("engine 1% CPU", "muted")),
)


def wall(*devices: Machine, **fields: Any) -> Machines:
    return Machines(**{"count": len(devices), "device": devices.__getitem__, "host": HOST} | fields)


def gpus(count: int, **fields: Any) -> Machines:
    return wall(gpu(0, standing="own"), *(gpu(index, standing="other") for index in range(1, count)), **fields)


def texts(lines: Sequence[Line]) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines]


def drawn(machines: Machines, width: int, height: int, symbols: Symbols = UNICODE) -> list[str]:
    return texts(gauge_lines(machines, width, height, symbols, ": z"))


@pytest.mark.parametrize("count", [0, 1, 2, 4, 8, 40])
@pytest.mark.parametrize("width", [20, 38, 56, 76, 116, 196])
def test_gauges_never_exceed_their_panel_and_never_cut_a_number(count: int, width: int) -> None:
    values = {"94%", "41/82G", "659/700W", "74°C", "1980", "1980/2100", "91%", *map(str, range(count))}
    for symbols in (UNICODE, ASCII):
        for height in range(1, 21):
            rows = drawn(gpus(count) if count else wall(), width, height, symbols)
            assert len(rows) <= height
            assert all(cell_len(row) <= width for row in rows)
            if symbols is UNICODE and width >= 38:
                own = next((row for row in rows if row.startswith("▸0")), "")
                assert "…" not in own
                assert {word for word in own.split() if word[0].isdigit()} <= values


def test_hidden_gpus_are_summed_up_without_the_host_and_the_own_one_stays() -> None:
    devices = [gpu(index) for index in range(8)]
    devices[2] = gpu(2, standing="foreign", notes=FOREIGN)
    devices[3] = gpu(3, alarming=True, notes=("THROTTLED: HW thermal slowdown", "THROTTLED"))
    devices[7] = gpu(7, standing="own")
    rows = drawn(wall(*devices, own=frozenset({7})), 76, 3)
    assert [row[:2] for row in rows[:2]] == [" 0", "▸7"]
    assert rows[2] == " 6 more GPUs, 1 used by other processes, 1 THROTTLED: z"


THROTTLED = ("THROTTLED: HW thermal slowdown", "THROTTLED: HW thermal", "THROTTLED")


@pytest.mark.parametrize(("width", "words"), [(116, THROTTLED[0]), (76, THROTTLED[2]), (56, "THROTTLED")])
def test_throttling_is_told_at_every_width(width: int, words: str) -> None:
    machines = wall(gpu(0, standing="own", alarming=True, notes=THROTTLED), gpu(1))
    lines = gauge_lines(machines, width, 2, UNICODE)
    assert words in texts(lines)[0]
    assert ("bad" in {role for _, role in lines[0]}) and "bad" not in {role for _, role in lines[1]}


def test_absent_readings_are_dashes_with_the_reason_once() -> None:
    gauges = (Gauge("utilization", "–", absent="not supported"), Gauge("power", "–", absent="not supported"))
    machines = wall(gpu(0, gauges=gauges), gpu(1, gauges=gauges))
    rows = drawn(machines, 76, gauge_height(machines, 76))
    assert [row.split()[-2:] for row in rows[1:3]] == [["–", "–"]] * 2
    assert rows[3] == " – utilization, power: not supported"
    assert "not supported" not in "".join(rows[4:])


@pytest.mark.parametrize(("as_of", "title"), [("14:02", "last readings, 14:02"), ("", "last readings")])
def test_old_readings_are_dimmed_and_named_in_the_title(as_of: str, title: str) -> None:
    machines = gpus(2, as_of=as_of)
    assert machine_title(machines) == ([("GPUs", "muted")], [(title, "plain")])
    assert {role for line in gauge_lines(machines, 116, 20, UNICODE) for _, role in line} <= {"muted", "faint"}
    assert machine_title(gpus(2))[1] == []


def test_a_long_reason_for_no_gpu_is_given_in_brief_and_shares_its_row() -> None:
    long = "no NVIDIA driver on this machine (libnvidia-ml.so.1 not found); install the driver, or start again"
    machines = wall(why=long)
    assert gauge_height(machines, 76) == gauge_height(wall(why="no NVIDIA driver on this machine"), 76)
    narrow, wide = (drawn(machines, width, 20) for width in (76, 150))
    assert any("no NVIDIA driver on this machine" in row and "libnvidia" not in row for row in narrow)
    assert any(long in row for row in wide)
