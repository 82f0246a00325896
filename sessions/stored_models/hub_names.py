"""Names on the Hugging Face hub: of models and datasets, told from paths by their form."""

import re
from pathlib import Path

_OLD_IDS = (
    "albert-base-v1 albert-base-v2 albert-large-v1 albert-large-v2 albert-xlarge-v1 albert-xlarge-v2 "
    "albert-xxlarge-v1 albert-xxlarge-v2 bert-base-cased bert-base-cased-finetuned-mrpc bert-base-chinese "
    "bert-base-german-cased bert-base-german-dbmdz-cased bert-base-german-dbmdz-uncased "
    "bert-base-multilingual-cased bert-base-multilingual-uncased bert-base-uncased bert-large-cased "
    "bert-large-cased-whole-word-masking bert-large-cased-whole-word-masking-finetuned-squad "
    "bert-large-uncased bert-large-uncased-whole-word-masking "
    "bert-large-uncased-whole-word-masking-finetuned-squad camembert-base ctrl distilbert-base-cased "
    "distilbert-base-cased-distilled-squad distilbert-base-german-cased distilbert-base-multilingual-cased "
    "distilbert-base-uncased distilbert-base-uncased-distilled-squad "
    "distilbert-base-uncased-finetuned-sst-2-english distilgpt2 distilroberta-base gpt2 gpt2-large "
    "gpt2-medium gpt2-xl openai-gpt roberta-base roberta-base-openai-detector roberta-large "
    "roberta-large-mnli roberta-large-openai-detector t5-11b t5-3b t5-base t5-large t5-small "
    "transfo-xl-wt103 xlm-clm-ende-1024 xlm-clm-enfr-1024 xlm-mlm-100-1280 xlm-mlm-17-1280 "
    "xlm-mlm-en-2048 xlm-mlm-ende-1024 xlm-mlm-enfr-1024 xlm-mlm-enro-1024 xlm-mlm-tlm-xnli15-1024 "
    "xlm-mlm-xnli15-1024 xlm-roberta-base xlm-roberta-large xlm-roberta-large-finetuned-conll02-dutch "
    "xlm-roberta-large-finetuned-conll02-spanish xlm-roberta-large-finetuned-conll03-english "
    "xlm-roberta-large-finetuned-conll03-german xlnet-base-cased xlnet-large-cased"
)
OWNERLESS = frozenset(_OLD_IDS.split())
"""Ids of models from before owners existed. The hub redirects them; any newer id has an owner."""
TEXT_SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".txt", ".parquet")
"""Endings of files of texts."""
MISSING_DATASET = 'no such file or folder; use an existing one, a hub id, or "sample"'
_MODEL = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)
_DATASET = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?(:[\w.-]+){0,2}")


def may_be_model(name: str) -> bool:
    """Return whether a name has the form of a model's id on the hub."""
    return bool(_MODEL.fullmatch(name))


def is_surely_model(word: str) -> bool:
    """Return whether a word of any meaning is the id of a model: it has an owner, or needs none."""
    return word in OWNERLESS or ("/" in word and may_be_model(word))


def may_be_dataset(name: str) -> bool:
    """Return whether a name has the form ``id``, ``id:split`` or ``id:config:split`` of datasets of the hub."""
    return bool(_DATASET.fullmatch(name)) and Path(name).suffix.lower() not in TEXT_SUFFIXES
