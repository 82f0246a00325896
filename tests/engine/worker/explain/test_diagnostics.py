"""Modes for debugging that are on in a step."""

import sys

import pytest
import torch

from benchtui.engine.worker.environment import diagnostic_modes


def test_modes_are_named_while_they_are_on(monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(diagnostic_modes())  # a test under coverage has a trace function
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)
    profiling = sys.getprofile()
    sys.setprofile(lambda *_: None)
    try:
        with torch.autograd.set_detect_anomaly(True):
            modes = set(diagnostic_modes()) - before
    finally:
        sys.setprofile(profiling)
    assert len(modes) == 4
    assert any("set_detect_anomaly" in mode for mode in modes) and any("setprofile" in mode for mode in modes)
