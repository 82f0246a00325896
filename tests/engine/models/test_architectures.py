"""The bundled architectures load as transformers folders, without weights: DistilBERT for SST-2, and GPT-2."""

import pytest
import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedTokenizerFast,
)

from benchtui.sessions.stored_models.hub_cache import bundled_models

FOLDER = bundled_models()["distilbert-base-uncased-finetuned-sst-2-english"]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return AutoTokenizer.from_pretrained(FOLDER)


def test_distilbert_has_the_published_number_of_parameters() -> None:
    with torch.device("meta"):
        model = AutoModelForSequenceClassification.from_config(AutoConfig.from_pretrained(FOLDER))
    assert type(model).__name__ == "DistilBertForSequenceClassification"
    assert sum(parameter.numel() for parameter in model.parameters()) == 66_955_010


def test_model_accepts_the_tokenizer_output(tokenizer: PreTrainedTokenizerFast) -> None:
    encoded = tokenizer(["one", "one two three " * 300], padding=True, truncation=True)
    assert set(encoded) == {"input_ids", "attention_mask"}
    assert [len(row) for row in encoded["input_ids"]] == [512, 512]
    assert encoded["input_ids"][0][:4] == [101, 2028, 102, 0]
    assert sum(encoded["attention_mask"][0]) == 3


def test_notice_names_the_vocabulary_and_its_license() -> None:
    notice = (FOLDER.parents[3] / "NOTICE").read_text(encoding="utf-8")
    assert FOLDER.name in notice
    assert "Apache License" in notice


def test_gpt2_with_tied_head_has_the_published_number_of_parameters() -> None:
    config = AutoConfig.from_pretrained(FOLDER.parent / "gpt2")
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    assert type(model).__name__ == "GPT2LMHeadModel"
    assert model.lm_head.weight is model.transformer.wte.weight
    assert sum(parameter.numel() for parameter in model.parameters()) == 124_439_808
    assert config.max_position_embeddings == 1024
