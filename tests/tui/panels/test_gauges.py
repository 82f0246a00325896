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
        Gauge("worker RSS", "1.6 GB", 0.1, "good", past=past),
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


def test_eight_gpus_fit_in_eight_rows_at_76_columns_with_bars_and_limits() -> None:
    rows = drawn(gpus(8), 76, 8)
    assert len(rows) == 8
    for index, row in enumerate(rows):
        assert row[:2] == ("▸0" if index == 0 else f" {index}")
        assert row.count("▕") == 3
        assert [word for word in row.split() if word in ("94%", "41/82G", "659/700W", "74°C", "1980")] == [
            "94%",
            "41/82G",
            "659/700W",
            "74°C",
            "1980",
        ]


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


@pytest.mark.parametrize("count", [0, 1, 2, 4, 8])
@pytest.mark.parametrize("width", [56, 76, 116, 196])
def test_requested_height_is_what_the_gauges_fill(count: int, width: int) -> None:
    machines = gpus(count) if count else wall(why="no NVIDIA driver")
    height = gauge_height(machines, width)
    rows = drawn(machines, width, height)
    assert len(rows) == height and all(rows)
    assert drawn(machines, width, height + 1) == rows
    if count:
        assert rows[0].split()[:3] == ["utilization", "memory", "power"] and "host CPU" in " ".join(rows)


def test_columns_are_dropped_whole_as_the_panel_narrows() -> None:
    words = [row[0].split() for row in (drawn(gpus(2), width, 5) for width in (150, 116, 76, 56, 40, 20))]
    assert words[0][:6] == ["utilization", "memory", "power", "temp", "clock", "SM"]
    assert words[1] == ["utilization", "memory", "power", "temp", "clock", "power,", "last", "60", "s"]
    assert words[2:] == [
        ["utilization", "memory", "power", "temp", "clock"],
        ["utilization", "memory", "power"],
        ["utilization", "memory"],
        ["utilization"],
    ]


def test_hidden_gpus_are_summed_up_without_the_host_and_the_own_one_stays() -> None:
    devices = [gpu(index) for index in range(8)]
    devices[2] = gpu(2, standing="foreign", notes=FOREIGN)
    devices[3] = gpu(3, alarming=True, notes=("THROTTLED: HW thermal slowdown", "THROTTLED"))
    devices[7] = gpu(7, standing="own")
    rows = drawn(wall(*devices, own=frozenset({7})), 76, 3)
    assert [row[:2] for row in rows[:2]] == [" 0", "▸7"]
    assert rows[2] == " 6 more GPUs, 1 used by other processes, 1 THROTTLED: z"


def test_own_gpu_is_bright_and_others_are_dimmed() -> None:
    lines = gauge_lines(gpus(2), 76, 2, UNICODE)
    own, other = ({role for _, role in line} for line in lines)
    assert {"strong", "bright", "accent"} <= own
    assert other <= {"muted", "faint", "plain"}


def test_gpu_of_others_is_flagged_in_amber_with_words() -> None:
    devices = (gpu(0, standing="own"), gpu(1, standing="foreign", notes=FOREIGN))
    _, line = gauge_lines(wall(*devices), 116, 2, UNICODE)
    assert line[0] == ("⚑1 H100", "warning") and any(
        "other processes" in text and role == "warning" for text, role in line
    )


THROTTLED = ("THROTTLED: HW thermal slowdown", "THROTTLED: HW thermal", "THROTTLED")


@pytest.mark.parametrize(("width", "words"), [(116, THROTTLED[0]), (76, THROTTLED[2]), (56, "THROTTLED")])
def test_throttling_is_told_at_every_width(width: int, words: str) -> None:
    machines = wall(gpu(0, standing="own", alarming=True, notes=THROTTLED), gpu(1))
    lines = gauge_lines(machines, width, 2, UNICODE)
    assert words in texts(lines)[0]
    assert ("bad" in {role for _, role in lines[0]}) and "bad" not in {role for _, role in lines[1]}


def test_severity_colors_value_and_bar_even_of_other_gpus() -> None:
    hot = Gauge("temp", "95°C", role="bad", widest=5, barred=False)
    full = Gauge("memory", "80/82G", 0.98, "bad", 7)
    (line, *_) = gauge_lines(wall(gpu(0, standing="other", gauges=(full, hot))), 76, 1, UNICODE)
    assert [text.strip() for text, role in line if role == "bad"][1:] == ["80/82G", "95°C"]


def test_absent_readings_are_dashes_with_the_reason_once() -> None:
    gauges = (Gauge("utilization", "–", absent="not supported"), Gauge("power", "–", absent="not supported"))
    machines = wall(gpu(0, gauges=gauges), gpu(1, gauges=gauges))
    rows = drawn(machines, 76, gauge_height(machines, 76))
    assert [row.split()[-2:] for row in rows[1:3]] == [["–", "–"]] * 2
    assert rows[3] == " – utilization, power: not supported"
    assert "not supported" not in "".join(rows[4:])


def test_host_without_gpu_has_bars_and_the_reason_in_one_row() -> None:
    machines = wall(why="no NVIDIA driver on this machine")
    rows = drawn(machines, 76, gauge_height(machines, 76))
    assert [row[1:13].strip() for row in rows[:4]] == ["host CPU", "host memory", "worker CPU", "worker RSS"]
    assert all("▕" in row for row in rows[:4])
    assert sum("no NVIDIA driver" in row for row in rows) == 1
    assert gauge_height(machines, 116) == 3


@pytest.mark.parametrize(("as_of", "title"), [("14:02", "last readings, 14:02"), ("", "last readings")])
def test_old_readings_are_dimmed_and_named_in_the_title(as_of: str, title: str) -> None:
    machines = gpus(2, as_of=as_of)
    assert machine_title(machines) == ([("GPUs", "muted")], [(title, "plain")])
    assert {role for line in gauge_lines(machines, 116, 20, UNICODE) for _, role in line} <= {"muted", "faint"}
    assert machine_title(gpus(2))[1] == []


def test_tall_panels_are_filled_with_charts() -> None:
    for machines in (wall(), gpus(1), gpus(2), gpus(8)):
        rows = drawn(machines, 196, 40)
        assert len(rows) >= 15 and any("last" in row and "CPU" in row for row in rows[6:])


def test_cluster_nodes_get_a_row_each_with_their_case() -> None:
    cpu = (Gauge("CPU", "200% of 4 cores", 0.5, "accent"), Gauge("worker RSS", "500 MB", 0.1, "good"))
    names = ("box-one", "box-two", "box-three")
    nodes = [Machine(name, "cpu", cpu, notes=(f"cpu fp32 bs={name}",)) for name in names]
    nodes.append(Machine("box-four", "cpu", (), notes=("lost: it went away",), alarming=True))
    rows = drawn(wall(*nodes, host=None, noun="node"), 80, 4)
    assert [row.split()[0] for row in rows] == [*names, "⚑box-four"]
    assert all(row.rstrip().endswith(f"bs={name}") for row, name in zip(rows, names, strict=False))
    assert "lost: it went away" in rows[3]


def test_many_nodes_stand_side_by_side_before_any_is_hidden() -> None:
    nodes = [Machine(f"box-{index}", "cpu", (), notes=("idle",)) for index in range(12)]
    machines = wall(*nodes, host=None, noun="node")
    wide, narrow = drawn(machines, 196, 6), drawn(machines, 76, 6)
    assert "box-11" in wide[-1] and not any("more" in row for row in wide)
    assert narrow[-1] == " 7 more nodes: z"


def test_a_long_reason_for_no_gpu_is_given_in_brief_and_shares_its_row() -> None:
    long = "no NVIDIA driver on this machine (libnvidia-ml.so.1 not found); install the driver, or start again"
    machines = wall(why=long)
    assert gauge_height(machines, 76) == gauge_height(wall(why="no NVIDIA driver on this machine"), 76)
    narrow, wide = (drawn(machines, width, 20) for width in (76, 150))
    assert any("no NVIDIA driver on this machine" in row and "libnvidia" not in row for row in narrow)
    assert any(long in row for row in wide)
