import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from msgspec.structs import replace

from benchtui.engine.devices.base import no_lap
from benchtui.engine.devices.registry import open_device
from benchtui.engine.models import compilation
from benchtui.engine.workloads.generate import Generate, cache_mb
from benchtui.engine.workloads.registry import make_workload
from benchtui.sessions.errors import CaseSkippedError
from benchtui.sessions.sweep import Sweep, cases

static_cache = pytest.mark.skipif(
    int(transformers.__version__.partition(".")[0]) < 5, reason="static caches need transformers 5"
)
CACHES = ["dynamic", pytest.param("static", marks=static_cache)]


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


def tell_prompts_apart(workload: Generate) -> None:
    """Give the network weights that make its tokens depend on the prompt."""
    with torch.no_grad():
        for parameter in workload._network.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)) * 0.3)


@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("padding", ["max", "longest"])
def test_tokens_match_greedy_generation(
    generate: Callable[..., Generate], padding: str, attention: str, cache: str
) -> None:
    workload = generate("new_tokens=6", f"padding={padding}", f"attention={attention}", f"cache={cache}")
    tell_prompts_apart(workload)
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


@pytest.mark.parametrize("cache", CACHES)
def test_tokens_after_full_prompts_are_the_same_without_a_mask(
    generate: Callable[..., Generate], cache: str
) -> None:
    workload = generate("new_tokens=6", "dataset=synthetic", f"cache={cache}")
    tell_prompts_apart(workload)
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
    with pytest.raises(CaseSkippedError, match=r"sequence_length 61 and 5 new tokens: .* supports at most 64"):
        generate("sequence_length=61", "new_tokens=5")
    assert generate("sequence_length=60", "new_tokens=5").new_tokens == 5


def tokens_of(workload: Generate, lap: Callable[[str], None] = lambda part: None) -> torch.Tensor:
    """Generate tokens for the next batch."""
    batch = workload._batches.draw(lap)
    with torch.inference_mode():
        tokens, _ = workload._generate(batch.inputs["input_ids"], batch.inputs.get("attention_mask"), lap)
    return tokens


@static_cache
def test_a_static_cache_is_one_for_all_steps_and_forgets_the_last_one(
    generate: Callable[..., Generate], tmp_path: Path
) -> None:
    (tmp_path / "four.txt").write_text("good film\none two three four five\nbad\nfine words\n")
    texts = ("new_tokens=6", "padding=longest", f"dataset={tmp_path / 'four.txt'}")
    static, dynamic = generate(*texts, "cache=static"), generate(*texts)
    for workload in (static, dynamic):
        tell_prompts_apart(workload)
    addresses = set()
    for _ in range(4):  # the two batches are of different lengths
        assert torch.equal(tokens_of(static), tokens_of(dynamic))
        addresses.add(tuple(layer.keys.data_ptr() for layer in static._static_cache.layers))
    assert len(addresses) == 1


@static_cache
def test_every_decoding_pass_with_a_static_cache_has_one_shape(generate: Callable[..., Generate]) -> None:
    workload = generate("new_tokens=4", "cache=static", "padding=longest")
    shapes, network = [], workload._call
    workload._call = lambda **inputs: (
        shapes.append(tuple(inputs[name].shape for name in ("input_ids", "attention_mask", "position_ids")))
        or network(**inputs)
    )
    workload.step(lambda part: None)
    positions = 16 + 4 - 1
    assert shapes == [((2, 1), (2, positions), (2, 1))] * 3, "the prefill isn't compiled"


@pytest.mark.parametrize(("device", "replays"), [("cpu", 0), ("cuda:0", 3)])
def test_each_replay_of_a_cuda_graph_is_announced(
    generate: Callable[..., Generate], monkeypatch: pytest.MonkeyPatch, device: str, replays: int
) -> None:
    workload = generate("new_tokens=4")
    workload._config = replace(workload._config, device=device, compile="max-autotune")
    announced: list[int] = []
    monkeypatch.setattr(torch.compiler, "cudagraph_mark_step_begin", lambda: announced.append(1))
    workload.step(lambda part: None)
    assert len(announced) == replays


@static_cache
@pytest.mark.parametrize("new_tokens", [1, 5])
def test_a_static_cache_has_its_full_size(generate: Callable[..., Generate], new_tokens: int) -> None:
    workload = generate(f"new_tokens={new_tokens}", "padding=longest", "cache=static")
    workload.step(lambda part: None)
    positions = 16 + new_tokens - 1
    assert workload.kv_cache_mb == pytest.approx(2 * 2 * 2 * positions * 32 * 4 / 1e6)


@pytest.mark.parametrize("cache", CACHES)
def test_the_cache_is_read_back_once_there_was_a_step(generate: Callable[..., Generate], cache: str) -> None:
    workload = generate(f"cache={cache}", "dataset=synthetic")
    assert "cache" not in workload.read_back().others
    workload.step(lambda part: None)
    read = workload.read_back().others
    assert (read["cache"], read["new_tokens"]) == (cache, workload.new_tokens)


@static_cache
def test_a_static_cache_needs_an_architecture_that_supports_it(
    generate: Callable[..., Generate], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transformers.GPT2LMHeadModel, "_can_compile_fullgraph", False)
    with pytest.raises(CaseSkippedError, match="doesn't support a static cache for GPT2LMHeadModel"):
        generate("cache=static")
    assert generate("cache=dynamic").new_tokens


def test_a_static_cache_needs_transformers_5(
    generate: Callable[..., Generate], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchtui.engine.workloads.generate.transformers.__version__", "4.57.3")
    with pytest.raises(CaseSkippedError, match=r"needs transformers 5 or later; 4\.57\.3 is installed"):
        generate("cache=static")


@static_cache
@pytest.mark.long
def test_compiled_decoding_with_a_static_cache_is_one_graph_with_the_same_tokens(
    generate: Callable[..., Generate],
) -> None:
    options = ("new_tokens=6", "padding=longest")
    eager, compiled = generate(*options), generate(*options, "cache=static", "compile=default")
    for workload in (eager, compiled):
        tell_prompts_apart(workload)
    before = compilation.graphs()
    for _ in range(2):
        assert torch.equal(tokens_of(compiled), tokens_of(eager))
    assert compilation.graphs() - before == 1


@pytest.mark.parametrize("dataset", [(), ("dataset=synthetic",)])
def test_a_draft_gives_the_same_tokens_and_reports_how_many_were_accepted(
    generate: Callable[..., Generate], dataset: tuple[str, ...]
) -> None:
    options = ("batch_size=1", "new_tokens=12", *dataset)
    drafted, plain = generate("draft=lookup:3", *options), generate(*options)
    counted = drafted.count(drafted.step(lambda part: None))
    assert counted == plain.count(plain.step(lambda part: None))
    drafted.end_measuring()
    assert not [mark for mark in drafted.marks if "draft" in mark]
    effective = drafted.read_back()
    assert effective.draft_acceptance is None or 0 <= effective.draft_acceptance <= 1
    assert (effective.draft_acceptance is None) == (effective.others["draft"] == "off")


def test_accepted_tokens_save_passes(generate: Callable[..., Generate]) -> None:
    workload = generate("draft=lookup:3", "batch_size=1", "new_tokens=40", "sequence_length=8")
    torch.nn.init.zeros_(workload._network.lm_head.weight)  # all tokens alike: the first one again and again
    workload.step(lambda part: None)
    drafting = workload._drafting
    assert drafting is not None and drafting.acceptance is not None and drafting.acceptance > 0.5
    assert drafting.accepted == 40 - drafting._passes
    assert workload.read_back().others["draft"] == "lookup:3"


def test_a_draft_that_changes_tokens_is_marked(
    generate: Callable[..., Generate], monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = generate("draft=lookup:3", "batch_size=1", "new_tokens=4")
    monkeypatch.setattr(workload._drafting, "generate", lambda ids, mask, new: ids.new_full((1, new), -1))
    workload.end_measuring()
    assert workload.marks[-1] == "the draft changes the output from new token 1 on"


def test_a_case_with_a_draft_answers_with_it(
    generate: Callable[..., Generate], monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = generate("draft=lookup:3", "batch_size=1", "new_tokens=4")
    monkeypatch.setattr(workload._drafting, "generate", lambda ids, mask, new: ids.new_full((1, new), 7))
    answered = workload.answer(0.0).values
    assert answered.tolist() == [[7] * 4] * 4


def test_a_draft_model_needs_real_weights(generate: Callable[..., Generate]) -> None:
    with pytest.raises(CaseSkippedError, match="a model as draft needs trained weights"):
        generate("draft=other-model", "batch_size=1")


def test_state_of_a_model_without_keys_and_values_is_fed_back(made: Callable[..., Any], tmp_path: Path) -> None:
    small = {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 8, "vocab_size": 64}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "mamba", **small}))
    workload = made("generate", tmp_path, "dataset=synthetic", "sequence_length=8", "new_tokens=6")
    tell_prompts_apart(workload)
    tokens = prompts = workload._next(no_lap)[1]["input_ids"]
    with torch.inference_mode():
        for _ in range(6):  # without a state, over the whole text again
            logits = workload._network(input_ids=tokens, use_cache=False).logits
            tokens = torch.cat((tokens, logits[:, -1:].argmax(-1)), 1)
        generated, _ = workload._generate(prompts, None, no_lap)
    assert torch.equal(generated, tokens[:, prompts.shape[1] :])
    assert len(generated.unique()) > 1
    assert workload.count(workload.step(no_lap)).tokens == 8 + 6
