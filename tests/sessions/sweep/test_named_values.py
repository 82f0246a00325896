import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import cases, named_values
from benchtui.sessions.sweep.toml_reader import parse_sweep
from benchtui.sessions.sweep.toml_writer import toml_of

TOML = """
model = ["a", "b"]
task = "step.py:make"
[axes]
batch_size = [1, 2]
[axes.parameters]
block = "32..128*2"
layout = ["rows", "two words"]
exact = true
[axes.env]
MALLOC_ARENA_MAX = [1, 2]
"""


@given(st.dictionaries(st.from_regex(r"[a-z]\w{0,5}", fullmatch=True), st.text(max_size=9), max_size=4))
def test_any_text_survives_the_line(values: dict[str, str]) -> None:
    assert named_values.texts(named_values.text_of(values)) == values


def test_numbers_and_flags_are_read_as_such() -> None:
    line = "block=64 rate=0.5 exact=true layout='two words' id=007 size=1e3"
    assert named_values.scalars(line) == {
        "block": 64,
        "rate": 0.5,
        "exact": True,
        "layout": "two words",
        "id": "007",
        "size": "1e3",
    }


def test_every_combination_is_a_case_and_the_sweep_is_written_as_it_was_read() -> None:
    sweep = parse_sweep(TOML, "s")
    assert sweep.model == "a, b" and sweep.axes.model == ("a", "b")
    planned = [case.config for case in cases(sweep)]
    assert len(planned) == 2 * 2 * 3 * 2 * 2
    assert planned[0].model == "a" and planned[-1].model == "b"
    assert planned[0].env == "MALLOC_ARENA_MAX=1"
    assert planned[0].parameters == "block=32 layout=rows exact=true"
    assert planned[0].name == "a cpu MALLOC_ARENA_MAX=1 block=32 layout=rows exact=true bs=1"
    assert parse_sweep(toml_of(sweep), "s") == sweep


def test_a_case_is_excluded_by_its_model() -> None:
    sweep = parse_sweep('model = ["a", "b"]\n[[exclude]]\nmodel = "a"', "s")
    assert [case.config.model for case in cases(sweep)] == ["b"]


def test_a_list_of_one_model_is_the_model() -> None:
    assert parse_sweep('model = ["a"]', "s") == parse_sweep('model = "a"', "s")


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ("parameters = 3", "axes.parameters: 3 is not a table"),
        ('parameters = {"a b" = 1}', "axes.parameters.a b: not a name"),
        ("parameters = {a = []}", "axes.parameters.a: the list is empty"),
        ("parameters = {a = [{}]}", "axes.parameters.a: {} is neither text nor a number"),
        ("env = {CUDA_VISIBLE_DEVICES = 0}", "axes.env.CUDA_VISIBLE_DEVICES: can't be an axis"),
        ("env = 'A'", "axes.env: 'A': not a list of name=value"),
    ],
)
def test_a_wrong_table_is_named(axis: str, message: str) -> None:
    with pytest.raises(BenchtuiError, match=message):
        parse_sweep(f'model = "m"\n[axes]\n{axis}', "s")


@pytest.mark.parametrize(
    ("override", "entry", "value"),
    [
        ("new_tokens=8", "generate.new_tokens", 8),
        ("accumulation=4", "train.accumulation", 4),
        ("optimizer=sgd", "train.optimizer", "sgd"),
        ("activation_checkpointing=true", "train.activation_checkpointing", True),
    ],
)
def test_an_axis_with_a_single_value_is_the_entry(override: str, entry: str, value: object) -> None:
    written = parse_sweep('model = "m"', "s", [f"{entry}={str(value).lower()}"])
    assert parse_sweep('model = "m"', "s", [override]) == written
    home, _, name = entry.partition(".")
    assert getattr(getattr(written, home), name) == value
    assert written.axes == parse_sweep('model = "m"', "s").axes, "names and keys of the cases stay the same"


def test_an_option_takes_the_value_of_its_entry_in_its_task_alone() -> None:
    sweep = parse_sweep(
        'model = "m"\ntask = "generate"\n[generate]\nnew_tokens = 8\n[train]\naccumulation = 4', "s"
    )
    (config,) = [sweep.resolve(case.config) for case in cases(sweep)]
    assert (config.model, config.new_tokens, config.accumulation) == ("m", 8, 0)
    swept = parse_sweep('model = "m"\ntask = "generate"', "s", ["new_tokens=8,16"])
    assert [swept.resolve(case.config).new_tokens for case in cases(swept)] == [8, 16]


def test_parameters_are_for_a_step_of_ones_own() -> None:
    sweep = parse_sweep('model = "m"', "s", ["axes.parameters={block = 1}"])
    assert [case.skip for case in cases(sweep)] == ["parameters (block=1) are for a step of your own"]


@pytest.mark.parametrize("field", ["env", "parameters"])
def test_malformed_lines_of_a_foreign_session_are_refused(field: str) -> None:
    sweep = parse_sweep('model = "m"', "s")
    foreign = replace(sweep, axes=replace(sweep.axes, **{field: ("a=1", "no pair")}))
    with pytest.raises(BenchtuiError, match=f"axes.{field}: 'a=1, no pair' isn't a list of name=value"):
        toml_of(foreign)


def test_a_search_for_the_batch_size_may_have_a_cap() -> None:
    sweep = parse_sweep('model = "m"', "s", ["batch_size=auto <= 256"])
    assert (sweep.axes.batch_size, sweep.axes.batch_size_auto, sweep.axes.batch_size_most) == ((1,), True, 256)
    assert parse_sweep(toml_of(sweep), "s") == sweep
    with pytest.raises(BenchtuiError, match="batch_size: '0' is not a whole number"):
        parse_sweep('model = "m"', "s", ["batch_size=auto<=0"])


def test_margin_of_a_batch_size_search_is_a_percentage() -> None:
    sweep = parse_sweep('model = "m"', "s", ["batch_size=auto", "margin=5%"])
    assert sweep.measure.margin_percent == 5.0
    assert 'margin = "5%"' in toml_of(sweep)
    assert "margin" not in toml_of(parse_sweep('model = "m"', "s", ["batch_size=auto", "margin=0%"]))
    for wrong in ("100%", "-1%", "true", "lots"):
        with pytest.raises(BenchtuiError, match=r"measure\.margin: .* is not a share of memory"):
            parse_sweep('model = "m"', "s", [f"margin={wrong}"])
