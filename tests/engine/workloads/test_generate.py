from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from benchtui.engine.devices.registry import open_device
from benchtui.engine.workloads.generate import Generate, cache_mb
from benchtui.engine.workloads.registry import make_workload
from benchtui.sessions.errors import CaseSkippedError
from benchtui.sessions.sweep import Sweep, cases


@pytest.fixture
def generate(lm_sweep: Callable[..., Sweep], tmp_path: Path) -> Callable[..., Generate]:
    """Generation after two prompts of unequal length."""
    (tmp_path / "two.txt").write_text("good film\none two three four five\n")

    def made(*overrides: str) -> Generate:
        sweep = lm_sweep("task=generate", "batch_size=2", f"dataset={tmp_path / 'two.txt'}", *overrides)
        (case,) = cases(sweep)
        workload = make_workload(sweep, case.config, open_device("cpu"))
        assert isinstance(workload, Generate)
        return workload

    return made


def test_step_has_separate_prefill_and_decode(generate: Callable[..., Generate]) -> None:
    workload = generate("new_tokens=5")
    parts: list[str] = []
    counted = workload.count(workload.step(parts.append))
    assert parts == ["tokenize", "transfer", "prefill", "decode", "result"]
    assert (counted.tokens, counted.padded_tokens) == (4 + 7 + 2 * 5, 2 * 16 + 2 * 5)
    assert (workload.samples, workload.new_tokens) == (2, 5)


@pytest.mark.parametrize("padding", ["max", "longest"])
def test_tokens_match_greedy_generation(generate: Callable[..., Generate], padding: str) -> None:
    workload = generate("new_tokens=6", f"padding={padding}")
    with torch.no_grad():  # weights that tell prompts apart
        for parameter in workload._network.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)) * 0.3)
    batch = workload._batches.draw(lambda part: None)
    assert batch.mask[0, 0] == 0
    ids = batch.inputs["input_ids"]
    with torch.inference_mode():
        tokens, _ = workload._generate(ids, batch.mask, lambda part: None)
    network = workload._network
    wanted = network.generate(
        **batch.inputs, do_sample=False, max_new_tokens=6, min_new_tokens=6, pad_token_id=0
    )
    assert torch.equal(tokens, wanted[:, ids.shape[1] :])
    assert len(set(tokens.flatten().tolist())) > 2


def test_tokens_after_full_prompts_are_the_same_without_a_mask(generate: Callable[..., Generate]) -> None:
    workload = generate("new_tokens=6", "dataset=synthetic")
    batch = workload._batches.draw(lambda part: None)
    ids = batch.inputs["input_ids"]
    with torch.inference_mode():
        (without, _), (given, _) = (
            workload._generate(ids, mask, lambda part: None) for mask in (None, batch.mask)
        )
    assert torch.equal(without, given)


def test_generation_never_ends_early(generate: Callable[..., Generate]) -> None:
    workload = generate("new_tokens=4")
    passes = []
    network = workload._call
    workload._call = lambda **inputs: passes.append(inputs["input_ids"].shape) or network(**inputs)
    workload.step(lambda part: None)
    assert passes == [(2, 16), (2, 1), (2, 1), (2, 1)]


def test_single_new_token_needs_no_decoding(generate: Callable[..., Generate]) -> None:
    workload = generate("new_tokens=1")
    assert workload.count(workload.step(lambda part: None)).tokens == 4 + 7 + 2


def test_kv_cache_size_is_measured(generate: Callable[..., Generate]) -> None:
    workload = generate("new_tokens=5")
    assert workload.kv_cache_mb is None
    workload.step(lambda part: None)
    positions = 16 + 5 - 1  # the last token is never fed back
    assert workload.kv_cache_mb == pytest.approx(2 * 2 * 2 * positions * 32 * 4 / 1e6)  # layers, k and v, batch


def test_kv_cache_size_of_older_layouts_is_measured() -> None:
    keys, values = torch.zeros(2, 1000), torch.zeros(2, 500, dtype=torch.float16)
    assert cache_mb(SimpleNamespace(key_cache=[keys], value_cache=[values])) == 0.01
    assert cache_mb(((keys, values),)) == 0.01


def test_prompt_and_new_tokens_must_fit_the_model(generate: Callable[..., Generate]) -> None:
    with pytest.raises(CaseSkippedError, match=r"sequence_length 60 and 5 new tokens: .* supports at most 64"):
        generate("sequence_length=60", "new_tokens=5")
    assert generate("sequence_length=59", "new_tokens=5").new_tokens == 5
