"""``benchtui explain``: which cases are profiled, and what is printed; processes are played."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from explained import explained

from benchtui.engine import client
from benchtui.engine.control import ExplainMessage
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.permissions.needed import NO_CONSENT
from benchtui.tui.cli import app


class FakeProfiling:
    """Appends a profile of each case to the session, without a process; none if ``absent`` says why."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[int], dict[str, Any]]] = []
        self.absent: str | None = None
        self._path = Path()

    def __call__(self, path: Path, cases: list[int], **options: Any) -> "FakeProfiling":
        self.asked.append((cases, options))
        self._path = path
        return self

    def messages(self) -> Iterator[ExplainMessage]:
        journal = Journal(self._path, resumed=True)
        for case in self.asked[-1][0]:
            yield ExplainMessage(case=case)
            event = explained(case, fast=case == 1, absent=self.absent)
            journal.append(event)
            yield ExplainMessage(case=case, explained=event)
        journal.complete()
        journal.close()


@pytest.fixture
def profiling(monkeypatch: pytest.MonkeyPatch) -> FakeProfiling:
    fake = FakeProfiling()
    monkeypatch.setattr(client, "explain", fake)
    monkeypatch.setattr(client, "find", lambda path: None)
    return fake


@pytest.fixture
def session(make_story: Any, tmp_path: Path) -> Path:
    story = make_story(tmp_path / "session.json")
    story.begin(gpus=0, device="cpu", batch_sizes=(1, 2, 4))
    story.case(0, 28.5).case(1, 16.3).start(2).prepare(2).finish(2, "oom", reason="out of memory")
    story.end().close()
    return story.path  # type: ignore[no-any-return]


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["explain", *map(str, words)], catch_exceptions=True)


def test_baseline_and_best_with_their_difference(session: Path, profiling: FakeProfiling) -> None:
    result = run(session)
    assert result.exit_code == 0 and profiling.asked[0][0] == [0, 1]
    for fact in (
        "profiling case 1 (1 of 2)",
        "case 1: cpu fp32",
        "the main thread sleeps while no operator runs",
        "[high confidence]",
        "graph break (1x) at model.py:12: Data-dependent branching.",
        "A sample of case 2 is 20.4 ms shorter than one of case 1 (71%).",
    ):
        assert fact in result.output


def test_profiled_cases_are_not_run_again(session: Path, profiling: FakeProfiling) -> None:
    run(session, 1)
    run(session, 1)
    assert [cases for cases, _ in profiling.asked] == [[0]]
    run(session, 1, 2, "--again", "--anyway")
    assert profiling.asked[-1] == ([0, 1], {"anyway": True, "trace": None, "consent": NO_CONSENT})


def test_json_has_both_cases(session: Path, profiling: FakeProfiling) -> None:
    found = json.loads(run(session, "--json").stdout)
    assert [case["case"] for case in found["cases"]] == [0, 1]
    assert found["cases"][0]["findings"][0]["rule"] == "sleeping"
    assert found["difference"]["measured_gap_ms"] < 0


def test_case_without_a_profile_is_status_one(session: Path, profiling: FakeProfiling) -> None:
    profiling.absent = "no room"
    result = run(session, 2)
    assert (
        result.exit_code == 1
        and "case 2, cpu fp32" in result.output
        and "not profiled: no room" in result.output
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("3",), "case 3, .* ran out of memory: nothing to explain"),
        (("4",), "no case 4; the session has 3 cases, numbered from 1"),
        (("worst",), "'worst' is not a case: give its number, baseline or best"),
        (("--trace", "t.json"), "--trace: 2 cases would be profiled; name one"),
    ],
)
def test_wrong_cases_are_refused(
    session: Path, profiling: FakeProfiling, words: tuple[str, ...], said: str
) -> None:
    result = run(session, *words)
    assert result.exit_code != 0 and profiling.asked == []

    assert re.search(said, f"{result.output}{result.exception}")


def test_running_sweep_profiles_later(session: Path, profiling: FakeProfiling, monkeypatch: Any) -> None:
    asked: list[int] = []
    engine = type("Engine", (), {"explain": staticmethod(asked.extend)})
    monkeypatch.setattr(client, "find", lambda path: engine)
    result = run(session, 1)
    assert asked == [0] and result.exit_code == 1
    assert "the cases are profiled once all are measured" in result.output
