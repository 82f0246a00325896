"""Which tasks measure which architectures, by their configuration alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.stored_models.measurable import unmeasured_reason
from benchtui.sessions.sweep import cases
from benchtui.sessions.sweep.toml_reader import parse_sweep

BOTH_WAYS = "not a causal language model"
BOTH_PARTS = "has an encoder and a decoder"


def skips(folder: Path, task: str, *overrides: str, **config: Any) -> list[str | None]:
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "preprocessor_config.json").write_text("{}")
    text = f'model = "{folder}"\nweights = "random"\ntask = "{task}"\ndataset = "synthetic"\n'
    overrides = ("batch_size=1,2", "sequence_length=16", *overrides)
    return [case.skip for case in cases(parse_sweep(text, "test", overrides, "test"))]


@pytest.mark.parametrize(
    ("kind", "task", "reason"),
    [
        ("mamba", "generate", None),
        ("mamba", "lm-train", None),
        ("bert", "lm-forward", BOTH_WAYS),
        ("bert", "lm-train", BOTH_WAYS),
        ("electra", "generate", BOTH_WAYS),
        ("bert", "classify", None),
        ("clip", "embed", None),
        ("siglip", "embed", None),
        ("dpr", "embed", "no hidden states for texts alone"),
        ("bros", "embed", "no hidden states for texts alone"),
        ("vilt", "embed", "no hidden states for texts alone"),
        ("blip_2_qformer", "embed", "no hidden states for texts alone"),
        ("clip", "image", None),
        ("vit", "embed", "no hidden states for texts alone"),
        ("t5", "generate", BOTH_PARTS),
        ("t5", "lm-train", BOTH_PARTS),
        ("whisper", "generate", BOTH_PARTS),
        ("whisper", "speech", None),
        ("bart", "embed", BOTH_PARTS),
        ("gpt2", "classify", None),
        ("gpt2", "image", "no classifier of images"),
        ("made-up", "generate", None),
    ],
)
def test_task_is_skipped_by_the_type_of_the_model(
    tmp_path: Path, kind: str, task: str, reason: str | None
) -> None:
    for skip in skips(tmp_path, task, model_type=kind):
        assert skip is None if reason is None else reason in str(skip)


def test_configuration_refines_the_type(tmp_path: Path) -> None:
    assert skips(tmp_path, "generate", model_type="bert", is_decoder=True) == [None, None]


@pytest.mark.parametrize(
    ("config", "most"),
    [
        ({"model_type": "gpt2", "n_positions": 64}, 64),
        ({"model_type": "opt", "max_position_embeddings": 64}, 64),
        ({"model_type": "roberta", "max_position_embeddings": 66, "pad_token_id": 1}, 64),
        ({"model_type": "gemma3", "text_config": {"max_position_embeddings": 64}}, 64),
    ],
)
def test_last_position_counts(tmp_path: Path, config: dict[str, Any], most: int) -> None:
    fits = skips(tmp_path, "classify", f"sequence_length={most}", **config)
    over = skips(tmp_path, "classify", f"sequence_length={most + 1}", **config)
    assert fits == [None, None] and f"at most {most}" in str(over[0])


def test_bundled_architecture_is_read_for_random_weights() -> None:
    text = 'model = "gpt2"\ntask = "{task}"\ndataset = "synthetic"\nweights = "random"\n'
    plans = [cases(parse_sweep(text.format(task=task), "test")) for task in ("image", "generate")]
    assert [case.skip for (case,) in plans] == [
        "image: transformers has no classifier of images of the type gpt2",
        None,
    ]


def test_files_that_inputs_need_are_missed_before_anything_starts(tmp_path: Path) -> None:
    (without,) = set(skips(tmp_path, "classify", "dataset=sample", model_type="bert"))
    assert str(without).endswith('has no tokenizer; dataset = "synthetic" needs no tokenizer')
    (tmp_path / "vocab.txt").write_text("")
    assert skips(tmp_path, "classify", "dataset=sample", model_type="bert") == [None, None]
    assert skips(tmp_path, "speech", model_type="whisper") == [None, None]
    (tmp_path / "preprocessor_config.json").unlink()
    reason = unmeasured_reason("speech", str(tmp_path), "random", "audio")
    assert str(reason).endswith("has no feature extractor (preprocessor_config.json)")


def test_random_tokens_need_the_size_of_the_vocabulary(tmp_path: Path) -> None:
    (skip,) = set(skips(tmp_path, "embed", model_type="esm"))
    assert str(skip).endswith("states no vocab_size, which random tokens need")
    assert skips(tmp_path, "embed", model_type="esm", vocab_size=33) == [None, None]


def test_files_that_the_hub_has_are_not_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    files = tmp_path / "models--org--one" / "snapshots" / "c0ffee"
    files.mkdir(parents=True)
    (tmp_path / "models--org--one" / "refs").mkdir()
    (tmp_path / "models--org--one" / "refs" / "main").write_text("c0ffee")
    (files / "config.json").write_text('{"model_type": "whisper"}')
    assert unmeasured_reason("speech", "org/one", "pretrained", "audio") is None
    assert unmeasured_reason("speech", str(files), "pretrained", "audio") is not None


def test_last_new_token_needs_no_position(tmp_path: Path) -> None:
    config = {"model_type": "gpt2", "n_positions": 47}
    assert skips(tmp_path, "generate", "generate.new_tokens=32", **config) == [None, None]
    assert skips(tmp_path, "generate", "generate.new_tokens=33", **config) != [None, None]
