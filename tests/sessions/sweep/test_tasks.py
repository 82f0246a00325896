import pytest
from msgspec.json import decode, encode
from msgspec.structs import replace

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import SYNTHETIC, TASKS, Sweep, cases, task_named
from benchtui.sessions.sweep.toml_reader import parse_sweep, validate_config
from benchtui.sessions.sweep.toml_writer import toml_of


def swept(task: str, *overrides: str) -> Sweep:
    return parse_sweep(f'model = "m"\ntask = "{task}"', "test", overrides)


@pytest.mark.parametrize("task", ["image", "speech"])
def test_tasks_without_texts_have_no_sequence_length_and_synthetic_inputs(task: str) -> None:
    sweep = swept(task, "sequence_length=32,64")  # left over from a preset of another task
    assert (sweep.axes.sequence_length, sweep.dataset) == ((0,), SYNTHETIC)
    (case,) = cases(sweep)
    assert case.skip is None
    assert "seq" not in case.name
    assert "tokens" not in str(case.config.work)


def test_audio_has_a_length_of_its_own() -> None:
    assert swept("speech").axes.audio_seconds == (10,)
    names = [case.name for case in cases(swept("speech", "audio_seconds=5,20"))]
    assert names == ["cpu fp32 compile=off audio=5 bs=1", "cpu fp32 compile=off audio=20 bs=1"]
    assert [str(case.config.work) for case in cases(swept("speech", "audio_seconds=5,20"))] == ["5 s", "20 s"]


@pytest.mark.parametrize(
    ("task", "override", "message"),
    [
        ("speech", "dataset=texts.txt", "dataset: task speech draws its inputs at random"),
        ("classify", "sequence_length=0", "axes.sequence_length: 0 is not a whole number from 1"),
    ],
)
def test_entry_that_a_task_can_not_have_is_one_clear_line(task: str, override: str, message: str) -> None:
    with pytest.raises(BenchtuiError, match=message):
        swept(task, override)


@pytest.mark.parametrize(
    ("task", "override", "reason"),
    [
        ("classify", "audio_seconds=5", "audio_seconds is for task speech only"),
        ("classify", "new_tokens=5,6", "new_tokens is for tasks generate, serve-batch, speech only"),
        ("classify", "pooling=cls", "pooling is for task embed only"),
        ("image", "padding=longest", "no text to tokenize or pad"),
        ("serve-batch", "padding=longest", "task serve-batch doesn't pad"),
        ("serve-batch", "compile=default", "use compile = off"),
        ("serve-batch", "precision=amp-bf16", "without autocast"),
        ("serve-batch", "attention=flex", "supports only eager, sdpa and flash attention"),
        ("serve-batch", "cache=static", "cache is for task generate only"),
    ],
)
def test_option_that_a_task_can_not_apply_is_skipped(task: str, override: str, reason: str) -> None:
    skips = [case.skip for case in cases(swept(task, override))]
    assert all(skip is not None and reason in skip for skip in skips)


@pytest.mark.parametrize("task", TASKS)
def test_written_sweep_reads_as_the_same(task: str) -> None:
    sweep = swept(task, "batch_size=1,2")
    assert parse_sweep(toml_of(sweep), "written") == sweep


def test_units_are_those_of_the_task() -> None:
    assert [task_named(task).unit for task in ("image", "embed", "speech", "serve-batch")] == [
        "images/s",
        "embeddings/s",
        "audio-s/s",
        "requests/s",
    ]
    assert (task_named("speech").one_sample, task_named("image").one_sample) == ("audio-s", "image")
    assert task_named("step.py:make").unit == "samples/s"


OWN = "step.py:make"


@pytest.mark.parametrize(
    ("overrides", "names"),
    [
        ((), ["cpu"]),
        (("batch_size=64",), ["cpu bs=64"]),
        (("batch_size=1",), ["cpu bs=1"]),
        (("compile=off,default",), ["cpu compile=off", "cpu compile=default"]),
        (("sequence_length=128", "precision=bf16"), ["cpu bf16 seq=128"]),
        (("batch_size=auto",), ["cpu bs=1"]),
        (("axes.parameters.workers=2",), ["cpu workers=2"]),
    ],
)
def test_cases_of_an_own_step_are_named_by_what_its_sweep_sets(
    overrides: tuple[str, ...], names: list[str]
) -> None:
    sweep = swept(OWN, *overrides)
    assert [case.name for case in cases(sweep)] == names
    assert parse_sweep(toml_of(sweep), "test") == sweep


def test_an_option_that_a_case_changes_is_in_its_name() -> None:
    """Cases that are added to a running sweep, or found by a search, have other values than the sweep."""
    (case,) = cases(swept(OWN))
    changed = validate_config(replace(case.config, batch_size=8, precision="bf16"))
    assert (changed.name, changed.family) == ("cpu bf16 bs=8", "cpu bf16")


def test_names_of_recorded_own_steps_stay_as_they_were() -> None:
    recorded = decode(encode(swept(OWN)).replace(b'"unset":["precision"', b'"former":["precision"'), type=Sweep)
    assert [case.name for case in cases(recorded)] == ["cpu fp32 compile=off bs=1 seq=128"]
    assert parse_sweep(toml_of(recorded), "test") == recorded


def test_labels_leave_out_what_an_own_step_does_not_set() -> None:
    plan = [case.config for case in cases(swept(OWN, "axes.parameters.workers=0,2"))]
    assert [config.name for config in plan] == ["cpu workers=0", "cpu workers=2"]
