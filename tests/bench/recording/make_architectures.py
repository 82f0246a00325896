"""Write what transformers declares about each type of model, and which types embed texts.

Run ``python tests/bench/recording/make_architectures.py``. It takes a quarter of an hour, because a tiny model
of each type takes a step of each task.

The table is ``sessions/stored_models/architectures.json``. It is read where transformers must not be imported.
"""

import json
import sys
from importlib.util import find_spec
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, cast

import transformers
from transformers import CONFIG_MAPPING, MODEL_MAPPING
from transformers.models.auto import modeling_auto

from benchtui.sessions.stored_models import measurable
from benchtui.sessions.sweep.tasks import TASKS

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))
from architectures import prepare, trial

TABLE = Path(__file__).parents[3] / "sessions" / "stored_models" / "architectures.json"
_MAPPINGS = {
    "causal": "MODEL_FOR_CAUSAL_LM",
    "classify": "MODEL_FOR_SEQUENCE_CLASSIFICATION",
    "image": "MODEL_FOR_IMAGE_CLASSIFICATION",
    "ctc": "MODEL_FOR_CTC",
    "speech": "MODEL_FOR_SPEECH_SEQ_2_SEQ",
    "embed": "MODEL",
}
_SOURCES = {"shifted": "create_position_ids_from_input_ids", "state": "_is_stateful = True"}


def table() -> dict[str, str]:
    """Return the words that apply to each type of model with a class of models, and the tried version."""
    words = {kind: _words(kind, classes) for kind in sorted(CONFIG_MAPPING) if (classes := _classes(kind))}
    return {"transformers": transformers.__version__, **words}


def _classes(kind: str) -> list[str]:
    return [word for word, name in _MAPPINGS.items() if kind in getattr(modeling_auto, f"{name}_MAPPING_NAMES")]


def _words(kind: str, classes: list[str]) -> str:
    words, config = [*classes], cast(Any, CONFIG_MAPPING[kind])
    if getattr(config, "is_encoder_decoder", False) is True:
        words.append("encoder-decoder")
    elif "is_decoder" in vars(config):
        words.append("switch")
    text = _source(config)
    words += [word for word, sign in _SOURCES.items() if sign in text]
    if "embed" in words and not _embeds(kind):
        words.remove("embed")
    if {"embed", "classify"} & {*words} and getattr(_text_part(config), "vocab_size", None) is None:
        words.append("unsized")
    return " ".join([*words, *(word for task in TASKS if (word := _tried(task, kind, words)))])


def _tried(task: str, kind: str, words: list[str]) -> str | None:
    """Return a word if a tiny model fails at a task that its class is for, or can't be made."""
    if measurable._unfit_reason(task, {"model_type": kind}, frozenset(words), kind):
        return None
    end = trial(task, kind)[0]
    if end in ("raised", "refused") and task != "embed":
        return f"-{task}"
    return f"?{task}" if end in ("not built", "too large") else None


def _embeds(kind: str) -> bool:
    """Return whether a model of a type embeds texts: by trial or, if that shows nothing, by its inputs."""
    end, why = trial("embed", kind)
    if _text_part(CONFIG_MAPPING[kind]) is None:
        return False
    if end in ("measured", "raised") or "returns no hidden states" in why or "no such model" in why:
        return end == "measured"
    try:
        classes: Any = MODEL_MAPPING[CONFIG_MAPPING[kind]]
        first = classes[0] if isinstance(classes, tuple) else classes
        inputs = list(signature(first.forward).parameters.values())[1:]
    except ImportError:  # needs a package that isn't installed
        return True
    except ValueError:  # transformers names a class that it lacks
        return False
    needed = {
        parameter.name
        for parameter in inputs
        if parameter.default is Parameter.empty and parameter.kind is Parameter.POSITIONAL_OR_KEYWORD
    }
    return needed <= {"input_ids"} and "input_ids" in {parameter.name for parameter in inputs}


def _text_part(config: Any) -> Any:
    """Return the configuration of the text part; None if there are several."""
    try:
        return config().get_text_config()
    except ValueError:
        return None


def _source(config: Any) -> str:
    """Return the source of the models of a configuration."""
    spec = find_spec(config.__module__.replace(".configuration_", ".modeling_"))
    return Path(spec.origin).read_text("utf-8") if spec and spec.origin else ""


def text() -> str:
    """Return the table as a file."""
    return json.dumps(table(), indent=0) + "\n"


if __name__ == "__main__":
    prepare()
    TABLE.write_text(text())
