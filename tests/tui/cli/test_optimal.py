"""``benchtui optimal`` on a session of several models, invoked through the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep.toml_reader import load_sweep
from benchtui.tui.cli import app


@pytest.fixture
def session(story: Any) -> Path:
    """A session of two models, each faster at batch size 2."""
    story.begin(batch_sizes=(1, 2), model=("small", "large"))
    for number in range(4):
        story.case(number, 5.0 if number < 2 else 50.0, 30, rounds=3)
    path: Path = story.path
    return path


def optimal(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["optimal", *map(str, arguments)], catch_exceptions=False)


def test_each_model_has_a_decision(session: Path) -> None:
    best = [each["best"] for each in json.loads(optimal(session, "--json").stdout)["decisions"]]
    assert [(each["model"], each["batch_size"]) for each in best] == [("small", 2), ("large", 2)]


def test_best_case_of_a_model_is_written_as_a_sweep(session: Path, tmp_path: Path) -> None:
    with pytest.raises(
        BenchtuiError, match=r"2 models, .* choose one with `benchtui optimal --model`: small, large"
    ):
        optimal(session, "--toml", tmp_path / "best.toml")
    assert optimal(session, "--model", "large", "--toml", tmp_path / "best.toml").exit_code == 0
    sweep = load_sweep(str(tmp_path / "best.toml"))
    assert (sweep.model, sweep.axes.model, sweep.axes.batch_size) == ("large", ("",), (2,))


def test_model_that_was_not_measured_is_refused(session: Path) -> None:
    with pytest.raises(BenchtuiError, match="--model: no measured case of this model; there are small, large"):
        optimal(session, "--model", "huge")


def test_only_model_of_a_session_may_be_named(story: Any) -> None:
    story.begin(batch_sizes=(1,)).case(0)
    (decision,) = json.loads(optimal(story.path, "--model", "tiny-bert", "--json").stdout)["decisions"]
    assert decision["best"]["batch_size"] == 1
    with pytest.raises(BenchtuiError, match="there are tiny-bert"):
        optimal(story.path, "--model", "other")


def test_model_of_a_session_may_be_named_by_another_path(
    story: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.begin(batch_sizes=(1,)).case(0)
    (tmp_path / "tiny-bert").mkdir()
    monkeypatch.chdir(tmp_path)
    assert optimal(story.path, "--model", f"{tmp_path}/tiny-bert/").exit_code == 0


def test_recommended_case_is_printed_as_code(session: Path) -> None:
    printed = optimal(session, "--model", "large", "--snippet")
    assert 'MODEL = "large"' in printed.stdout
    compile(printed.stdout, "snippet", "exec")
    assert "large cuda:0 fp32 compile=off bs=2" in printed.stderr
    (decision,) = json.loads(optimal(session, "--model", "large", "--json").stdout)["decisions"]
    assert (decision["snippet"], decision["no_snippet"]) == (printed.stdout, None)


def test_code_and_json_are_not_printed_to_the_same_place(session: Path) -> None:
    refused = optimal(session, "--snippet", "--json")
    assert refused.exit_code == 2
    assert "--snippet, --json and --toml -" in refused.stderr


def test_case_of_another_tool_has_no_code(tmp_path: Path) -> None:
    results = Path(__file__).parents[2] / "fixtures" / "optimum-benchmark.json"
    imported = tmp_path / "imported.json"
    CliRunner().invoke(app, ["import", str(results), "-o", str(imported)], catch_exceptions=False)
    with pytest.raises(BenchtuiError, match="no snippet: imported from optimum-benchmark"):
        optimal(imported, "--snippet")
