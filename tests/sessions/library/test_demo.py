"""The bundled demo session: real, small, and without paths of the machine that recorded it."""

import json

from benchtui.sessions.library.paths import DEMO, demo_path, resolve
from benchtui.sessions.replay.timeline import ReplayCursor, Timeline
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics


def test_demo_is_found_by_name_and_small() -> None:
    assert resolve(DEMO) == demo_path()
    assert demo_path().stat().st_size < 300_000


def test_demo_is_complete_and_every_case_is_measured() -> None:
    session = Session.load(demo_path())
    assert session.finished is not None and session.finished.outcome == "completed" and not session.torn
    assert {case.state for case in session.cases} == {"ok"}
    assert {case.config.compile for case in session.cases} == {"off", "default"}
    for case in session.cases:
        figures = metrics(case)
        assert figures is not None and figures.latency_ms.n >= 30
        assert "random weights" in case.marks


def test_demo_contains_no_path() -> None:
    text = demo_path().read_text()
    assert all(word not in text for word in ("/home/", "/root/", "/work/", "/tmp/", ".venv"))
    assert isinstance(json.loads(text), list)


def test_demo_can_be_reported() -> None:
    report = markdown(Session.load(demo_path()))
    assert report.startswith("# ") and "random weights" in report


def test_demo_can_be_replayed_to_any_moment() -> None:
    timeline = Timeline(demo_path())
    while not timeline.complete:
        timeline.read()
    while timeline.marks.find_outliers():
        pass
    telling = ReplayCursor(timeline)
    done = []
    for share in (0.9, 0.2, 0.5, 1.0):
        t = timeline.end_s * share
        telling.seek(t)
        while not telling.move(t):
            pass
        done.append(telling.session.done)
    assert done[3] == len(timeline.whole.cases) and done[1] < done[2] < done[0]
    assert sum(mark.kind == "begin" for mark in timeline.marks.all) == len(timeline.whole.cases)
    telling.close()
    timeline.close()
