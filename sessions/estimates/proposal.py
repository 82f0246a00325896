"""Proposal: the entries of a sweep that a model's files suggest."""

import msgspec

from benchtui.sessions.stored_models.stored_model import StoredModel
from benchtui.sessions.sweep import Axes, Generate, task_named


class Proposal(msgspec.Struct, frozen=True):
    """Entries by their dotted name, and where they come from, in words."""

    entries: dict[str, str]
    reasons: tuple[str, ...]

    @property
    def overrides(self) -> tuple[str, ...]:
        """The entries as ``key=value``."""
        return tuple(f"{name}={text}" for name, text in self.entries.items())


def proposal_of(stored: StoredModel) -> Proposal:
    """Return the entries for a model with these files.

    Weights are loaded if there are any. Without a tokenizer, the input is random tokens. Texts are no longer
    than the model allows.
    """
    entries, reasons = {"weights": "pretrained" if stored.weights_bytes else "random"}, []
    reasons.append("its weights" if stored.weights_bytes else "random weights, since it has none")
    if stored.task:
        entries["task"] = stored.task.task
        reasons.append(f"task {stored.task.task} ({stored.task.source})")
    if not stored.tokenizer and task_named(entries.get("task", "")).texts:
        entries["dataset"] = "synthetic"
        reasons.append("synthetic tokens, since it has no tokenizer")
    longest = stored.positions - (Generate().new_tokens if entries.get("task") == "generate" else 0)
    if 0 < longest < Axes().sequence_length[0]:
        entries["axes.sequence_length"] = str(longest)
        reasons.append(f"{longest} tokens, its longest text")
    return Proposal(entries, tuple(reasons))
