import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pynvml
import pytest

from benchtui.engine.telemetry.gpu.nvml import THROTTLES, throttle_names
from benchtui.sessions.payloads import GPU_ACTIVITY

UUID = "GPU-00000000-0000-0000-0000-{:012}"
READINGS = (
    "power_w",
    "power_limit_w",
    "memory_used_mb",
    "memory_total_mb",
    "utilization_percent",
    "temperature_c",
    "graphics_clock_mhz",
    "memory_clock_mhz",
    "performance_state",
    "throttle",
    "energy_j",
)

HELD = "held = lambda uuid, pid: (nvml.processes(uuid) or {}).get(pid)"


def test_readings_use_the_journal_units(with_gpus: Callable[..., Any]) -> None:
    script = f"""
nvml = open_nvml()
{HELD}
result = dict(
    driver=nvml.driver, gpus=nvml.gpus(), absent=nvml.absent, samples=[nvml.sample(), nvml.sample()],
    memory_mb=[
        held("{UUID.format(0)}", 41), held("{UUID.format(1)}", 41),
        held("{UUID.format(1)}", 42), held("{UUID.format(1)}", 43),
        held("GPU-unheard-of", 41),
    ],
    processes=[nvml.processes("GPU-unheard-of"), nvml.processes("{UUID.format(1)}")],
    deprecated=[calls(0, "GetTemperature"), calls(0, "GetCurrentClocksThrottleReasons")],
)
nvml.close()
result["closed"] = nvml.sample()
"""
    got = with_gpus(
        script,
        FAKE_NVML_THROTTLE="0:0x1/0x44,1:0x0/0x802",
        FAKE_NVML_PROCESSES=f"0:41:2000000000,1:41:3000000,1:42:0,1:43:{2**64 - 1},1:41:500000",
    )
    assert (got["driver"], got["absent"]) == ("570.1.fake", {})
    assert got["gpus"][1] == {
        "index": 1,
        "name": "Fake GPU B",
        "uuid": UUID.format(1),
        "memory_mb": 80000.0,
        "power_limit_w": 700.0,
        "mig": False,
        "persistence": True,
        "ecc": True,
        "pcie": "gen 5 x16",
        "sm_clock_mhz": 1981.0,
        "sm_clock_is_highest": True,
        "slowdown_c": 91.0,
        "memory_clock_mhz": 1982.0,
        "application_clock_mhz": 1981.0,
        "application_memory_clock_mhz": 1982.0,
    }
    first, second = got["samples"]
    assert 0 <= first[0].pop("energy_j") < first[1]["energy_j"] - 900, "1 kJ more for the second GPU"
    assert first[0] == {
        "index": 0,
        "power_w": 110.0,
        "power_averaged": False,
        "power_limit_w": 700.0,
        "memory_used_mb": 1002.0,
        "memory_total_mb": 80000.0,
        "utilization_percent": 91.0,
        "temperature_c": 41.0,
        "graphics_clock_mhz": 991.0,
        "memory_clock_mhz": 982.0,
        "performance_state": 0,
        "throttle": "",
        "absent": {},
        **dict.fromkeys(GPU_ACTIVITY),
    }
    assert [gpu["power_w"] for gpu in second] == [120.0, 170.0]
    assert [gpu["throttle"] for gpu in second] == ["sw_power_cap+hw_thermal", "app_clocks+0x800"]
    assert got["memory_mb"] == [2000.0, 3.5, None, None, None]
    assert got["processes"] == [None, {"41": 3.5, "42": None, "43": None}]
    assert got["deprecated"] == [0, 0]
    for gpu in got["closed"]:
        assert [gpu[name] for name in READINGS] == [None] * len(READINGS)
        assert "closed" in gpu["absent"]["gpu"]


def test_numa_node_is_that_of_the_pci_device(with_gpus: Callable[..., Any], tmp_path: Path) -> None:
    for device, node in (("0012:a1:00.0", "1"), ("0012:a2:00.0", "-1")):
        (tmp_path / device).mkdir()
        (tmp_path / device / "numa_node").write_text(f"{node}\n")
    script = f"""
from functools import partial
from pathlib import Path
from benchtui.engine.telemetry.gpu import nvml
nvml.numa_node = partial(nvml.numa_node, devices=Path({str(tmp_path)!r}))
result = [gpu.numa_node for gpu in open_nvml().gpus()]
"""
    assert with_gpus(script, FAKE_NVML_GPUS="3") == [1, None, None]
    assert with_gpus(script, FAKE_NVML_GPUS="1", FAKE_NVML_FAIL="0:GetPciInfo_v3:3") == [None]


def test_default_clock_is_told_from_the_highest(with_gpus: Callable[..., Any]) -> None:
    script = "result = open_nvml().gpus()[0]"
    gpu = with_gpus(script, FAKE_NVML_DEFAULT_CLOCK="1")
    assert gpu["sm_clock_mhz"] == 1481.0 and "sm_clock_is_highest" not in gpu
    unread = with_gpus(script, FAKE_NVML_FAIL="0:GetMaxClockInfo:3")
    assert "sm_clock_mhz" not in unread and "sm_clock_is_highest" not in unread


def test_stand_in_counts_the_energy_of_its_mean_power(with_gpus: Callable[..., Any]) -> None:
    script = """
import time

nvml = open_nvml()
begin_s = time.monotonic()
before = nvml.sample()[0]
read_s = time.monotonic()
time.sleep(0.05)
again_s = time.monotonic()
after = nvml.sample()[0]
result = [after.energy_j - before.energy_j, again_s - read_s, time.monotonic() - begin_s]
"""
    energy_j, least_s, most_s = with_gpus(script, FAKE_NVML_GPUS="1")
    assert 120.0 * least_s - 0.01 <= energy_j <= 120.0 * most_s + 0.01


def test_unknown_performance_state_is_none(with_gpus: Callable[..., Any]) -> None:
    script = "result = [open_nvml().sample()[0]]"
    for state, number in (("2", 2), ("32", None)):
        (sample,) = with_gpus(script, FAKE_NVML_PSTATE=state)
        assert sample["performance_state"] == number and sample["absent"] == {}


def test_partitioned_gpu_is_told_from_whole_ones(with_gpus: Callable[..., Any]) -> None:
    script = "result = [gpu.mig for gpu in open_nvml().gpus()]"
    refused = "2:GetMigMode:3"
    assert with_gpus(script, FAKE_NVML_GPUS="3", FAKE_NVML_MIG="1", FAKE_NVML_FAIL=refused) == [
        False,
        True,
        None,
    ]


@pytest.mark.parametrize(
    ("capability", "refused", "averaged"),
    [
        ("9.0", "", False),
        ("9.0", "0:GetFieldValues:3", True),
        ("8.6", "0:GetFieldValues:3", True),
        ("8.0", "0:GetFieldValues:3", False),
        ("7.5", "0:GetFieldValues:3", False),
        ("7.5", "0:GetFieldValues:3,0:GetCudaComputeCapability:3", True),
    ],
)
def test_averaged_power_is_told_from_instantaneous_power(
    with_gpus: Callable[..., Any], capability: str, refused: str, averaged: bool
) -> None:
    script = "result = open_nvml().sample()[0]"
    sample = with_gpus(script, FAKE_NVML_GPUS="1", FAKE_NVML_CAPABILITY=capability, FAKE_NVML_FAIL=refused)
    assert (sample["power_w"], sample["power_averaged"]) == (111.0 if refused else 110.0, averaged)


def test_rejected_reading_is_none_with_a_reason_and_not_retried(with_gpus: Callable[..., Any]) -> None:
    script = """
nvml = open_nvml()
result = dict(
    samples=[nvml.sample()[0] for _ in range(3)],
    calls=[calls(0, name) for name in ("GetTotalEnergyConsumption", "GetPowerUsage", "GetUtilizationRates")],
)
"""
    refusals = [
        "0:GetTotalEnergyConsumption:3",
        "0:GetFieldValues:3",
        "0:GetPowerUsage:4",
        "0:GetUtilizationRates:10:2-2",
    ]
    got = with_gpus(script, FAKE_NVML_GPUS="1", FAKE_NVML_FAIL=",".join(refusals))
    column = {name: [sample[name] for sample in got["samples"]] for name in (*READINGS, "absent")}
    assert column["energy_j"] == column["power_w"] == [None, None, None]
    assert column["utilization_percent"] == [91.0, None, 93.0]
    assert column["temperature_c"] == [41.0, 42.0, 43.0]
    lasting = {
        "energy_j": "not supported by this GPU or its driver",
        "power_w": "permission denied by the driver; an administrator can grant it",
    }
    passing = {"utilization_percent": "the driver did not respond in time"}
    assert column["absent"] == [lasting, lasting | passing, lasting]
    assert got["calls"] == [1, 1, 3]


def test_older_driver_uses_the_functions_it_has(with_gpus: Callable[..., Any]) -> None:
    script = f"""
nvml = open_nvml()
{HELD}
result = dict(
    samples=[nvml.sample()[0] for _ in range(2)], memory_mb=held("{UUID.format(0)}", 41),
    calls=[calls(0, name) for name in ("GetFieldValues", "GetTemperatureV", "GetMemoryInfo_v2")],
)
"""
    newer = [
        "GetFieldValues",
        "GetTemperatureV",
        "GetMemoryInfo_v2",
        "GetCurrentClocksEventReasons",
        "GetComputeRunningProcesses_v3",
    ]
    got = with_gpus(
        script,
        FAKE_NVML_GPUS="1",
        FAKE_NVML_FAIL=",".join(f"0:{name}:13" for name in newer),
        FAKE_NVML_THROTTLE="0:0x20",
        FAKE_NVML_PROCESSES="0:41:7000000",
    )
    sample = got["samples"][0]
    assert (sample["power_w"], sample["temperature_c"], sample["throttle"]) == (111.0, 41.0, "sw_thermal")
    assert (sample["memory_used_mb"], got["memory_mb"], sample["absent"]) == (1502.0, 7.0, {})
    assert got["calls"] == [1, 1, 1]


def test_lost_gpu_does_not_affect_the_others(with_gpus: Callable[..., Any]) -> None:
    script = """
nvml = open_nvml()
samples = [nvml.sample() for _ in range(4)]
asked = calls(1, "GetUtilizationRates")
result = dict(
    indices=[gpu.index for gpu in nvml.gpus()], absent=nvml.absent, samples=samples, asked=asked,
)
"""
    got = with_gpus(
        script, FAKE_NVML_GPUS="4", FAKE_NVML_FAIL="1:GetUtilizationRates:15:3,2:GetHandleByIndex:8"
    )
    assert got["indices"] == [0, 1, 3]
    assert got["absent"] == {"gpu 2": "the GPU's power cables are not properly connected"}
    assert got["asked"] == 3
    for readings in got["samples"]:
        assert not any(readings[gpu][name] is None for gpu in (0, 2) for name in READINGS)
    last = got["samples"][-1][1]
    assert [last[name] for name in READINGS] == [None] * len(READINGS)
    assert list(last["absent"]) == ["gpu"] and "fallen off the bus" in last["absent"]["gpu"]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"FAKE_NVML_INIT": "9"}, "the NVIDIA driver is not loaded"),
        ({"FAKE_NVML_GPUS": "0"}, "the NVIDIA driver 570.1.fake finds no GPU"),
    ],
)
def test_driver_without_gpus_says_what_to_check(
    with_gpus: Callable[..., Any], settings: dict[str, str], reason: str
) -> None:
    got = with_gpus("result = open_nvml()", **settings)
    assert got["reason"].startswith(reason) and "check" in got["reason"]


def test_missing_driver_is_reported(tmp_path: Path, with_library: Callable[..., Any]) -> None:
    # an empty file hides the driver of a machine that has one: the loader stops at it
    for name in ("libnvidia-ml.so.1", "libcuda.so.1"):
        (tmp_path / name).touch()
    got = with_library(tmp_path, "result = open_nvml()")
    assert got["reason"].startswith("no NVIDIA driver on this machine (libnvidia-ml.so.1 not found); install")


def test_driver_without_its_management_library_is_told_from_none(
    tmp_path: Path, fake_nvml: Path, with_library: Callable[..., Any]
) -> None:
    (tmp_path / "libnvidia-ml.so.1").touch()
    shutil.copy(fake_nvml / "libnvidia-ml.so.1", tmp_path / "libcuda.so.1")  # any library that can be loaded
    reason = with_library(tmp_path, "result = open_nvml()")["reason"]
    assert "Jetson" in reason and "utility" in reason and "install" not in reason


def test_every_throttle_reason_has_a_name() -> None:
    known = {
        value
        for name, value in vars(pynvml).items()
        if name.startswith(("nvmlClocksEventReason", "nvmlClocksThrottleReason")) and value.bit_count() == 1
    }
    assert len(known) > 8 and known <= set(THROTTLES)
    assert throttle_names(0) == throttle_names(pynvml.nvmlClocksEventReasonGpuIdle) == ""
    assert throttle_names(0x8 | 0x80 | 0x10) == "hw_slowdown+sync_boost+hw_power_brake"
