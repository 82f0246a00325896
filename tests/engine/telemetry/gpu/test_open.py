from typing import Any

import pytest

from benchtui.engine.telemetry.gpu import open as open_module
from benchtui.engine.telemetry.gpu.reader import GpusUnavailable

ACME, NVIDIA = GpusUnavailable("no ACME driver"), GpusUnavailable("no NVIDIA driver", has_driver=True)


def opened(monkeypatch: pytest.MonkeyPatch, *readers: Any, build: dict[str, bool] | None = None) -> Any:
    monkeypatch.setattr(open_module, "READERS", tuple(lambda reader=reader: reader for reader in readers))
    monkeypatch.setattr(open_module, "torch_build", lambda: build)
    return open_module.open_gpus()


def test_first_vendor_with_a_gpu_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert opened(monkeypatch, ACME, "reader", "other reader") == "reader"


def test_without_gpus_every_vendor_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = GpusUnavailable("no ACME driver; no NVIDIA driver", has_driver=True)
    assert opened(monkeypatch, ACME, NVIDIA, ACME) == reason
    assert opened(monkeypatch, ACME) == ACME


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        ({"cuda": False, "hip": True}, open_module.UNREAD_ROCM),
        ({"cuda": True, "hip": False}, "no NVIDIA driver"),
        ({"cuda": True}, "no NVIDIA driver"),
        (None, "no NVIDIA driver"),
    ],
)
def test_unread_amd_gpu_is_not_explained_by_nvidia_s_driver(
    build: dict[str, bool] | None, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert opened(monkeypatch, NVIDIA, build=build).reason == reason
