"""What a model's files say, and what they suggest."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.estimates.proposal import proposal_of
from benchtui.sessions.stored_models.measurable import StatedTask
from benchtui.sessions.stored_models.stored_model import (
    ModelShape,
    StoredModel,
    missing_reason,
    read_model,
    weights_bytes,
)

BERT = {"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64}
GPT2 = {"n_layer": 2, "n_embd": 32, "n_head": 4, "n_positions": 64}


def write(folder: Path, **config: Any) -> Path:
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(
    ("config", "shape"),
    [
        (BERT, ModelShape(layers=2, hidden=32, intermediate=64, key_values=64)),
        (GPT2, ModelShape(layers=2, hidden=32, intermediate=128, key_values=64)),
        ({**BERT, "num_key_value_heads": 1}, ModelShape(layers=2, hidden=32, intermediate=64, key_values=16)),
        ({**BERT, "head_dim": 16}, ModelShape(layers=2, hidden=32, intermediate=64, key_values=128)),
        ({"text_config": BERT}, ModelShape(layers=2, hidden=32, intermediate=64, key_values=64)),
        ({"num_hidden_layers": 2, "hidden_size": 32}, ModelShape(layers=2, hidden=32, intermediate=128)),
        ({"hidden_size": 32}, None),
        ({**BERT, "hidden_size": "32"}, None),
        ({**BERT, "num_hidden_layers": -1}, None),
    ],
)
def test_sizes_are_read_under_their_different_names(
    tmp_path: Path, config: dict[str, Any], shape: ModelShape | None
) -> None:
    assert read_model(write(tmp_path, **config)).shape == shape


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"text_config": 3}'])
def test_broken_configuration_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    assert read_model(tmp_path) == StoredModel(folder=tmp_path)


def test_weights_are_those_of_safetensors_if_both_are_there(tmp_path: Path) -> None:
    for name, size in (("a.safetensors", 10), ("b.safetensors", 20), ("pytorch_model.bin", 99)):
        (tmp_path / name).write_bytes(b"0" * size)
    assert weights_bytes(tmp_path) == 30
    for path in tmp_path.glob("*.safetensors"):
        path.unlink()
    assert weights_bytes(tmp_path) == 99


def test_state_of_a_training_is_not_weights(tmp_path: Path) -> None:
    (tmp_path / "training_args.bin").write_bytes(b"0")
    assert weights_bytes(tmp_path) == 0


@pytest.mark.parametrize(("dtype", "parameters"), [("float32", 25), ("bfloat16", 50), (None, 25)])
def test_parameters_follow_from_the_size_of_the_weights(
    tmp_path: Path, dtype: str | None, parameters: int
) -> None:
    (write(tmp_path, dtype=dtype) / "model.safetensors").write_bytes(b"0" * 100)
    assert read_model(tmp_path).parameters == parameters


def test_proposal_follows_from_the_files(tmp_path: Path) -> None:
    write(tmp_path, **BERT, architectures=["BertModel"], max_position_embeddings=512)
    (tmp_path / "model.safetensors").write_bytes(b"0")
    (tmp_path / "tokenizer.json").write_text("{}")
    assert proposal_of(read_model(tmp_path)).entries == {"weights": "pretrained", "task": "embed"}


def test_proposal_without_weights_and_tokenizer_for_a_model_of_short_texts() -> None:
    stored = StoredModel(folder=Path(), task=StatedTask("generate", "config.json"), positions=64)
    proposal = proposal_of(stored)
    assert proposal.entries == {
        "weights": "random",
        "task": "generate",
        "dataset": "synthetic",
        "axes.sequence_length": "32",
    }
    assert "random weights, since it has none" in proposal.reasons


@pytest.mark.parametrize(
    ("model", "missing"),
    [
        ("org/name", False),
        ("name", False),
        ("./name", True),
        ("/name", True),
        ("~/name", True),
        ("a/b/c", True),
        ("here/name", True),
        ("a name", True),
        ("", True),
    ],
)
def test_name_that_can_only_be_a_folder_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, missing: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    assert bool(missing_reason(model, None)) == missing
