import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchtui.engine.telemetry.environment_variables import recorded_variables
from benchtui.engine.telemetry.gpu.reader import GpusUnavailable
from benchtui.engine.telemetry.host_info import (
    describe_host,
    governor,
    is_virtual,
    package_versions,
    processor_name,
)


def test_host_without_gpus_records_why() -> None:
    host = describe_host(GpusUnavailable("no driver"))
    assert (host.gpus, host.driver, host.absent["gpu"]) == ((), None, "no driver")
    assert (host.hostname, host.python) == (platform.node(), platform.python_version())
    assert host.cpu_count is not None and 1 <= host.cpu_count <= (os.cpu_count() or 1)
    assert host.memory_mb == pytest.approx(psutil.virtual_memory().total / 1e6, abs=0.05)
    assert {"torch", "transformers", "nvidia-ml-py"} <= set(host.packages)


def test_variables_that_affect_a_measurement_are_recorded_and_no_others() -> None:
    environment = {
        "OMP_NUM_THREADS": "4",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_DEFAULT_FPMATH_MODE": "BF16",
        "CUBLASLT_WORKSPACE_SIZE": "4096",
        "CUDA_LAUNCH_BLOCKING": "1",
        "HIPBLASLT_TENSILE_LIBPATH": "/opt",
        "USE_HUB_KERNELS": "0",
        "PYTORCH_CUDA_ALLOC_CONF": "a\x1b[2J" + "b" * 9999,
        "HF_TOKEN": "secret",
        "TORCH_TOKEN": "secret",
        "TORCH_HOME": "/home/alice/torch",
        "CUDA_COMPANY_SETTING": "x",
        "TORCH_LOGS": "https://me:secret@host",
        "HOME": "/root",
    }
    recorded = recorded_variables(environment)
    assert list(recorded) == [
        "ATEN_CPU_CAPABILITY",
        "CUBLASLT_WORKSPACE_SIZE",
        "CUDA_LAUNCH_BLOCKING",
        "HIPBLASLT_TENSILE_LIBPATH",
        "OMP_NUM_THREADS",
        "ONEDNN_DEFAULT_FPMATH_MODE",
        "PYTORCH_CUDA_ALLOC_CONF",
        "TORCH_LOGS",
        "USE_HUB_KERNELS",
    ]
    assert recorded["TORCH_LOGS"] == "https://***@host"
    assert "\x1b" not in recorded["PYTORCH_CUDA_ALLOC_CONF"]
    assert len(recorded["PYTORCH_CUDA_ALLOC_CONF"]) < 1000


def test_only_usable_processors_are_counted() -> None:
    script = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from benchtui.engine.telemetry.host_info import describe_host
from benchtui.engine.telemetry.environment_variables import recorded_variables
from benchtui.engine.telemetry.gpu.reader import GpusUnavailable
print(describe_host(GpusUnavailable("")).cpu_count)
"""
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this operating system does not bind processes to processors")
    assert subprocess.check_output([sys.executable, "-c", script]) == b"1\n"


def test_host_lists_readable_and_unreadable_gpus(with_gpus: Callable[..., Any]) -> None:
    script = """
from benchtui.engine.telemetry.host_info import describe_host
result = describe_host(open_nvml())
"""
    host = with_gpus(script, FAKE_NVML_GPUS="3", FAKE_NVML_FAIL="1:GetHandleByIndex:16")
    assert [gpu["name"] for gpu in host["gpus"]] == ["Fake GPU A", "Fake GPU C"]
    assert host["driver"] == "570.1.fake"
    assert host["absent"]["gpu 1"] == "the GPU must be reset before it can be used again"
    assert "gpu" not in host["absent"]


def test_processor_name_comes_from_the_kernel_or_the_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel\t\t: 7\nmodel name\t: Fast CPU @ 2: GHz\nprocessor\t: 1\n")
    assert processor_name(cpuinfo) == "Fast CPU @ 2: GHz"
    monkeypatch.setattr(platform, "processor", lambda: "arm")
    assert processor_name(tmp_path / "missing") == "arm"
    cpuinfo.write_text("processor\t: 0\n")
    monkeypatch.setattr(platform, "processor", lambda: "")
    assert processor_name(cpuinfo) is None


def test_virtual_machine_is_detected_from_processor_flags(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    for text, virtual in (
        ("processor\t: 0\nflags\t\t: fpu sse4a hypervisor lahf_lm\n", True),
        ("processor\t: 0\nmodel name\t: hypervisor\nflags\t\t: fpu hypervisors\n", False),
        ("processor\t: 0\nFeatures\t: fp asimd\n", None),
    ):
        cpuinfo.write_text(text)
        assert is_virtual(cpuinfo) is virtual
    assert is_virtual(tmp_path / "missing") is None


def test_missing_packages_are_left_out() -> None:
    assert set(package_versions(("pytest", "no-such-package-here"))) == {"pytest"}


def test_distinct_governors_are_joined(tmp_path: Path) -> None:
    assert governor(tmp_path) is None
    for number, name in enumerate(("performance", "performance", "powersave")):
        folder = tmp_path / f"cpu{number}" / "cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(f"{name}\n")
        assert governor(tmp_path) == ("performance" if number < 2 else "performance+powersave")
