"""``benchtui next``: questions in words, the sweep in a file, exit status."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from benchtui.engine import client
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep.toml_reader import load_sweep
from benchtui.tui.cli import app


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture
def session(story: Any) -> Path:
    """Three cases of which two are alike, in a single round."""
    story.begin(batch_sizes=(1, 2, 4))
    story.case(0, 10.0, 30).case(1, 19.9, 30).case(2, 4.0, 30).end()
    path: Path = story.path
    return path


def test_questions_are_printed_with_what_decides_them(session: Path) -> None:
    first, question, answer, last = run("next", session).stdout.splitlines()
    assert first.endswith("1 open question")
    assert question.startswith(
        "  cuda:0 fp32 compile=off bs=2 seq=128 against cuda:0 fp32 compile=off bs=1 seq=128: 1.006 ×, but"
    )
    assert answer == "    open: the verdict; decided by 5 rounds"
    assert last == "to decide them: 2 cases in 5 rounds of 20 steps"


def test_sweep_is_written_once_and_can_be_planned(session: Path, tmp_path: Path) -> None:
    made = tmp_path / "next.toml"
    assert run("next", session, "--output", made).exit_code == 0
    sweep = load_sweep(str(made))
    assert (sweep.axes.batch_size, sweep.measure.rounds, sweep.measure.aa) == ((1, 2), 5, False)
    assert run("plan", made).exit_code == 0
    again = CliRunner().invoke(app, ["next", str(session), "-o", str(made)])
    assert "already exists and won't be overwritten" in str(again.exception)


def test_sweep_on_standard_output_and_in_json_are_the_same(session: Path) -> None:
    printed = run("next", session, "--toml")
    document = json.loads(run("next", session, "--json").stdout)
    assert document["sweep"] == printed.stdout and "open question" in printed.stderr
    assert document["questions"][0]["remedy"]["rounds"] == document["rounds"] == 5


def test_nothing_open_is_no_failure(story: Any, tmp_path: Path) -> None:
    story.begin(batch_sizes=(1, 4), rounds=3)
    story.case(0, 10.0, 30, rounds=3).case(1, 4.0, 30, rounds=3).end()
    done = run("next", story.path, "--output", tmp_path / "next.toml")
    assert (done.exit_code, done.stdout) == (0, "nothing is open: every verdict is decided\n")
    assert not (tmp_path / "next.toml").exists()


def test_sweep_that_would_decide_nothing_is_refused(story: Any, tmp_path: Path) -> None:
    story.begin(batch_sizes=(1, 4)).case(0, 10.0, 30, rounds=3)
    done = run("next", story.path, "--output", tmp_path / "next.toml")
    assert done.exit_code == 1 and "benchtui run --resume" in done.stdout
    assert run("next", story.path).exit_code == 0


def test_sessions_of_the_same_work_count_as_one(make_story: Any, tmp_path: Path) -> None:
    paths = []
    for name in ("a", "b"):
        story = make_story(tmp_path / f"{name}.json").begin(batch_sizes=(1, 2), rounds=1)
        story.case(0, 10.0, 30).case(1, 15.0, 30).end().close()
        paths.append(story.path)
    assert ", n 60" in run("optimal", *paths).stdout.splitlines()[0]
    assert run("next", *paths).exit_code == 0


def test_sessions_of_other_work_are_refused_in_one_line(make_story: Any, tmp_path: Path) -> None:
    story = make_story(tmp_path / "a.json").begin(batch_sizes=(1,))
    story.case(0, 10.0, 30).end().close()
    with pytest.raises(BenchtuiError, match=r"a\.json and .*\.json can't be joined: they differ in model"):
        run("optimal", story.path, "demo-cpu")


@pytest.mark.parametrize("more", [("--toml",), ("--json",), ("-o", "x.toml"), ("demo",)])
def test_run_takes_one_session_and_writes_no_sweep(session: Path, more: tuple[str, ...]) -> None:
    refused = run("next", session, "--run", *more)
    assert refused.exit_code == 2
    assert "--run takes one session, and no -o, --toml or --json" in refused.stderr


def test_sweep_of_other_work_joins_no_session(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "find", lambda path: None)  # it has just been written, by another machine
    with pytest.raises(BenchtuiError, match="the sweep can't join this session: they differ in model"):
        run("run", "quick", "--into", session)
    refused = run("run", "quick", "--into", session, "-o", "x.json")
    assert "--into names the session to write" in refused.stderr
