import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from benchtui.engine.devices.registry import open_device
from benchtui.engine.workloads.lm_forward import LmForward
from benchtui.engine.workloads.registry import make_workload
from benchtui.sessions.errors import CaseSkippedError
from benchtui.sessions.sweep import Sweep, cases

packed_masks = pytest.mark.skipif(
    find_spec("transformers.masking_utils") is None, reason="masks of packed samples need transformers 4.53"
)


def make(sweep: Sweep) -> LmForward:
    (case,) = cases(sweep)
    workload = make_workload(sweep, case.config, open_device("cpu"))
    assert isinstance(workload, LmForward)
    return workload


def test_step_is_one_pass_over_the_sequences(lm_sweep: Callable[..., Sweep], tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text("good film\none two three\n")
    workload = make(lm_sweep("batch_size=2", f"dataset={tmp_path / 'two.txt'}"))
    parts: list[str] = []
    counted = workload.count(workload.step(parts.append))
    assert parts == ["tokenize", "transfer", "forward"]
    assert (counted.tokens, counted.padded_tokens, counted.loss) == (4 + 5, 2 * 16, None)
    assert (workload.samples, workload.new_tokens, workload.kv_cache_mb) == (2, None, None)
    assert workload.model.architecture == "GPT2LMHeadModel"


def test_no_cache_is_built(lm_sweep: Callable[..., Sweep], monkeypatch: pytest.MonkeyPatch) -> None:
    workload = make(lm_sweep())
    outputs = []
    network = workload._call
    monkeypatch.setattr(workload, "_call", lambda **inputs: outputs.append(network(**inputs)) or outputs[-1])
    workload.step(lambda part: None)
    assert outputs[0].past_key_values is None
    assert outputs[0].logits.shape == (1, 16, 30522)


def test_unsupported_sequence_length_is_skipped(lm_sweep: Callable[..., Sweep]) -> None:
    with pytest.raises(CaseSkippedError, match=r"sequence_length 65: .* supports at most 64"):
        make(lm_sweep("sequence_length=65"))


@packed_masks
def test_packed_samples_answer_as_padded_ones(lm_sweep: Callable[..., Sweep], tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("good film\none two three\nfour\nfive six\nseven\n")
    options = ("batch_size=3", f"dataset={tmp_path / 'texts.txt'}")
    packed, padded = (
        make(lm_sweep(*options, f"padding={name}")).answer(0.0).values for name in ("packed", "max")
    )
    assert packed.shape == padded.shape
    assert torch.allclose(packed, padded, atol=1e-4)


def test_attention_that_a_model_does_not_support_is_skipped(
    lm_sweep: Callable[..., Sweep], trained_sweep: Callable[..., Sweep]
) -> None:
    """GPT-2 has no flex attention in transformers, with random weights or a checkpoint's."""
    for sweep in (lm_sweep("attention=flex"), trained_sweep("attention=flex")):
        with pytest.raises(CaseSkippedError) as skipped:
            make(sweep)
        reason = "attention flex: transformers doesn't support it for (GPT2LMHeadModel|this model)"
        assert re.fullmatch(reason, str(skipped.value))
