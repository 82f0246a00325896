"""Sweep progress as plain lines, as printed by ``--plain``."""

from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.state.session import Session
from benchtui.tui.cli.text import progress


def lines(path: Path, engine: Any = None, begin_s: float = 0.0, speed: float | None = None) -> list[str]:
    return list(progress.lines(path, engine, Session(), begin_s, speed))


def test_recorded_session_is_printed_as_lines_with_times(story: Any) -> None:
    story.begin().case(0, 10.0, 20, "random weights").telemetry(throttle="hw_thermal")
    story.start(1).wait(2.0).finish(1, "oom", reason="full").say("larger ones are skipped", "warning").end()
    said = lines(story.path)
    assert said[:2] == [
        "      0.0 s  session story: trial, 3 cases",
        "      0.0 s  on box, Test CPU, 16 processors, Test GPU",
    ]
    assert "starts: cuda:0 fp32 compile=off bs=1" in said[2]
    assert said[3].startswith(
        "      1.2 s  [1/3] cuda:0 fp32 compile=off bs=1 seq=128  typical 10.0 ms  ±7.05%  1 round"
    )
    assert said[4] == "      1.2 s    marked: random weights"
    assert said[5] == "      2.2 s  throttled: GPU 0: hw_thermal"
    assert "starts: cuda:0 fp32 compile=off bs=2" in said[6]
    assert said[7] == "      4.2 s  [2/3] cuda:0 fp32 compile=off bs=2 seq=128  oom: full"
    assert said[8:] == ["      4.2 s  warning: larger ones are skipped"]


def test_further_rounds_are_announced_and_settled_cases_say_so(story: Any) -> None:
    story.begin(batch_sizes=(1, 2), auto=True).round(0).round(1, 21.0)
    story.plan_rounds(0, settled={1: "2.1x slower, sure"}).round(0, round_index=1)
    story.plan_rounds(settled={1: "2.1x slower, sure"})
    story.finish(0, not_measured_further="decided").finish(1, not_measured_further="2.1x slower, sure").end()
    said = lines(story.path)
    assert "      0.6 s  next: 1 further round for 1 open question, 12 of at most 60 s spent" in said
    assert any(line.endswith("seq=128, round 2") for line in said)
    assert said[-2].startswith("      0.8 s  [1/2]") and "not measured further" not in said[-2]
    assert said[-1].endswith("not measured further: 2.1x slower, sure") and "n 20 " in said[-1]


def test_lines_are_paced_by_the_replay_speed(story: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("time.monotonic", lambda: sum(waited))
    monkeypatch.setattr("time.sleep", waited.append)
    story.begin().wait(10.0).say("a").wait(30.0).say("b").end()
    lines(story.path, speed=4.0)
    assert sum(waited) == 10.0
    waited.clear()
    lines(story.path, begin_s=10.0, speed=4.0)
    assert sum(waited) == 7.5
    waited.clear()
    lines(story.path)
    assert not waited


def test_running_sweep_is_followed_to_its_end(story: Any, engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    story.begin().case(0)
    monkeypatch.setattr("time.sleep", lambda seconds: story.case(1).end())
    assert any("[2/3]" in line for line in lines(story.path, engine))


def test_session_of_a_dead_engine_ends_with_its_last_event(story: Any, engine: Any) -> None:
    story.begin().case(0)
    engine.is_alive = False
    assert "[1/3]" in lines(story.path, engine)[-1]


def test_position_outside_the_session_is_rejected(story: Any) -> None:
    story.begin().case(0).end()
    assert progress.session_time_of(story.path, None) == 0.0
    assert progress.session_time_of(story.path, "50%") == Session.load(story.path).now_s / 2
    with pytest.raises(BenchtuiError, match="case 3 never started"):
        progress.session_time_of(story.path, "case 3")
    with pytest.raises(BenchtuiError, match="is not a position"):
        progress.session_time_of(story.path, "soon")
