"""The editor understands names that people know from other libraries, or answers with the right word."""

from typing import Any

import pytest
from habits import ANSWERED, OF_SWEEP, SETTINGS, parts

from benchtui.tui.editor import screen as _keys  # noqa: F401  (its keys are named in the first message)
from benchtui.tui.editor.state import EditorState

TASKS = {
    "train": "lm-train",
    "generate": "generate",
    "axes.cache": "generate",
    "axes.draft": "generate",
    "axes.lora": "lm-train",
    "axes.liger": "lm-train",
    "axes.pooling": "embed",
}
"""Tasks that show an entry, or a table of entries."""


def typed(habit: str, task: str = "") -> EditorState:
    """Look for the entry of a habit, and type its value there. The message is the editor's answer."""
    _, name, text = parts(habit)
    state = EditorState("quick")
    if task:
        state.draft.apply(state.draft.with_entry("task", task))
    state.find(name)
    if not state.message:
        state.set_value(text)
    return state


def value_at(record: Any, entry: str) -> object:
    for name in entry.split("."):
        record = getattr(record, name)
    return record


@pytest.mark.parametrize(("habit", "entry", "value"), [*SETTINGS, *OF_SWEEP])
def test_names_that_people_know_set_an_entry(habit: str, entry: str, value: object) -> None:
    state = typed(habit, TASKS.get(entry) or TASKS.get(entry.partition(".")[0], ""))
    assert value_at(state.sweep, entry) == value, state.error


@pytest.mark.parametrize(("habit", "answer"), [row for row in ANSWERED if "." not in row[0].partition("=")[0]])
def test_other_names_are_answered_with_the_right_word(habit: str, answer: str) -> None:
    state = typed(habit)
    assert answer in f"{state.message} {state.error}"
