from pathlib import Path

import pytest

from benchtui.engine import doctor
from benchtui.engine.doctor import Check
from benchtui.engine.telemetry.gpu import open as open_module
from benchtui.engine.telemetry.gpu.reader import GpusUnavailable
from benchtui.sessions.estimates.accuracy import Accuracy, EstimateAccuracy
from benchtui.sessions.events import Runtime

NO_DRIVER = GpusUnavailable("no NVIDIA driver; install it")


def found(monkeypatch: pytest.MonkeyPatch, runtime: Runtime) -> dict[str, Check]:
    monkeypatch.setattr(open_module, "READERS", (lambda: NO_DRIVER,))
    monkeypatch.setattr(doctor, "_query_torch", lambda: runtime)
    return {each.what: each for each in doctor.run_checks()}


def test_rocm_is_named_with_what_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_module, "torch_build", lambda: {"cuda": False, "hip": True})
    findings = found(monkeypatch, Runtime(t=0.0, torch="2.9+rocm6.4", hip="6.4", cuda_devices=("MI300X",)))
    assert "CUDA" not in findings
    assert findings["ROCm"] == Check("ROCm", "ok", "HIP 6.4: MI300X")
    assert findings["GPU readings"].text == open_module.UNREAD_ROCM


def test_missing_nvidia_driver_keeps_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = found(monkeypatch, Runtime(t=0.0, torch="2.9", cuda="13.0"))
    assert findings["GPU readings"].text == NO_DRIVER.reason
    assert findings["CUDA"].state == "missing"


def test_both_compilers_of_torch_compile_are_looked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("clang", "g++"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("CC", raising=False)
    findings = found(monkeypatch, Runtime(t=0.0, torch="2.9"))
    assert findings["torch.compile on cpu"].text == f"C++ compiler {tmp_path}/g++"
    assert findings["torch.compile on cuda"].text == f"C compiler {tmp_path}/clang"
    monkeypatch.setenv("CC", "icx")
    missing = found(monkeypatch, Runtime(t=0.0, torch="2.9"))["torch.compile on cuda"]
    assert (missing.state, "CC=icx" in missing.text) == ("missing", True)


def test_estimates_are_checked_against_what_was_measured(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    findings = found(monkeypatch, Runtime(t=0.0, torch="2.9"))
    assert findings["estimates"] == Check(
        "estimates", "ok", "not checked yet: nothing was measured on this machine"
    )
    checked = EstimateAccuracy(Accuracy(9, 1.25, 3.0), Accuracy(8, 1.5, 12.34), sessions=2)
    monkeypatch.setattr(doctor, "check_estimates", lambda entries, hostname: checked)
    assert found(monkeypatch, Runtime(t=0.0, torch="2.9"))["estimates"].text == (
        "memory off by 1.2x at the median, 3x at worst; time off by 1.5x at the median, 12x at worst"
        " (9 cases, 2 sessions)"
    )
