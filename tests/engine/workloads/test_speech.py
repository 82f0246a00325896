from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from benchtui.engine.job import THROUGHPUT_BLOCK
from benchtui.sessions.errors import CaseSkippedError


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_ctc_step_classifies_frames(made: Callable[..., Any], tiny_wav2vec2: Path, precision: str) -> None:
    workload = made("speech", tiny_wav2vec2, "batch_size=2", "audio_seconds=1", f"precision={precision}")
    parts: list[str] = []
    counted = workload.count(workload.step(parts.append))
    assert parts == ["features", "transfer", "forward", "result"]
    assert counted.tokens is None
    assert workload.samples == 2 * 1  # seconds of audio
    assert workload.data.shape == "1 s at 16,000 Hz"


def test_throughput_mode_pins_a_block_of_batches_whatever_their_duration(
    made: Callable[..., Any], tiny_wav2vec2: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned: list[torch.Tensor] = []
    workload = made("speech", tiny_wav2vec2, "mode=throughput", "batch_size=1", "audio_seconds=3")
    batch = workload._batches.draw(lambda part: None)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: pinned.append(tensor) or tensor)
    workload._pins = True  # as on a GPU
    workload.begin_warmup()
    assert len(pinned) == THROUGHPUT_BLOCK * len(batch.inputs)


def test_ctc_answer_is_logits_of_spaced_frames(made: Callable[..., Any], tiny_wav2vec2: Path) -> None:
    answers = []
    for size in (1, 3):
        torch.manual_seed(0)  # the biases of its first projection are drawn; workers all start from one state
        answers.append(made("speech", tiny_wav2vec2, f"batch_size={size}", "audio_seconds=1").answer(0.0))
    one, many = answers
    assert one.kind == "logits"
    assert one.values.shape == (4 * 32, 32)
    assert torch.allclose(one.values, many.values, atol=1e-5)


def test_decoder_generates_new_tokens(made: Callable[..., Any], tiny_whisper: Path) -> None:
    workload = made("speech", tiny_whisper, "batch_size=2", "audio_seconds=1", "new_tokens=3")
    parts: list[str] = []
    counted = workload.count(workload.step(parts.append))
    assert parts == ["features", "transfer", "encode", "decode", "result"]
    assert counted.tokens == 2 * 3
    answer = workload.answer(0.0)
    assert (answer.kind, answer.values.shape) == ("tokens", (4, 3))


def test_tokens_match_greedy_generation(made: Callable[..., Any], tiny_whisper: Path) -> None:
    workload = made("speech", tiny_whisper, "audio_seconds=1", "new_tokens=4")
    network = workload._network
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)) * 0.3)
    inputs = workload._batches.draw(lambda part: None).inputs
    with torch.inference_mode():
        tokens = workload._generate(inputs, lambda part: None)
        ids = torch.tensor([[network.config.decoder_start_token_id]])
        for _ in range(4):
            logits = network(**inputs, decoder_input_ids=ids, use_cache=False).logits
            ids = torch.cat((ids, logits[:, -1:].argmax(-1)), 1)
    assert torch.equal(tokens, ids[:, 1:])


@pytest.mark.parametrize(
    ("model", "options", "reason"),
    [
        ("tiny_whisper", ("audio_seconds=31",), "at most 30 s of audio at once"),
        ("tiny_whisper", ("new_tokens=449",), "449 new tokens: .* supports at most 448"),
    ],
)
def test_what_a_model_can_not_do_is_skipped(
    made: Callable[..., Any], request: pytest.FixtureRequest, model: str, options: tuple[str, ...], reason: str
) -> None:
    folder = request.getfixturevalue(model)
    with pytest.raises(CaseSkippedError, match=reason):
        made("speech", folder, *options)
