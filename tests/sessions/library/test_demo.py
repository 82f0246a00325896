"""The bundled sessions: small, without paths of the machine that recorded them, and real on the CPU."""

import json
from pathlib import Path

import pytest

from benchtui.sessions.library.paths import CPU_DEMO, DEMOS, GPU_DEMO, demo_path, demo_paths, resolve
from benchtui.sessions.replay.timeline import ReplayCursor, Timeline
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics


@pytest.mark.parametrize("name", DEMOS)
def test_demo_is_found_by_name_and_small(name: str) -> None:
    assert resolve(name) == demo_path(name)
    assert demo_path(name).stat().st_size < 1_500_000


@pytest.mark.parametrize("name", [CPU_DEMO, GPU_DEMO])
def test_measured_demo_is_complete_and_every_case_is_measured(name: str) -> None:
    session = Session.load(demo_path(name))
    assert session.start.simulated is None
    assert session.finished is not None and session.finished.outcome == "completed" and not session.torn
    assert {case.state for case in session.cases} == {"ok"}
    compiled = {"off", "default"} if name == CPU_DEMO else {"off"}
    assert {case.config.compile for case in session.cases} == compiled
    for case in session.cases:
        figures = metrics(case)
        assert figures is not None and figures.latency_ms.n >= 30
        assert "random weights" in case.marks


@pytest.mark.parametrize("path", demo_paths())
def test_demo_contains_no_path(path: Path) -> None:
    text = path.read_text()
    assert all(word not in text for word in ("/home/", "/root/", "/work/", "/tmp/", ".venv"))
    assert isinstance(json.loads(text), list)


@pytest.mark.parametrize("path", demo_paths())
def test_demo_can_be_replayed_to_any_moment(path: Path) -> None:
    timeline = Timeline(path)
    while not timeline.complete:
        timeline.read()
    while timeline.marks.find_outliers():
        pass
    telling = ReplayCursor(timeline)
    done = []
    for share in (0.95, 0.1, 0.6, 1.0):
        t = timeline.end_s * share
        telling.seek(t)
        while not telling.move(t):
            pass
        done.append(telling.session.done)
    assert done[3] == len(timeline.whole.cases) and done[1] <= done[2] <= done[0]
    starts = path.read_text().count('"event":"case_started"')
    assert sum(mark.kind == "begin" for mark in timeline.marks.all) == starts >= len(timeline.whole.cases)
    timeline.close()
