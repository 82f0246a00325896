import pytest
from msgspec import structs

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import Config, Generate, Run, Sweep, Train, cases
from benchtui.sessions.sweep_file import load_sweep, parse_sweep, preset_names
from benchtui.sessions.sweep_toml import narrowed, toml


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_reads_back_as_it_was(name: str) -> None:
    sweep = load_sweep(name)
    assert parse_sweep(toml(sweep), "text") == sweep


def test_every_entry_survives() -> None:
    text = """
    name = "odd \\"name\\" \\\\ \\u007f ü"
    model = "m"
    task = "own step.py:step"
    [axes]
    device = ["cpu", "cuda:*"]
    batch_size = "auto"
    threads = [0, 2]
    [measure]
    warmup = "auto"
    until = "0.5%"
    max_time = "90s"
    retries = 2
    aa = true
    baseline = { precision = "fp32", batch_size = 4 }
    [run]
    parallel = true
    [train]
    accumulation = 4
    learning_rate = 3e-7
    [generate]
    new_tokens = 7
    [env]
    OMP_NUM_THREADS = 4
    """
    sweep = parse_sweep(text, "text")
    assert (sweep.run, sweep.generate) == (Run(parallel=True), Generate(new_tokens=7))
    assert parse_sweep(toml(sweep), "again") == sweep


def test_tables_that_mean_nothing_are_left_out() -> None:
    text = toml(Sweep(name="s", model="m"))
    assert "[train]" not in text
    assert "[train]" in toml(Sweep(name="s", model="m", train=Train(accumulation=2)))


def test_a_narrowed_sweep_has_that_one_case() -> None:
    sweep = load_sweep("gpt2-train", ["aa=true"])
    config = cases(sweep)[7].config
    one = narrowed(sweep, config)
    assert [case.config for case in cases(one)] == [config]
    assert one.measure.baseline is None
    assert parse_sweep(toml(one), "text") == one


def test_a_case_of_another_tool_cannot_be_run() -> None:
    config = structs.replace(Config(device="unknown"), label="sleep 1")
    with pytest.raises(BenchtuiError, match="sleep 1: a case of another tool"):
        narrowed(Sweep(name="s", model="m"), config)
