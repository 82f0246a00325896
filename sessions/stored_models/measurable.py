"""Tasks of a model: the one that its files state, and which built-in tasks can measure it, by a table."""

import json
import re
from collections.abc import Mapping
from fnmatch import fnmatch
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from benchtui.sessions.files.input_file import read_text
from benchtui.sessions.stored_models.hub_cache import CONFIG, snapshot, stored_folder

_TABLE = Path(__file__).parent / "architectures.json"
"""What transformers declares about each type of model, which types embed texts, after a minus which tasks a
version of transformers failed at, and after a question mark which it wasn't tried with. It is written by
``tests/bench/recording/make_architectures.py``."""
CAUSAL = ("lm-forward", "lm-train", "generate", "serve-batch")
"""Tasks of causal language models."""
_POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len")
_NEEDED = {
    "classify": ("classify", "classifier of texts"),
    "image": ("image", "classifier of images"),
    **dict.fromkeys(CAUSAL, ("causal", "causal language model")),
}
NO_TOKENIZER = 'dataset = "synthetic" needs no tokenizer'
"""Remedy for a model without a tokenizer."""
_TOKENIZERS = ("tokenizer*", "*vocab*", "merges.txt", "*.model", "*.spm", "*.tiktoken", "*.codes")
"""Patterns of the files of tokenizers."""
PROCESSORS = ("preprocessor_config.json", "processor_config.json")
"""Files of the processors of images and audio."""


Inputs = Literal["texts", "tokens", "images", "audio"]
"""Texts are tokenized; tokens are drawn at random."""


def unmeasured_reason(
    task: str, model: str, weights: str, inputs: Inputs, length: int = 0, new_tokens: int = 0
) -> str | None:
    """Return why a task can't measure a model with texts of this length; None if it can, or may.

    A model whose files aren't here, or whose type isn't in the table, may be measurable.
    """
    folder = stored_folder(model, weights)
    if folder is None:
        return None
    config = configuration(folder)
    words = _words().get(str(config.get("model_type")))
    reason = _unfit_reason(task, config, words, model)
    if config:
        reason = reason or _missing_file(inputs, folder, model)
    if inputs == "tokens" and words and "unsized" in words and not text_part(config).get("vocab_size"):
        reason = reason or f"{model} states no vocab_size, which random tokens need"
    return f"{task}: {reason}" if reason else room_reason(config, model, length, new_tokens)


def _missing_file(inputs: Inputs, folder: Path, model: str) -> str | None:
    """Return which file the inputs need and a folder lacks. Images need none: they can be drawn."""
    if inputs == "texts" and not has_tokenizer(folder):
        reason = f"{model} has no tokenizer; {NO_TOKENIZER}"
    elif inputs == "audio" and not any((folder / name).exists() for name in PROCESSORS):
        reason = f"{model} has no feature extractor ({PROCESSORS[0]})"
    else:
        return None
    return None if folder == snapshot(model) else reason  # transformers downloads what the cache lacks


def has_tokenizer(folder: Path) -> bool:
    """Return whether the files of a tokenizer are in a folder."""
    try:
        return _lists_tokenizer(folder, folder.stat().st_mtime_ns)
    except OSError:
        return False


@lru_cache(maxsize=256)
def _lists_tokenizer(folder: Path, _modified_ns: int) -> bool:
    """Look for the files of a tokenizer. The folder is listed again once it is modified."""
    names = [path.name for path in folder.iterdir()]
    return any(fnmatch(name, pattern) for name in names for pattern in _TOKENIZERS)


def _unfit_reason(
    task: str, config: Mapping[str, Any], stated: frozenset[str] | None, model: str
) -> str | None:
    """Return why the task can't measure a type of model. Its words in the table are None if it has none."""
    kind, words = config.get("model_type"), stated or frozenset()
    if task not in ("image", "speech") and config.get("is_encoder_decoder", "encoder-decoder" in words):
        return f"{model} has an encoder and a decoder"
    if stated is None:
        return None
    if f"-{task}" in words:
        return f"models of the type {kind} failed when this was tried with this version of transformers"
    if task in CAUSAL and "switch" in words and not config.get("is_decoder"):
        return (
            f"{model} is an encoder with attention in both directions (is_decoder is false),"
            " not a causal language model"
        )
    if task == "serve-batch" and "state" in words:
        return f"{model} keeps a state besides keys and values, which can't be stored in pages"
    if task == "embed":
        return None if "embed" in words else f"models of the type {kind} give no hidden states for texts alone"
    if task == "speech":
        return None if words & {"ctc", "speech"} else f"{kind} has no speech recognition in transformers"
    word, what = _NEEDED[task]
    return None if word in words else f"transformers has no {what} of the type {kind}"


def room_reason(config: Mapping[str, Any], model: str, length: int, new_tokens: int = 0) -> str | None:
    """Return why texts of this length, and new tokens, exceed the positions that the configuration states."""
    most = positions(config)
    if not 0 < most < length + max(new_tokens - 1, 0):  # the last new token isn't fed back
        return None
    needed = f"sequence_length {length}" + (f" and {new_tokens} new tokens" if new_tokens else "")
    return f"{needed}: {model} supports at most {most} positions"


def positions(config: Mapping[str, Any]) -> int:
    """Return the length of the longest text in tokens that a configuration allows; 0 if it doesn't say."""
    config = text_part(config)
    values = (config.get(name) for name in _POSITIONS)
    most = next((value for value in values if isinstance(value, int) and value > 0), 0)
    if most and "shifted" in _words().get(str(config.get("model_type")), ()):
        padding = config.get("pad_token_id")
        most -= (padding if isinstance(padding, int) else 1) + 1  # its positions start behind this one
    return max(most, 0)


def text_part(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a configuration with that of its text part in place of the whole's."""
    text = config.get("text_config")
    return {**config, **text} if isinstance(text, dict) else config


@cache
def _words() -> Mapping[str, frozenset[str]]:
    """Return the words of the table by the type of the model. Failures are those of one version."""
    table = json.loads(_TABLE.read_text("utf-8"))
    same = table.pop("transformers", None) == _installed_version()
    return {
        kind: frozenset(word for word in words.split() if same or word[0] != "-")
        for kind, words in table.items()
    }


def _installed_version() -> str | None:
    from importlib.metadata import PackageNotFoundError, version  # 1.5 MB that a screen rarely needs

    try:
        return version("transformers")
    except PackageNotFoundError:
        return None


def configuration(folder: Path) -> Mapping[str, Any]:
    """Return the configuration of the model in a folder; empty if it can't be read."""
    try:
        return _read(folder / CONFIG, (folder / CONFIG).stat().st_mtime_ns)
    except OSError:
        return {}


@lru_cache(maxsize=256)
def _read(path: Path, _modified_ns: int) -> Mapping[str, Any]:
    """Read a configuration. It is read again once it is modified."""
    try:
        config = json.loads(read_text(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}


DEFAULT_TASK = "classify"
_TASKS_BY_ARCHITECTURE = {
    "ForSequenceClassification": "classify",
    "ForCausalLM": "generate",
    "LMHeadModel": "generate",
    "ForImageClassification": "image",
    "ForCTC": "speech",
    "ForSpeechSeq2Seq": "speech",
    "WhisperForConditionalGeneration": "speech",
    "Model": "embed",
}
"""Task by the end of a model's class."""
_TASKS_BY_NAME = {
    "classify": r"rerank|cross-encoder|finetuned|sentiment|mnli",
    "embed": r"sentence-transformers|minilm|embed|mpnet|\b(bge|e5|gte)-",
    "image": r"\b(vit|deit|swin|resnet|convnext)",
    "speech": r"whisper|wav2vec|hubert",
    "generate": r"llama|mistral|mixtral|qwen|gemma|gpt|falcon|bloom|deepseek|olmo|smollm|pythia|\b(phi|opt)-",
}
"""Task by patterns of names, the first that matches, for models of the hub whose files aren't here."""
_SENTENCE_MODELS = ("modules.json", "1_Pooling")
"""Files of the library sentence-transformers, whose models embed."""


class StatedTask(msgspec.Struct, frozen=True):
    """A task, and the file that states it."""

    task: str
    source: str


def stated_task(folder: Path) -> StatedTask | None:
    """Return the task of a model by its files; None if they don't say."""
    if stated := next((name for name in _SENTENCE_MODELS if (folder / name).exists()), None):
        return StatedTask("embed", stated)
    try:
        architecture = str(configuration(folder)["architectures"][0])
    except (TypeError, LookupError):
        return None
    ends = (task for end, task in _TASKS_BY_ARCHITECTURE.items() if architecture.endswith(end))
    task = next(ends, None)
    return StatedTask(task, f"config.json: {architecture}") if task else None


def task_of(model: str, folder: Path | None) -> str:
    """Return the task of a model by its files, or by its name until they are here; else ``classify``."""
    if folder:
        stated = stated_task(folder)
        return stated.task if stated else DEFAULT_TASK
    named = (task for task, names in _TASKS_BY_NAME.items() if re.search(names, model.lower()))
    return next(named, DEFAULT_TASK)
