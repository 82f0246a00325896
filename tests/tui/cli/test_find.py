"""``benchtui find``, invoked through the command line."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from benchtui.sessions.sweep.toml_reader import parse_sweep
from benchtui.tui.cli import app


def find(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["find", *map(str, arguments)], catch_exceptions=False)


def test_plan_of_a_search_is_printed_as_a_sweep(tiny_model: Path) -> None:
    limits = ("--objective", "latency", "--max-p99", "50ms", "--max-vram", "8GB", "--min-throughput", "10")
    printed = find(tiny_model, "--device", "cpu", "--within", "5m", "--steps", 1000, *limits, "--print-toml")
    sweep = parse_sweep(printed.stdout, "printed")
    assert (sweep.model, sweep.task, sweep.run.budget_s) == (str(tiny_model), "classify", 300.0)
    assert sweep.find is not None
    assert (sweep.find.objective, sweep.find.max_p99_ms, sweep.find.max_vram_mb) == ("latency", 50.0, 8000.0)
    assert (sweep.find.min_samples_per_s, sweep.find.steps, sweep.find.answers) == (10.0, 1000, "close")


def test_lowest_cost_is_the_highest_throughput(tiny_model: Path) -> None:
    printed = find(tiny_model, "--device", "cpu", "--objective", "cost", "--print-toml")
    sweep = parse_sweep(printed.stdout, "printed")
    assert sweep.find is not None and sweep.find.objective == "throughput"


def test_options_to_vary_may_be_chosen(tiny_model: Path) -> None:
    printed = find(tiny_model, "--device", "cpu", "--vary", "batch_size", "--print-toml")
    assert parse_sweep(printed.stdout, "printed").axes.count == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--within", "soon"), "'soon' is not a time such as 90s or 15m; units: s, m, h"),
        (("--within", "0"), "'0' is not a time"),
        (("--vary", "speed"), "no option 'speed'"),
        (("--max-vram", "big"), "'big' is not a size such as 8GB"),
        (("--min-throughput", "0"), "0"),
    ],
)
def test_invalid_option_is_refused_in_one_line(arguments: tuple[str, ...], message: str) -> None:
    refused = find("gpt2", *arguments)
    assert refused.exit_code == 2
    assert message in refused.stderr
