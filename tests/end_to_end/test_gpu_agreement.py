"""Comparisons of the first checks on a GPU: each notices a planted wrong value, and passes the right one."""

import json
import os
import sys
import tarfile
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from benchtui.sessions.library.paths import CPU_DEMO, demo_path
from benchtui.sessions.state.session import Session

FOLDER = Path(__file__).parents[1] / "bench" / "on_gpu"
Load = Callable[[str], Any]
STEADY = [(at / 10, 400.0) for at in range(-10, 121)]
"""Readings of 400 W every 100 ms."""


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Import a module of the first checks, which lie in a folder of programs."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    yield lambda name: __import__(name)
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def agreement(load: Load) -> ModuleType:
    module: ModuleType = load("agreement")
    return module


@pytest.mark.parametrize(
    ("recorded", "other", "agrees"),
    [
        (3.0, 3.0, True),
        (3.059, 3.0, True),
        (3.063, 3.0, False),
        (2.94, 3.0, True),
        (2.93, 3.0, False),
        (None, 3.0, False),
        (3.0, None, False),
        (3.0, 0.0, False),
    ],
)
def test_a_step_two_percent_off_differs(
    agreement: ModuleType, recorded: float | None, other: float | None, agrees: bool
) -> None:
    ratio = agreement.Ratio("step", recorded, other, agreement.EXACT, "ms")
    assert ratio.agrees is agrees


def test_energy_is_the_integral_of_power_between_readings(agreement: ModuleType) -> None:
    assert agreement.integral(STEADY, 0.05, 10.05) == pytest.approx(4000)
    ramp = [(0.0, 0.0), (1.0, 100.0), (3.0, 300.0)]
    assert agreement.integral(ramp, 0.5, 2.0) == pytest.approx((200**2 - 50**2) / 200)
    assert agreement.integral(STEADY, 0.0, 12.5) is None, "no reading covers the end"
    assert agreement.integral([], 0.0, 1.0) is None


def test_planted_differences_of_kernels_are_found(agreement: ModuleType) -> None:
    kernel = agreement.Kernel
    own = {"gemm": kernel(12, 2.0), "softmax": kernel(12, 0.5), "tiny": kernel(1, 0.001)}
    assert agreement.kernel_differences(own, own, share=0.03)[0] == []
    renamed = {"gemm": kernel(12, 2.0), "norm": kernel(12, 0.5)}
    assert agreement.kernel_differences(renamed, own, share=0.03)[0] == [
        "norm: only recorded",
        "softmax: only by hand",
    ]
    half = own | {"gemm": kernel(6, 1.0)}
    differences, ratios = agreement.kernel_differences(half, own, share=0.03)
    assert differences == ["gemm: 6 runs a step recorded, 12 by hand"]
    assert [(each.what, each.agrees) for each in ratios] == [("gemm", False), ("softmax", True)]


NONE = ("Not Active",) * 7
CAPPED = ("Not Active", "Active", *NONE[2:])
HOT = (*NONE[:3], "Active", *NONE[4:])
SMI = [
    ("2026/11/25 22:00:00.100", "698.42", "1755", "2619", "61", "40210", "700.00", *CAPPED),
    ("2026/11/25 22:00:00.200", "[N/A]", "1755", "2619", "61", "40210", "700.00", *CAPPED),
    ("2026/11/25 22:00:00.300", "350.00", "1980", "2619", "[N/A]", "40210", "700.00", *HOT),
    ("2026/11/25 22:00:00.400", "351"),
]
"""Lines of nvidia-smi, the last one cut."""


def test_readings_of_nvidia_smi_are_parsed(load: Load) -> None:
    smi = load("smi")
    rows = smi.parse("\n".join(map(", ".join, SMI)))
    began_s = datetime(2026, 11, 25, 22, 0, 0, 100_000).timestamp()  # noqa: DTZ001  (local time)
    assert [row.at_s - began_s for row in rows] == pytest.approx([0, 0.1, 0.2], abs=1e-5)
    assert [value for _, value in smi.column(rows, "power_w")] == [698.42, 350.0]
    assert "temperature_c" not in rows[2].readings
    assert rows[0].readings["memory_used_mb"] == pytest.approx(40210 * 1.048576)
    assert smi.reason_shares(rows) == {"sw_power_cap": pytest.approx(2 / 3), "hw_thermal": pytest.approx(1 / 3)}


SPAN_S = (2.0, 12.0)
START_S = 1_800_000_000.0
GPU = {
    "power_w": 400.0,
    "sm_clock_mhz": 1755.0,
    "memory_clock_mhz": 2619.0,
    "temperature_c": 61.0,
    "memory_used_mb": 42163.0,
}


def recorded(folder: Path, **planted: float) -> Any:
    """Return the telemetry of a session with steady readings, some of which are wrong."""
    at_s = [tick / 4 for tick in range(52)]
    columns = {name: [value] * len(at_s) for name, value in (GPU | planted).items()}
    telemetry = {"event": "telemetry", "t": 13.0, "at_s": at_s, "gpus": [{"index": 0, **columns}]}
    path = folder / "nvidia-smi.json"
    path.write_text(json.dumps([{"event": "session_started", "t": 0.0}, telemetry, {"event": "x", "t": 13.5}]))
    os.utime(path, (START_S + 13.5, START_S + 13.5))
    return path


def compared(
    load: Load, folder: Path, *, energy_j: float, words: tuple[str, ...], **planted: float
) -> list[str]:
    """Compare a planted session with steady rows of nvidia-smi. Return what differs."""
    driver, smi, checks = load("driver"), load("smi"), load("checks")
    rows = [smi.Row(START_S + at, GPU, frozenset({"sw_power_cap"})) for at, _ in STEADY]
    rows += [smi.Row(START_S + 12 + tick / 10, GPU, frozenset({"sw_power_cap"})) for tick in range(1, 5)]
    finished = SimpleNamespace(
        measured_s=SPAN_S,
        environment=SimpleNamespace(throttle=words),
        energy=SimpleNamespace(energy_j=energy_j, mean_power_w=energy_j / 10, source="counter", absent=None),
    )
    differing: list[str] = []
    findings = SimpleNamespace(
        figure=lambda *_: None,
        number=lambda ratio: None if ratio.agrees else differing.append(str(ratio)),
        expect_number=lambda agrees, said: None if agrees else differing.append(said),
    )
    found = driver.telemetry(recorded(folder, **planted))
    assert found.start_s == pytest.approx(START_S) and checks
    driver._compare(
        findings, SimpleNamespace(name="bs=64", finished=finished), found, SimpleNamespace(rows=rows)
    )
    return differing


RIGHT: dict[str, Any] = {"energy_j": 4000.0, "words": ("sw_power_cap",)}


@pytest.mark.parametrize(
    ("planted", "differing"),
    [
        ({}, []),
        ({"power_w": 360.0}, ["power_w"]),
        ({"power_w": 310.0}, ["power_w", "power in its most different second"]),
        ({"sm_clock_mhz": 1980.0}, ["sm_clock_mhz"]),
        ({"memory_clock_mhz": 1593.0}, ["memory_clock_mhz"]),
        ({"temperature_c": 70.0}, ["temperature_c"]),
        ({"memory_used_mb": 40210.0 * 1.2}, ["memory_used_mb"]),
        ({"energy_j": 4400.0}, ["energy by counter", "mean power"]),
        ({"words": ()}, ["sw_power_cap isn't recorded"]),
        ({"words": ("sw_power_cap", "hw_thermal")}, ["hw_thermal is recorded, and was never seen"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_session_that_contradicts_nvidia_smi_differs(
    load: Load, tmp_path: Path, planted: dict[str, Any], differing: list[str]
) -> None:
    found = compared(load, tmp_path, **(RIGHT | planted))
    assert len(found) == len(differing), found
    assert all(f"bs=64: {what}" in said for what, said in zip(differing, found, strict=True))


def archive(folder: Path, *, name: str = "NVIDIA H100 80GB HBM3", ended: bool = True) -> Path:
    """Pack a session of a planted GPU, with a host and a folder of its machine in it, small enough to keep."""
    events = (json.loads(line.rstrip(",")) for line in demo_path(CPU_DEMO).read_text().splitlines()[1:-1])
    lines = [event for event in events if event["event"] != "telemetry"]
    lines[0]["host"] |= {"hostname": "lab-17", "gpus": [{"index": 0, "name": name}]}
    lines[0]["host"]["environment"] = {"HF_HOME": "/home/ada/.cache/hf"}
    kept = lines if ended else lines[:-1]
    path = folder / "demo-gpu.json"
    path.write_text("[\n" + ",\n".join(map(json.dumps, kept)) + "\n]\n")
    with tarfile.open(folder / "part-2-sessions.tar.gz", "w:gz") as packed:
        packed.add(path, path.name)
    return folder / "part-2-sessions.tar.gz"


def test_a_kept_session_loses_the_names_of_its_machine(
    load: Load, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "fixtures"
    assert load("keep").main([str(archive(tmp_path))], target) == 0
    text = (target / "demo-gpu.json").read_text()
    assert "lab-17" not in text and "/ada" not in text
    assert Session.load(target / "demo-gpu.json").finished is not None
    assert "demo-gpu.json: kept" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("planted", "reason"),
    [
        (SimpleNamespace(name="Played GPU A", ended=True), "refused: no NVIDIA GPU measured it"),
        (SimpleNamespace(name="NVIDIA H100", ended=False), "refused: not complete"),
    ],
)
def test_a_session_that_proves_nothing_is_refused(
    load: Load, tmp_path: Path, capsys: pytest.CaptureFixture[str], planted: Any, reason: str
) -> None:
    target = tmp_path / "fixtures"
    assert load("keep").main([str(archive(tmp_path, name=planted.name, ended=planted.ended))], target) == 1
    assert reason in capsys.readouterr().out and not target.exists()
