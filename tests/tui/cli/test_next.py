"""``benchtui next``: questions in words, the sweep in a file, exit status."""

import json
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest
from by_turns import HandMade
from click.testing import CliRunner, Result

from benchtui.engine import client
from benchtui.engine.client import Engine
from benchtui.sessions.advice.open_questions import open_questions
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import Sweep
from benchtui.sessions.sweep.toml_reader import load_sweep
from benchtui.tui.cli import app
from benchtui.tui.cli.text import next as output


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
    cases = "cuda:0 fp32 compile=off bs=2 seq=128 against cuda:0 fp32 compile=off bs=1 seq=128"
    assert question == f"  {cases}: 1.006 × (0.911 to 1.111), UNSURE: can't resolve below 21 %"
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


def test_sweep_of_planned_rounds_has_planned_rounds_again(story: Any, tmp_path: Path) -> None:
    story.begin(batch_sizes=(1, 2), auto=True)
    story.case(0, 10.0, 30).case(1, 9.9, 30).end()
    made = tmp_path / "next.toml"
    *_, last = run("next", story.path, "-o", made).stdout.splitlines()
    assert last == "to decide them: 2 cases in rounds that benchtui plans until they are decided"
    sweep = load_sweep(str(made))
    assert (sweep.measure.rounds, sweep.measure.rounds_auto, sweep.measure.iterations) == (1, True, 20)


def test_budget_makes_a_search_that_ends_in_time(session: Path, tmp_path: Path) -> None:
    made = tmp_path / "next.toml"
    assert run("next", session, "--budget", "5m", "-o", made).exit_code == 0
    sweep = load_sweep(str(made))
    assert (sweep.measure.rounds_auto, sweep.run.budget_s) == (True, 300.0)
    assert sweep.find is not None
    planned = run("plan", "quick", "--set", "device=cpu", "--budget", "90s").stdout.splitlines()
    assert planned[-2].endswith(" at most 1 m 30 s")


def test_question_of_cases_that_take_turns_says_so() -> None:
    made = HandMade(10.0, 10.35, seed=2).alone(0, 1)
    for _ in range(4):
        made.by_turns(0, 1, spread=0.03)
    texts = [output.text(question) for question in open_questions(made.session)]
    assert any(text.endswith("decided by further rounds by turns.") for text in texts), texts


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
    rows = json.loads(run("export", *paths, "--joined", "--json").stdout)["cases"]
    assert [row["n"] for row in rows] == [60, 60]
    assert run("export", *paths, "--joined", "--steps", "--format", "csv").stdout.count("\n") > 120
    assert "Comparison" not in run("export", *paths, "--joined").stdout.splitlines()[0]


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


@pytest.mark.parametrize("demo", ["demo", "demo-cpu"])
def test_nothing_is_appended_to_bundled_sessions(demo: str) -> None:
    with pytest.raises(BenchtuiError, match=f"^{demo}: can't append to a session that comes with benchtui$"):
        run("run", "quick", "--into", demo)


TYPICAL_MS = {1: 10.0, 2: 15.0, 4: 28.0, 8: 60.0}
"""True step times: a batch size of 4 has 7% more throughput than one of 8, and 43% more than one of 1."""


class Machine:
    """Measures cases of known truth, whose processes vary by 2%."""

    def __init__(self, make_story: Any, folder: Path) -> None:
        self._make_story, self._folder, self._dice = make_story, folder, Random(7)
        self.sweeps = 0

    def measure(self, batch_sizes: tuple[int, ...], rounds: int) -> Path:
        self.sweeps += 1
        path = self._folder / f"{self.sweeps}.json"
        story = self._make_story(path).begin(batch_sizes=batch_sizes, rounds=rounds)
        for case, batch_size in enumerate(batch_sizes):
            for number in range(rounds):
                ms = TYPICAL_MS[batch_size] * self._dice.gauss(1, 0.02)
                if number < rounds - 1:
                    story.round(case, ms, number)
                else:
                    story.start(case, round_index=number).steps(case, [ms] * 20, round_index=number)
            story.finish(case)
        story.end().close()
        return path

    def start(self, sweep: Sweep, *_: object, **options: object) -> Engine:
        return EndedEngine("story", self.measure(sweep.axes.batch_size, sweep.measure.rounds), 1)


class EndedEngine(Engine):
    """An engine that has written its session and is gone."""

    def alive(self) -> bool:
        return False


def test_measuring_what_is_open_until_nothing_is_ends_with_the_right_answer(
    make_story: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop that SKILL.md describes, from one round of each case."""
    machine = Machine(make_story, tmp_path)
    monkeypatch.setattr(import_module("benchtui.tui.cli.advice.next"), "start_engine", machine.start)
    monkeypatch.setattr(client, "find", lambda path: None)
    session = machine.measure(tuple(TYPICAL_MS), 1)
    while json.loads(run("next", session, "--json").stdout)["sweep"]:
        assert run("next", session, "--run").exit_code == 0
        assert machine.sweeps < 9
    assert machine.sweeps > 1
    (choice,) = json.loads(run("optimal", session, "--json").stdout)["decisions"]
    assert choice["best"]["batch_size"] == 4 and choice["clear"]
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".json"] == ["1.json"]
