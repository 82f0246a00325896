import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    DistilBertModel,
    DistilBertPreTrainedModel,
)

from benchtui.engine.devices.registry import open_device
from benchtui.engine.models import compilation, network
from benchtui.engine.workloads.classify import Classify
from benchtui.engine.workloads.registry import make_workload
from benchtui.sessions.analysis.applied_options import unapplied_options
from benchtui.sessions.errors import CaseSkippedError
from benchtui.sessions.sweep import Sweep, cases


def make(sweep: Sweep) -> Classify:
    (case,) = cases(sweep)
    workload = make_workload(sweep, case.config, open_device("cpu"))
    assert isinstance(workload, Classify)
    return workload


def test_step_has_four_ordered_parts_and_fixed_shapes(tiny_sweep: Callable[..., Sweep]) -> None:
    workload = make(tiny_sweep("batch_size=3"))
    parts: list[str] = []
    done = workload.step(parts.append)
    assert parts == ["tokenize", "transfer", "forward", "result"]
    (mask,) = done.masks
    assert mask.shape == (3, 16)
    counted = workload.count(done)
    assert (counted.tokens, counted.padded_tokens, counted.loss) == (int(mask.sum()), 48, None)


def test_throughput_mode_copies_through_pinned_memory(
    tiny_sweep: Callable[..., Sweep], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned: list[torch.Tensor] = []
    (tmp_path / "short.txt").write_text("good film\n")
    workload = make(tiny_sweep("mode=throughput", "batch_size=2", f"dataset={tmp_path / 'short.txt'}"))
    assert not workload._pins, "the CPU has no copies to overlap"
    workload._pins, workload._results = True, torch.full((2, 2), torch.nan)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: pinned.append(tensor) or tensor)
    workload.begin_warmup()
    assert len(pinned) == 16 * 2, "memory for a block of batches, each of token ids and a mask"
    workload.step(lambda part: None)
    assert torch.equal(pinned[-2], pinned[0]), "the first batch again"
    assert not workload._results.isnan().any()


def test_padding_of_short_text_is_not_counted(tiny_sweep: Callable[..., Sweep], tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("good film\n")
    workload = make(tiny_sweep(f"dataset={tmp_path / 'short.txt'}", "batch_size=2"))
    counted = workload.count(workload.step(lambda part: None))
    assert (counted.tokens, counted.padded_tokens) == (2 * 4, 2 * 16)  # [CLS] good film [SEP]
    assert workload.read_back().padding == "max"
    assert workload.marks == ("random weights",)


def test_padding_to_the_longest_text_is_applied(tiny_sweep: Callable[..., Sweep], tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text("one\none two three\n")
    workload = make(tiny_sweep(f"dataset={tmp_path / 'two.txt'}", "batch_size=2", "padding=longest"))
    assert workload.effective.padding is None
    counted = workload.count(workload.step(lambda part: None))
    assert (counted.tokens, counted.padded_tokens) == (3 + 5, 2 * 5)
    assert workload.read_back().padding == "longest"


def test_linear_layers_are_quantized_and_read_back(tiny_sweep: Callable[..., Sweep]) -> None:
    sweep = tiny_sweep("precision=int8")
    workload = make(sweep)
    assert workload.effective.weights_dtype == "qint8"
    assert workload.model.parameters == make(tiny_sweep()).model.parameters
    layers = 32 * 32 * 4 + 32 * 64 * 2 + 32 * 32 + 32 * 2  # attention, feed-forward, the two of the head
    share = round(100 * layers / (layers + sum(each.numel() for each in workload._network.parameters())))
    assert workload.marks == ("random weights", f"int8 in {share}% of the weights", "sample text")
    assert workload.count(workload.step(lambda part: None)).padded_tokens == 16
    (case,) = cases(sweep)
    assert unapplied_options(case.config, workload.effective) == ()


def test_torch_without_quantized_products_skips_the_case(
    tiny_sweep: Callable[..., Sweep], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.ao.quantization", None)
    with pytest.raises(CaseSkippedError, match=r"int8: torch .* has no dynamic quantization"):
        make(tiny_sweep("precision=int8"))


def test_flash_attention_without_its_package_is_skipped(
    tiny_sweep: Callable[..., Sweep], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network.import_utils, "is_flash_attn_2_available", lambda: False)
    monkeypatch.setattr(network, "find_spec", lambda name: None)
    with pytest.raises(CaseSkippedError, match=r"flash attention needs the package flash-attn"):
        make(tiny_sweep("attention=flash", "precision=fp16"))


def test_model_description_matches_the_model(tiny_sweep: Callable[..., Sweep], tiny_model: Path) -> None:
    workload = make(tiny_sweep())
    network = AutoModelForSequenceClassification.from_config(AutoConfig.from_pretrained(tiny_model))
    assert workload.model.architecture == "DistilBertForSequenceClassification"
    assert workload.model.parameters == sum(parameter.numel() for parameter in network.parameters())
    assert (workload.model.hidden_size, workload.model.hidden_layers, workload.model.attention_heads) == (
        32,
        1,
        2,
    )
    assert workload.model.source == "folder"
    assert workload.marks == ("random weights", "sample text")


@pytest.mark.parametrize(
    ("precision", "weights", "computed", "autocast"),
    [
        ("fp32", "float32", "float32", None),
        ("bf16", "bfloat16", "bfloat16", None),
        ("amp-bf16", "float32", "bfloat16", "bfloat16"),
        ("amp-fp16", "float32", "float16", "float16"),
    ],
)
def test_precision_is_applied_to_matrix_products(
    tiny_sweep: Callable[..., Sweep], precision: str, weights: str, computed: str, autocast: str | None
) -> None:
    effective = make(tiny_sweep(f"precision={precision}")).effective
    assert (effective.weights_dtype, effective.output_dtype, effective.autocast_dtype) == (
        weights,
        computed,
        autocast,
    )


def test_unapplied_option_is_marked(tiny_sweep: Callable[..., Sweep], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchtui.engine.models.precision.computed_dtype", lambda *_: torch.float32)
    sweep = tiny_sweep("precision=amp-bf16")
    (case,) = cases(sweep)
    assert unapplied_options(case.config, make(sweep).effective) == (
        "precision amp-bf16 was requested but not applied",
    )


def test_compilation_is_read_back_after_the_first_call(
    tiny_sweep: Callable[..., Sweep], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilation, "graphs", lambda: 0)  # whatever other tests have compiled in this process
    workload = make(tiny_sweep())
    assert workload.read_back().compiled is False
    workload = make(tiny_sweep("compile=default"))
    assert workload.effective.compiled is None
    workload._called = True  # as if the compiler had declined
    assert workload.read_back().compiled is False


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_attention_is_read_back(tiny_sweep: Callable[..., Sweep], attention: str) -> None:
    if not getattr(DistilBertPreTrainedModel, f"_supports_{attention}", True):
        pytest.skip("DistilBERT has no such attention in this version of transformers")
    workload = make(tiny_sweep(f"attention={attention}"))
    assert workload.effective.attention == attention
    assert workload.marks == ("random weights", "sample text")


def test_unsupported_sequence_length_is_skipped_with_a_reason(tiny_sweep: Callable[..., Sweep]) -> None:
    with pytest.raises(CaseSkippedError, match=r"sequence_length 513: .* supports at most 512"):
        make(tiny_sweep("sequence_length=513"))


def test_missing_pretrained_weights_are_named(
    tiny_sweep: Callable[..., Sweep], tiny_model: Path, tmp_path: Path
) -> None:
    body = DistilBertModel(AutoConfig.from_pretrained(tiny_model))
    body.save_pretrained(tmp_path)
    for name in ("vocab.txt", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((tiny_model / name).read_bytes())
    workload = make(tiny_sweep(f"model={tmp_path}", "weights=pretrained", "task=classify"))
    missing = "classifier.bias, classifier.weight, pre_classifier.bias, pre_classifier.weight"
    assert workload.marks == (f"random weights for {missing}: not in the checkpoint", "sample text")
    loaded = workload._network.distilbert.embeddings.word_embeddings.weight
    assert torch.equal(loaded, body.embeddings.word_embeddings.weight)


@pytest.mark.parametrize("rows", [1, 2])
def test_model_without_a_padding_token_pads_several_texts_with_its_last_one(
    lm_sweep: Callable[..., Sweep], rows: int
) -> None:
    workload = make(lm_sweep("task=classify", f"batch_size={rows}"))
    workload.step(lambda part: None)
    marked = "no padding token configured: the end-of-text token pads" in workload.marks
    assert marked == (rows > 1)
    assert workload._network.config.pad_token_id == (102 if rows > 1 else None)
