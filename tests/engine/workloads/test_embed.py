import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from benchtui.engine.models.loading import ModelLocation
from benchtui.engine.workloads.embed import POOLING_FILE, pool, stated_pooling
from benchtui.sessions.errors import BenchtuiError, CaseSkippedError
from benchtui.sessions.stored_models import measurable

SMALL = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
HIDDEN = torch.arange(24.0).reshape(2, 4, 3)
MASK = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1]])


def test_step_is_a_pass_and_pooling(made: Callable[..., Any], tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text("good film\none two three\n")
    workload = made(
        "embed", tiny_model, "batch_size=2", "sequence_length=16", f"dataset={tmp_path / 'two.txt'}"
    )
    parts: list[str] = []
    counted = workload.count(workload.step(parts.append))
    assert parts == ["tokenize", "transfer", "forward", "pool", "result"]
    assert (counted.tokens, counted.padded_tokens) == (4 + 5, 2 * 16)
    assert workload.model.architecture == "DistilBertModel"
    assert workload.effective.others["pooling"] == "mean"


def test_vectors_do_not_depend_on_batch_size_and_padding(made: Callable[..., Any], tiny_model: Path) -> None:
    options = ("sequence_length=32", "dataset=sample")
    one = made("embed", tiny_model, "batch_size=1", *options).answer(0.0)
    many = made("embed", tiny_model, "batch_size=8", "padding=longest", *options).answer(0.0)
    assert one.kind == "embeddings"
    assert one.values.shape == (16, 32)
    assert torch.allclose(one.values, many.values, atol=1e-5)


def test_decoder_without_tokenizer_embeds_synthetic_tokens(made: Callable[..., Any], tiny_gpt2: Path) -> None:
    workload = made("embed", tiny_gpt2, "sequence_length=8", "dataset=synthetic", "pooling=last")
    assert workload.count(workload.step(lambda part: None)).tokens == 8
    assert workload.effective.others["pooling"] == "last"


@pytest.mark.parametrize(
    ("pooling", "mask", "first"),
    [
        ("mean", None, HIDDEN[0].mean(0)),
        ("mean", MASK, HIDDEN[0, :2].mean(0)),
        ("cls", MASK, HIDDEN[0, 0]),
        ("last", None, HIDDEN[0, 3]),
        ("last", MASK, HIDDEN[0, 1]),
    ],
)
def test_padding_is_not_pooled(pooling: str, mask: torch.Tensor | None, first: torch.Tensor) -> None:
    found = pool(HIDDEN, mask, pooling)
    assert found.shape == (2, 3)
    assert torch.equal(found[0], first)


@pytest.mark.parametrize(
    ("stated", "pooling"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_lasttoken": True}, "last"),
        ({"pooling_mode_mean_tokens": True}, "mean"),
        ({"pooling_mode_max_tokens": False}, "mean"),
    ],
)
def test_pooling_that_a_model_states_is_used(tmp_path: Path, stated: object, pooling: str) -> None:
    assert stated_pooling(stating(tmp_path, json.dumps(stated))) == pooling


def test_pooling_is_the_mean_if_a_model_states_none(tmp_path: Path) -> None:
    assert stated_pooling(ModelLocation("m", str(tmp_path), "folder")) == "mean"


@pytest.mark.parametrize(
    ("stated", "objection"),
    [
        ("{", "can't be read"),
        ('["no table"]', "not a JSON object"),
        ('{"pooling_mode_max_tokens": true}', "m declares pooling_mode_max_tokens, not supported"),
        (
            '{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}',
            "pooling_mode_cls_token and pooling_mode_mean_tokens, not supported; set pooling",
        ),
    ],
)
def test_pooling_that_cannot_be_applied_is_not_replaced(tmp_path: Path, stated: str, objection: str) -> None:
    with pytest.raises(BenchtuiError, match=objection):
        stated_pooling(stating(tmp_path, stated))


def stating(folder: Path, text: str) -> ModelLocation:
    """A model whose file of pooling has this text."""
    path = folder / POOLING_FILE
    path.parent.mkdir()
    path.write_text(text)
    return ModelLocation("m", str(folder), "folder")


def test_stated_pooling_is_read_back_unless_another_is_requested(
    made: Callable[..., Any], tiny_model: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny_model, tmp_path / "cls")
    (folder / POOLING_FILE).parent.mkdir()
    (folder / POOLING_FILE).write_text('{"pooling_mode_cls_token": true}')
    options = ("sequence_length=8", "dataset=synthetic")
    assert made("embed", folder, *options).effective.others["pooling"] == "cls"
    assert made("embed", folder, "pooling=mean", *options).effective.others["pooling"] == "mean"


def test_text_part_of_a_model_of_texts_and_images_is_measured(made: Callable[..., Any], tmp_path: Path) -> None:
    vision = {**SMALL, "image_size": 32, "patch_size": 16}
    text = {**SMALL, "vocab_size": 64, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    config = {"model_type": "clip", "projection_dim": 16, "text_config": text, "vision_config": vision}
    (tmp_path / "config.json").write_text(json.dumps(config))
    workload = made("embed", tmp_path, "dataset=synthetic", "sequence_length=8", "batch_size=2")
    assert workload.answer(0.0).values.shape == (16, 32)
    assert "only the text part of CLIPModel" in workload.marks


def test_unknown_type_without_hidden_states_of_texts_is_skipped(
    made: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measurable, "_words", dict)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "dpr", **SMALL, "vocab_size": 64}))
    workload = made("embed", tmp_path, "dataset=synthetic", "sequence_length=8")
    with pytest.raises(CaseSkippedError, match="DPRQuestionEncoder returns no hidden states of texts"):
        workload.answer(0.0)
