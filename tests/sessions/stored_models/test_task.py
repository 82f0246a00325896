"""Task of a model by its files."""

import json
from pathlib import Path

import pytest

from benchtui.sessions.stored_models.measurable import StatedTask, stated_task, task_of_folder


@pytest.mark.parametrize(
    ("architecture", "task"),
    [
        ("DistilBertForSequenceClassification", "classify"),
        ("GPT2LMHeadModel", "generate"),
        ("LlamaForCausalLM", "generate"),
        ("ViTForImageClassification", "image"),
        ("Wav2Vec2ForCTC", "speech"),
        ("WhisperForConditionalGeneration", "speech"),
        ("BertModel", "embed"),
        ("BertForMaskedLM", "classify"),
    ],
)
def test_task_follows_from_the_model_class(tmp_path: Path, architecture: str, task: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"architectures": [architecture]}))
    assert task_of_folder(tmp_path) == task


@pytest.mark.parametrize("name", ["1_Pooling", "modules.json"])
def test_model_of_sentence_transformers_embeds(tmp_path: Path, name: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["BertForSequenceClassification"]}))
    (tmp_path / name).mkdir()
    assert stated_task(tmp_path) == StatedTask("embed", name)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"architectures": []}', '{"architectures": {"a": 1}}'])
def test_configuration_without_a_class_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    assert task_of_folder(tmp_path) == task_of_folder(None) == "classify"


def test_source_of_the_task_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["GPT2LMHeadModel"]}))
    assert stated_task(tmp_path) == StatedTask("generate", "config.json: GPT2LMHeadModel")
