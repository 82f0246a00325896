"""Verdict settings as command options and in the UI: baseline, margin, gate."""

import csv
import io
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.library import paths
from benchtui.sessions.state.judging import SWEEP_DEFAULTS, VerdictSettings
from benchtui.sessions.sweep import Baseline
from benchtui.tui.cli import app
from benchtui.tui.library import actions
from benchtui.tui.report.generated import report_markdown


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, standalone_mode=False)


@pytest.fixture
def recorded(home: Path, make_story: Any) -> Any:
    """Return a function that writes two library sessions, the second slower by a factor."""

    def write(by: float = 1.0, rounds: int = 4) -> None:
        for name, factor in (("old", 1.0), ("new", by)):
            story = make_story(paths.folder() / f"{name}.json")
            story.begin(batch_sizes=(1, 2), name=name, rounds=rounds)
            for case in range(2):
                story.case(case, 10.0 * factor * (case + 1), 30, rounds=rounds)
            story.end().close()

    return write


@pytest.mark.parametrize(
    ("by", "rounds", "options", "status", "said"),
    [
        (1.0, 4, (), 0, None),
        (1.0, 4, ("--fail-on-unsure",), 0, "no case is significantly more than 0% slower; 0 UNSURE"),
        (1.0, 1, ("--fail-on", "0%"), 0, "more than 0% slower; could not have seen less than "),
        (1.0, 1, ("--fail-on", "0%"), 0, "; 2 UNSURE"),
        (1.0, 1, ("--fail-on-unsure",), 1, "; 2 UNSURE (fails)"),
        (
            1.0,
            1,
            ("--fail-on", "5%", "--fail-on-unsure"),
            1,
            "new: no case is significantly more than 5% slower",
        ),
        (1.0, 1, ("--resolve", "5%"), 1, "new: 2 cases can't resolve 5%, such as cuda:0"),
        (1.0, 1, ("--resolve", "5%"), 1, ": can't resolve below "),
        (1.0, 1, ("--fail-on", "5%", "--resolve", "150%"), 0, "more than 5% slower; 2 UNSURE"),
        (1.0, 4, ("--resolve", "20%"), 0, "0 UNSURE"),
        (1.3, 4, ("--fail-on", "5%"), 1, "new: 2 cases significantly more than 5% slower, such as cuda:0"),
        (1.3, 4, ("--fail-on", "5%"), 1, "; 0 UNSURE"),
        (1.3, 4, ("--fail-on-unsure",), 1, "new: 2 cases significantly more than 0% slower"),
        (
            1.3,
            4,
            ("--fail-on", "40%", "--fail-on-unsure"),
            0,
            "no case is significantly more than 40% slower; 2 SLOWER by less than 40%; 0 UNSURE",
        ),
        (1.3, 4, ("--fail-on-all", "2%"), 1, "new: all cases together are significantly more than 2% slower"),
        (1.3, 4, ("--fail-on-all", "40%"), 0, "all cases together are not significantly more than 40% slower"),
    ],
)
def test_the_gate_reports_unsure_cases_and_fails_on_them_only_on_request(
    recorded: Any, by: float, rounds: int, options: tuple[str, ...], status: int, said: str | None
) -> None:
    recorded(by, rounds)
    done = run("compare", "old", "new", *options)
    assert done.exit_code == status, done.stderr
    assert (said in done.stderr) if said else done.stderr == ""


@pytest.mark.parametrize(("margin", "word"), [(None, "SAME"), ("0.5%", "UNSURE"), ("5", "SAME")])
def test_same_within_option_sets_the_margin(recorded: Any, margin: str | None, word: str) -> None:
    recorded(1.004)
    options = ("--same-within", margin) if margin else ()
    (against,) = json.loads(run("compare", "old", "new", "--format", "json", *options).stdout)["against"]
    assert [row["verdict"] for row in against["rows"]] == [word] * 2
    assert against["same_within"] == float((margin or "2%").rstrip("%")) / 100
    gated = run("compare", "old", "new", "--fail-on-unsure", *options)
    assert gated.exit_code == (word == "UNSURE")


@pytest.mark.parametrize("margin", ["-1%", "much", "nan", "1000%"])
@pytest.mark.parametrize("command", [("compare", "old", "new"), ("export", "old"), ("optimal", "old")])
def test_margin_must_be_a_percentage(recorded: Any, command: tuple[str, ...], margin: str) -> None:
    recorded()
    done = run(*command, "--same-within", margin)
    assert "is not a percentage from 0 to less than 1000, such as 5%" in str(done.exception)


def lengths_of(make_story: Any) -> Path:
    """Two batch sizes in two precisions at two lengths, three rounds each; bf16 takes half the time."""
    path = paths.folder() / "swept.json"
    story = make_story(path).begin(
        batch_sizes=(1, 4), precision=("fp32", "bf16"), sequence_length=(16, 32), rounds=3
    )
    for place, config in enumerate(story.plan):
        ms = 10.0 * config.batch_size * config.sequence_length / 16
        story.case(place, ms if config.precision == "fp32" else ms / 2, 30, rounds=3)
    story.end().close()
    return path


def rows(*options: str) -> list[dict[str, str]]:
    done = run("export", "swept", "--format", "csv", *options)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return list(csv.DictReader(io.StringIO(done.stdout)))


def test_baseline_option_applies_at_each_sequence_length(home: Path, make_story: Any) -> None:
    lengths_of(make_story)
    plain, named = rows(), rows("--baseline", "precision=bf16", "--baseline", "batch_size=4")
    for found, precision, size in ((plain, "fp32", "1"), (named, "bf16", "4")):
        for row in found:
            base = found[int(row["baseline"])]
            wanted = (precision, size, row["sequence_length"])
            assert (base["precision"], base["batch_size"], base["sequence_length"]) == wanted
    chosen = next(row["number"] for row in plain if (row["precision"], row["batch_size"]) == ("bf16", "4"))
    assert rows("--baseline", chosen) == named
    with pytest.raises(BenchtuiError, match=r"^--baseline: no case 9; the session has 8, numbered from 1$"):
        CliRunner().invoke(app, ["export", "swept", "--baseline", "9"], catch_exceptions=False)
    words = {(row["precision"], row["verdict"]) for row in named if row["case"] != row["baseline"]}
    assert words == {("fp32", "SLOWER"), ("bf16", "SAME")}
    report = run("export", "swept", "--baseline", "precision=bf16").stdout
    figures = {16: "199 samples/s", 32: "99.8 samples/s"}
    bases = [f"cuda:0 bf16 compile=off bs=1 seq={length} ({rate})" for length, rate in figures.items()]
    assert f" Baseline: {'; '.join(bases)}." in " ".join(report.split())
    chosen = run("optimal", "swept", "--sequence-length", "16", "--baseline", "precision=bf16").stdout
    assert "the baseline" not in chosen, "the best case is the baseline itself"
    other = run("optimal", "swept", "--sequence-length", "16", "--baseline", "precision=fp32").stdout
    assert re.search(r"baseline +cuda.*: (1\.99|2\.00) × \(.*\), FASTER", other)


def test_a_baseline_without_a_case_gives_no_ratio_and_a_reason(home: Path, make_story: Any) -> None:
    lengths_of(make_story)
    option = ("--baseline", "batch_size=64")
    assert {row["verdict"] for row in rows(*option)} == {""}
    report = run("export", "swept", *option).stdout
    assert "none: no case with batch_size=64 was planned at 16 tokens" in report
    said = run("optimal", "swept", *option).stdout
    assert "baseline    none (no case with batch_size=64 was planned at 16 tokens): no ratio" in said


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("batch_sise=1", "--baseline.batch_sise: unknown entry (did you mean 'batch_size'?)"),
        ("fp32", "--baseline: 'fp32' is not KEY=VALUE, such as precision=fp32"),
        ("batch_size=many", "--baseline.batch_size: 'many' is not a whole number"),
    ],
)
@pytest.mark.parametrize("command", ["export", "optimal"])
def test_an_invalid_baseline_is_rejected(
    home: Path, make_story: Any, command: str, option: str, said: str
) -> None:
    lengths_of(make_story)
    done = run(command, "swept", "--baseline", option)
    assert isinstance(done.exception, BenchtuiError)
    assert said in str(done.exception)


@pytest.mark.parametrize("command", [("attach", "swept"), ("replay", "swept")])
def test_commands_pass_verdict_settings_to_the_app(
    home: Path, make_story: Any, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    lengths_of(make_story)
    seen: dict[str, Any] = {}

    class Left(Exception):
        pass

    def run_app(app: Any, path: Path) -> None:
        seen["judging"] = app._app_context.judging
        raise Left

    monkeypatch.setattr("benchtui.tui.app.run_app", run_app)
    monkeypatch.setattr("benchtui.tui.cli.watch.require_terminal", lambda: None)
    run(*command, "--baseline", "batch_size=4", "--same-within", "5%")
    assert seen["judging"] == VerdictSettings(Baseline(batch_size=4), 0.05)
    run(*command)
    assert seen["judging"] == SWEEP_DEFAULTS


BY_FOUR = VerdictSettings(Baseline(batch_size=4), 0.001)


async def test_the_monitor_and_its_copied_report_use_the_verdict_settings(
    opened: Any, story: Any, app_context: Any
) -> None:
    story.begin(rounds=3)
    for case, ms in enumerate((10.0, 10.0, 40.0)):
        story.case(case, ms, 30, rounds=3)
    story.end()
    async with opened(story.path) as seen:
        best_first = seen.table[:3]
        assert ["base" in line.split() for line in best_first] == [False, False, True]
        assert "≈1.001x" in best_first[1]
    async with opened(story.path, app_context=replace(app_context, judging=BY_FOUR)) as seen:
        best_first = seen.table[:3]
        assert ["base" in line.split() for line in best_first] == [False, True, False]
        assert " 2.00x" in best_first[0] and "0.999x?" in best_first[2]
        await seen.pilot.press("Y")
        await seen.app.workers.wait_for_complete()
        report = seen.app.clipboard
    assert report == report_markdown(story.path, BY_FOUR)
    assert " Baseline: cuda:0 fp32 compile=off bs=4 seq=128 (" in report
    assert report != report_markdown(story.path, replace(BY_FOUR, same_within=0.05)), "by its margin"
    assert " Baseline: cuda:0 fp32 compile=off bs=1 seq=128 (" in report_markdown(story.path)


def test_the_library_report_uses_the_verdict_settings(story: Any, app_context: Any) -> None:
    story.begin().case(0, 10.0, 30).case(1, 20.0, 30).case(2, 40.0, 30).end()
    item: Any = SimpleNamespace(path=story.path, name="trial")
    for judging, size in ((BY_FOUR, 4), (SWEEP_DEFAULTS, 1)):
        here = replace(app_context, judging=judging)
        actions.action_for("export", item, f"{size}.md", here, ())()
        assert (
            f" Baseline: cuda:0 fp32 compile=off bs={size} seq=128 ("
            in (here.folder / f"{size}.md").read_text()
        )
