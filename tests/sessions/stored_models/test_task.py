"""Task of a model by its files."""

import json
from pathlib import Path

import pytest

from benchtui.sessions.stored_models.measurable import StatedTask, stated_task, task_of


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
    assert task_of("a/b", tmp_path) == task


@pytest.mark.parametrize("name", ["1_Pooling", "modules.json"])
def test_model_of_sentence_transformers_embeds(tmp_path: Path, name: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["BertForSequenceClassification"]}))
    (tmp_path / name).mkdir()
    assert stated_task(tmp_path) == StatedTask("embed", name)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"architectures": []}', '{"architectures": {"a": 1}}'])
def test_configuration_without_a_class_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    assert task_of("llama", tmp_path) == task_of("a/b", None) == "classify"


def test_source_of_the_task_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["GPT2LMHeadModel"]}))
    assert stated_task(tmp_path) == StatedTask("generate", "config.json: GPT2LMHeadModel")


@pytest.mark.parametrize(
    ("model", "task"),
    [
        ("meta-llama/Llama-3.2-1B", "generate"),
        ("Qwen/Qwen2.5-7B-Instruct", "generate"),
        ("openai-community/gpt2", "generate"),
        ("microsoft/phi-2", "generate"),
        ("Alibaba-NLP/gte-Qwen2-1.5B-instruct", "embed"),
        ("sentence-transformers/all-MiniLM-L6-v2", "embed"),
        ("BAAI/bge-small-en-v1.5", "embed"),
        ("BAAI/bge-reranker-base", "classify"),
        ("distilbert-base-uncased-finetuned-sst-2-english", "classify"),
        ("google/vit-base-patch16-224", "image"),
        ("openai/whisper-tiny", "speech"),
        ("google-bert/bert-base-uncased", "classify"),
    ],
)
def test_task_of_a_model_that_is_not_here_is_that_of_its_name(model: str, task: str) -> None:
    assert task_of(model, None) == task
