import subprocess
import sys

import pytest
import torch

from benchtui.engine.models import precision

EYE, FULL = torch.eye, torch.full


@pytest.mark.parametrize(
    ("diagonal", "rounds"),
    [(1.0, False), (1 / (1 + 2**-12), True), (0.0, None)],
    ids=["exact", "tf32", "neither"],
)
def test_tf32_rounding_is_detected_from_a_product(
    monkeypatch: pytest.MonkeyPatch, diagonal: float, rounds: bool | None
) -> None:
    monkeypatch.setattr(torch, "full", lambda size, value, device: FULL(size, value))
    monkeypatch.setattr(torch, "eye", lambda size, device: EYE(size) * diagonal)
    assert precision.rounds_to_tf32(torch.device("cuda:0")) is rounds
    assert precision.rounds_to_tf32(torch.device("cpu")) is None


@pytest.mark.parametrize(
    ("name", "device", "native", "marks"),
    [
        ("fp16", "cpu", False, ("fp16 is emulated: the processor has no instructions for it",)),
        ("amp-bf16", "cpu", False, ("bf16 is emulated: the processor has no instructions for it",)),
        ("fp16", "cpu", True, ()),
        ("fp16", "cpu", None, ()),
        ("fp32", "cpu", False, ()),
        ("fp16", "cuda:0", False, ()),
    ],
)
def test_emulated_precision_is_marked(
    monkeypatch: pytest.MonkeyPatch, name: str, device: str, native: bool | None, marks: tuple[str, ...]
) -> None:
    monkeypatch.setattr(precision, "has_instructions", lambda dtype: native)
    assert precision.emulation_marks(name, torch.device(device)) == marks


SETTINGS = """
import sys, torch
from benchtui.engine.models.precision import set_tf32
backends = torch.backends
set_tf32(sys.argv[1])
exec(sys.argv[2])
print(torch.get_float32_matmul_precision(), backends.cuda.matmul.allow_tf32, backends.cudnn.allow_tf32)
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(torch.backends.cuda.matmul, "fp32_precision"), reason="torch before 2.9")
@pytest.mark.parametrize(
    ("kind", "step", "printed"),
    [
        ("tf32", "", "high True True"),
        ("fp32", "backends.cudnn.fp32_precision = 'tf32'", "highest False False"),
        ("fp32", "backends.fp32_precision = 'tf32'", "highest False False"),
        ("fp32", "backends.cuda.matmul.allow_tf32 = True", "high True False"),
    ],
)
def test_tf32_can_be_read_by_the_older_interface_after_a_step_used_the_newer_one(
    kind: str, step: str, printed: str
) -> None:
    command = [sys.executable, "-c", SETTINGS, kind, step]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.returncode) == (printed, 0), done.stderr
