"""Annotations of a case's steps."""

from typing import Any

from benchtui.sessions.payloads import Compiling
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.distribution import distribution, outliers
from benchtui.tui.model.step_annotations import signs_of
from benchtui.tui.panels.signs import Signs


def signs(story: Any) -> Signs:
    session = Session.load(story.path)
    case = session.cases[0]
    return signs_of(session, case, distribution(case.measured.wall_ms))


def test_outliers_equal_the_report(story: Any) -> None:
    times = [10.0 + step % 7 / 10 for step in range(50)] + [30.0, 10.0, 0.5]
    story.begin().start(0).prepare(0).steps(0, times)
    assert signs(story).outliers == outliers(times) == (50, 52)


def test_steps_that_overlap_throttling_are_marked(story: Any) -> None:
    story.begin().start(0).prepare(0).steps(0, [100.0] * 10)
    story.telemetry(throttle="sw_power_cap").t -= 1.0
    story.telemetry(throttle="sw_thermal").t -= 1.0
    story.steps(0, [100.0] * 10)
    assert set(signs(story).throttled) == {(10, 20)}


def test_throttling_between_two_steps_is_not_marked(story: Any) -> None:
    story.begin().start(0).prepare(0).steps(0, [10.0] * 10)
    story.wait(5).telemetry(throttle="sw_thermal").wait(5).steps(0, [10.0] * 10)
    assert signs(story).throttled == ()


def test_compiling_steps_are_marked(story: Any) -> None:
    story.begin().start(0).prepare(0).steps(0, [10.0] * 8)
    story.finish(0, compiling=Compiling(graphs=1, graph_breaks=0, recompiles=1, unsteady=(2, 5)))
    assert signs(story).compiling == (2, 5)
