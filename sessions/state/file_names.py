"""Names of the files that a case depends on, and marks of cases that used changed ones."""

from collections.abc import Iterable

from benchtui.sessions.sweep import Config, Sweep, custom_task
from benchtui.sessions.sweep.options import LOOKUP

WEIGHTS, DATASET, DRAFT_PREFIX = "weights", "dataset", "draft/"
"""Names for all weight files of a model and for a local dataset, and the prefix of a draft's files."""
CHANGED = "changed"
"""Kind of the mark of a case that used other versions of files than earlier cases."""
SHOWN_DIGITS = 8
"""Digits of a digest that are shown."""


def is_model_name(draft: str) -> bool:
    """Return whether a draft is a model, not a lookup in the prompt."""
    return draft != "off" and not draft.startswith(LOOKUP)


def file_label(name: str, sweep: Sweep, config: Config) -> str:
    """Return the name of a file to show, which no other file of the session has: ``config.json of gpt2``."""
    if custom_task(sweep.task) or name == DATASET:
        return name
    if name.startswith(DRAFT_PREFIX):
        return f"{name.removeprefix(DRAFT_PREFIX)} of {config.draft}"
    return f"{name} of {sweep.resolve(config).model}"


def change_text(label: str, before: str, now: str | None) -> str:
    """Describe the change of a file: ``sane.py: 1a2b3c4d → 5e6f7a8b``."""
    return f"{label}: {before[:SHOWN_DIGITS]} → {now[:SHOWN_DIGITS] if now else 'missing'}"


def change_mark(label: str, now: str, before: str, case: int) -> str:
    """Return the mark of a case that used another version of a file than an earlier case."""
    return f"{CHANGED}: {label} ({now[:SHOWN_DIGITS]}; in case {case + 1}, {before[:SHOWN_DIGITS]})"


def change_marks(marks: Iterable[str]) -> tuple[str, ...]:
    """Return the marks about changed files."""
    return tuple(mark for mark in marks if mark.startswith(f"{CHANGED}: "))
