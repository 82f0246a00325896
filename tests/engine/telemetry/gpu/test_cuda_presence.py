from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchtui.engine.telemetry.gpu import cuda_presence
from benchtui.engine.telemetry.gpu import open as build_module
from benchtui.engine.telemetry.gpu.cuda_presence import CudaPresence, find_cuda
from benchtui.engine.telemetry.gpu.reader import GpusUnavailable
from benchtui.sessions.payloads import Gpu
from benchtui.sessions.sweep import Config

CUDA = "cuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n"


@pytest.fixture
def torch_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that sets what torch's files say of its build."""

    def set_build(text: str) -> None:
        (tmp_path / "version.py").write_text(text)
        spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
        monkeypatch.setattr(build_module.importlib.util, "find_spec", lambda name: spec)

    return set_build


def test_torch_without_cuda_has_no_device(torch_build: Any) -> None:
    torch_build("cuda: Optional[str] = None\nhip: Optional[str] = None\n")
    assert find_cuda() == CudaPresence(0, "torch was built without CUDA")


@pytest.mark.parametrize("build", ["", "cuda: Optional[str] = None\nhip: Optional[str] = '6.3'\n"])
def test_rocm_and_unknown_builds_leave_it_unknown(torch_build: Any, build: str) -> None:
    torch_build(build)
    assert find_cuda().count is None


@pytest.mark.parametrize(("driver", "count"), [(True, None), (False, 0)])
def test_without_nvml_the_driver_library_decides(
    torch_build: Any, monkeypatch: pytest.MonkeyPatch, driver: bool, count: int | None
) -> None:
    torch_build(CUDA)
    unavailable = GpusUnavailable("no NVIDIA driver", has_driver=driver)
    monkeypatch.setattr(cuda_presence, "open_gpus", lambda: unavailable)
    assert find_cuda().count == count


def test_visible_gpus_are_counted(torch_build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    torch_build(CUDA)
    gpus = tuple(Gpu(index=index, name="GPU", uuid=f"GPU-{index}") for index in range(4))
    nvml = SimpleNamespace(gpus=lambda: gpus, close=lambda: None)
    monkeypatch.setattr(cuda_presence, "open_gpus", lambda: nvml)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,2")
    found = find_cuda()
    assert found.count == 2
    assert found.missing_reason(Config(device="cuda:1")) == ""
    assert found.missing_reason(Config(device="cuda:2")) == "no cuda:2 here: 2 GPUs visible"


def test_cpu_and_unknown_devices_are_never_missing() -> None:
    assert CudaPresence(0, "no driver").missing_reason(Config(device="cpu")) == ""
    assert CudaPresence().missing_reason(Config(device="cuda:0")) == ""
    assert CudaPresence(0, "no driver").missing_reason(Config(device="cuda:0")) == "no CUDA here: no driver"
    assert CudaPresence(1).missing_reason(Config(device="cuda:*")) == ""
