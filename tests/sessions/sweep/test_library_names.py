"""Names that people know from other libraries are accepted, or answered with the right word."""

import pytest
from habits import ACCEPTED, ANSWERED, OF_SWEEP, SETTINGS, as_toml, parts

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import Sweep
from benchtui.sessions.sweep.entries import ENTRIES, TABLES
from benchtui.sessions.sweep.library_names import _ENTRIES, ALIASES, TASK_ALIASES
from benchtui.sessions.sweep.options import BY_NAME
from benchtui.sessions.sweep.tasks import TASKS
from benchtui.sessions.sweep.toml_reader import load_sweep, parse_sweep


def value_at(sweep: Sweep, entry: str) -> object:
    """Return the value of a dotted entry."""
    value: object = sweep
    for name in entry.split("."):
        value = getattr(value, name)
    return value


@pytest.mark.parametrize(("habit", "axis", "values"), ACCEPTED)
def test_names_that_people_know_set_an_axis(habit: str, axis: str, values: tuple[object, ...]) -> None:
    assert getattr(load_sweep("quick", [habit]).axes, axis) == values


@pytest.mark.parametrize(("habit", "entry", "value"), OF_SWEEP)
def test_names_that_people_know_set_an_entry(habit: str, entry: str, value: object) -> None:
    assert value_at(load_sweep("quick", [habit]), entry) == value


@pytest.mark.parametrize(("habit", "answer"), ANSWERED)
def test_other_names_are_answered_with_the_right_word(habit: str, answer: str) -> None:
    with pytest.raises(BenchtuiError) as caught:
        load_sweep("quick", [habit])
    assert answer in str(caught.value)


@pytest.mark.parametrize(("habit", "entry", "value"), [*SETTINGS, *OF_SWEEP])
def test_names_that_people_know_work_in_a_file(habit: str, entry: str, value: object) -> None:
    model = "" if entry == "model" else 'model = "gpt2"\n'
    task = 'task = "lm-train"\n' if entry.startswith("train.") else ""
    assert value_at(parse_sweep(f"{model}{task}{as_toml(habit, entry)}", "my.toml"), entry) == value


@pytest.mark.parametrize(("habit", "answer"), ANSWERED)
def test_a_file_is_answered_with_the_right_word(habit: str, answer: str) -> None:
    table, name, _ = parts(habit)
    home = f"{table or 'axes'}." if name not in ("task", "modle") else ""
    with pytest.raises(BenchtuiError) as caught:
        parse_sweep(f'model = "gpt2"\n{as_toml(habit, home)}', "my.toml")
    assert answer in str(caught.value)


@pytest.mark.parametrize("name", ["adafactor", "Lion", "adam"])
def test_optimizers_that_are_not_measured_are_answered(name: str) -> None:
    with pytest.raises(BenchtuiError, match="of optimizers, AdamW and SGD are measured"):
        load_sweep("gpt2-train", [f"optim={name}"])


@pytest.mark.parametrize("key", ["benchmark.input_shapes.batch_size", "input_shapes.batch-size"])
def test_a_key_in_the_table_of_another_tool_is_answered(key: str) -> None:
    with pytest.raises(BenchtuiError, match=r"no entry '\w+' \(did you mean 'batch_size'\?\)"):
        load_sweep("quick", [f"{key}=4"])


def test_a_file_may_use_them_together() -> None:
    text = (
        'model_id = "gpt2"\ntask = "text-generation"\n'
        '[axes]\ntorch_dtype = ["bfloat16", "float16"]\ntorch_compile = true\n'
        '[measure.baseline]\ndtype = "bfloat16"\n[[exclude]]\nbs = 2\n'
    )
    sweep = parse_sweep(text, "my.toml")
    assert (sweep.model, sweep.task, sweep.axes.precision) == ("gpt2", "generate", ("bf16", "fp16"))
    assert sweep.axes.compile == ("default",)
    assert sweep.measure.baseline and sweep.measure.baseline.precision == "bf16"
    assert sweep.exclude[0].batch_size == 2


def test_an_override_replaces_an_entry_under_another_name() -> None:
    sweep = parse_sweep('model = "gpt2"\n[axes]\ndtype = "bf16"\n', "my.toml", ["precision=fp16"])
    assert sweep.axes.precision == ("fp16",)


def test_two_names_of_one_entry_are_refused() -> None:
    with pytest.raises(
        BenchtuiError, match=r"axes\.precision: precision is set twice, under two names; .*line 4"
    ):
        parse_sweep('model = "gpt2"\n[axes]\ndtype = "bf16"\nprecision = "fp16"\n', "my.toml")


def test_an_own_step_is_named_by_options_under_any_name() -> None:
    sweep = parse_sweep('task = "my.py:step"\n[axes]\ndtype = ["fp32", "bf16"]\n', "my.toml")
    assert sweep.axes.unset == ("compile", "sequence_length", "batch_size")


def test_entries_that_differ_by_an_s_stay_apart() -> None:
    sweep = load_sweep("quick", ["cache=static", "caches=shared"])
    assert (sweep.axes.cache, sweep.measure.caches) == (("static",), "shared")
    with pytest.raises(BenchtuiError, match=r"caches: .static. is not recognized"):
        load_sweep("quick", ["Caches=static"])


def test_a_draft_may_have_the_name_of_a_value() -> None:
    assert load_sweep("quick", ["draft=static"]).axes.draft == ("static",)


def test_an_entry_in_the_wrong_table_is_answered_with_its_home() -> None:
    with pytest.raises(BenchtuiError, match=r"dtype: unknown entry \(it belongs to \[axes\], as precision\)"):
        parse_sweep('model = "gpt2"\ndtype = "bf16"\n', "my.toml")


def test_every_name_stands_for_something_that_exists() -> None:
    tables = [table for name, table in TABLES.items() if name != "find"]
    entries = {*ENTRIES, *(name for table in tables for name in table)}
    assert set(_ENTRIES.values()) <= entries
    assert not set(_ENTRIES) & entries
    assert set(TASK_ALIASES.values()) <= set(TASKS)
    for name, words in ALIASES.items():
        assert set(words.values()) <= set(BY_NAME[name].values)
        assert not set(words) & set(BY_NAME[name].values)
