"""Task of a model, as its files state it."""

from pathlib import Path

import msgspec

from benchtui.sessions.stored_models.measurable import configuration

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


def task_of_folder(folder: Path | None) -> str:
    """Return the task of a model by its files; ``classify`` if they don't say."""
    stated = stated_task(folder) if folder else None
    return stated.task if stated else DEFAULT_TASK
