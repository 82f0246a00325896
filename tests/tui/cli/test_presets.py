import pytest

from benchtui.engine import client
from benchtui.engine.telemetry.gpu.cuda_presence import CudaPresence
from benchtui.tui.cli.watch import load_named


@pytest.mark.parametrize(
    ("preset", "count", "overrides", "devices"),
    [
        ("quick", 0, (), ("cpu",)),
        ("quick", 1, (), ("cpu", "cuda:0")),
        ("quick", None, (), ("cpu", "cuda:0")),
        ("quick", 0, ("device=cpu,cuda:0",), ("cpu", "cuda:0")),
        ("quick", 0, ("axes.device=cuda:0",), ("cuda:0",)),
        ("gpt2-train", 0, (), ("cuda:0",)),
    ],
)
def test_preset_plans_the_devices_of_this_machine(
    preset: str,
    count: int | None,
    overrides: tuple[str, ...],
    devices: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client, "find_cuda", lambda: CudaPresence(count, "no GPU"))
    assert load_named(preset, overrides).axes.device == devices
