"""The editor understands names that people know from other libraries, or answers with the right word."""

from pathlib import Path
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


@pytest.mark.parametrize(
    ("habit", "text"),
    [
        ("dtype=bfloat16, float32", "bf16, fp32"),
        ("task=text-classification", "classify"),
        ("attention=flash_attention_2", "flash"),
        ("compile=true", "default"),
        ("device=cuda", "cuda:0"),
        ("aa=yes", "true"),
        ("gradient_checkpointing=true", "on"),
        ("optim=adamw_torch_fused", "adamw-fused"),
        ("batch_size=1, 2, 4", "1, 2, 4"),
        ("task=auto", "auto"),
    ],
)
def test_habit_is_shown_and_kept_as_what_it_became(habit: str, text: str) -> None:
    state = typed(habit, "lm-train" if habit.startswith(("gradient", "optim")) else "")
    row = state.form.row
    assert row.text == state.draft.state.texts[row.entry.key] == text, state.message
    assert {value for value, _ in row.values} <= {*row.entry.values}


def test_habit_in_a_file_is_shown_as_what_it_became(tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text('model = "a/b"\ntask = "text-classification"\n[axes]\ndtype = ["float32", "bfloat16"]\n')
    state = EditorState(file)
    for name, text in (("task", "classify"), ("precision", "fp32, bf16")):
        state.find(name)
        assert state.form.row.text == text
        assert {value for value, _ in state.form.row.values} == {*state.form.row.entry.values}
    state.toggle()
    assert state.sweep.axes.precision == ("bf16",)
    assert 'dtype = "bf16"' in state.draft.text()


@pytest.mark.parametrize(("habit", "answer"), [row for row in ANSWERED if "." not in row[0].partition("=")[0]])
def test_other_names_are_answered_with_the_right_word(habit: str, answer: str) -> None:
    state = typed(habit)
    assert answer in f"{state.message} {state.error}"
