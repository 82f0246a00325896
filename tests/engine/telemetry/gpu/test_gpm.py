"""Activity counters of the GPUs that tests/nvml/nvml.c plays."""

from collections.abc import Callable
from typing import Any

import pytest

from benchtui.engine.telemetry.gpu.gpm import METRICS
from benchtui.engine.telemetry.gpu.reader import GpuSample
from benchtui.sessions.export.case_schema import CaseRow
from benchtui.sessions.payloads import FILE_NAMES, GPU_ACTIVITY, Environment, GpuReadings

TWICE = "nvml = open_nvml(); nvml.sample(); result = [nvml.sample(), nvml.sample()]"


def activity(sample: dict[str, Any]) -> dict[str, float | None]:
    return {name: sample[name] for name in GPU_ACTIVITY}


def test_each_sample_has_the_means_since_the_one_before(with_gpus: Callable[..., Any]) -> None:
    first, second = with_gpus(TWICE)
    assert activity(first[0]) == {
        "compute_active_percent": 2.5,
        "occupancy_percent": 3.5,
        "tensor_active_percent": 5.5,
        "dram_active_percent": 10.5,
        "pcie_tx_mb_per_s": 21.5,
        "pcie_rx_mb_per_s": 22.5,
        "link_rx_mb_per_s": 63.4,
        "link_tx_mb_per_s": 64.5,
    }
    assert activity(second[1])["compute_active_percent"] == 13.0
    assert first[0]["absent"] == second[1]["absent"] == {}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"FAKE_NVML_CAPABILITY": "8.0"}, "Hopper or newer"),
        ({"FAKE_NVML_MIG": "0"}, "MIG"),
        ({"FAKE_NVML_FAIL": "0:GpmQueryDeviceSupport:13"}, "this version of the driver lacks the function"),
        ({"FAKE_NVML_FAIL": "0:GpmSampleGet:4"}, "permission denied"),
    ],
)
def test_missing_counters_have_one_reason(
    with_gpus: Callable[..., Any], settings: dict[str, str], reason: str
) -> None:
    script = TWICE + "; result.append([calls(0, 'GpmQueryDeviceSupport'), calls(0, 'GpmSampleGet')])"
    first, second, asked = with_gpus(script, **{"FAKE_NVML_GPUS": "1"} | settings)
    for (sample,) in (first, second):
        assert set(activity(sample).values()) == {None}
        assert sample["power_w"] is not None
        assert list(sample["absent"]) == ["activity"] and reason in sample["absent"]["activity"]
    assert max(asked) <= 1, "not tried again"


def test_refused_metric_leaves_the_others(with_gpus: Callable[..., Any]) -> None:
    (first, *_), _ = with_gpus(TWICE, FAKE_NVML_NO_METRIC="60,61")
    assert set(first["absent"]) == {"link_rx_mb_per_s", "link_tx_mb_per_s"}
    assert first["link_rx_mb_per_s"] is None and first["dram_active_percent"] == 10.5


def test_sample_that_failed_is_not_the_start_of_a_mean(with_gpus: Callable[..., Any]) -> None:
    script = "nvml = open_nvml(); result = [nvml.sample()[0] for _ in range(5)]"
    samples = with_gpus(script, FAKE_NVML_GPUS="1", FAKE_NVML_FAIL="0:GpmSampleGet:10:3-3")
    assert [each["compute_active_percent"] for each in samples] == [None, 2.5, None, None, 4.0]
    assert [list(each["absent"]) for each in samples] == [[], [], ["activity"], ["activity"], []]


def test_lost_gpu_has_no_activity(with_gpus: Callable[..., Any]) -> None:
    (first,), (second,) = with_gpus(TWICE, FAKE_NVML_GPUS="1", FAKE_NVML_FAIL="0:GpmSampleGet:15:3")
    assert first["compute_active_percent"] == 2.5
    assert second["compute_active_percent"] is None and "fallen off the bus" in second["absent"]["gpu"]


def test_package_without_gpm_is_named(with_gpus: Callable[..., Any]) -> None:
    (sample,), _ = with_gpus("del pynvml.nvmlGpmMetricsGet\n" + TWICE, FAKE_NVML_GPUS="1")
    assert sample["absent"] == {"activity": "the installed nvidia-ml-py lacks GPM; update it"}


def test_doctor_says_whether_a_gpu_has_activity_counters(with_gpus: Callable[..., Any]) -> None:
    script = "from benchtui.engine import doctor; result = [each.text for each in doctor._gpus(open_nvml())]"
    assert "activity of its units is read" in with_gpus(script, FAKE_NVML_GPUS="1")[0]
    assert (
        "no activity: the driver exposes no counters of this GPU"
        in with_gpus(script, FAKE_NVML_GPUS="1", FAKE_NVML_CAPABILITY="8.0")[0]
    )


def test_every_counter_is_in_the_record_and_in_exports() -> None:
    assert set(METRICS) == set(GPU_ACTIVITY)
    for record in (GpuSample, GpuReadings, Environment):
        assert set(GPU_ACTIVITY) <= set(record.__struct_fields__)
    assert {FILE_NAMES[name] for name in GPU_ACTIVITY} <= set(CaseRow.__struct_fields__)
