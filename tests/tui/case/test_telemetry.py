from array import array
from typing import Any

import pytest

from benchtui.sessions.state.columns import Trace
from benchtui.sessions.state.session import Session
from benchtui.themes.symbols import UNICODE
from benchtui.tui.case import telemetry


@pytest.mark.parametrize(
    "count", [10, telemetry.MOST_POINTS, telemetry.MOST_POINTS + 1, 2 * telemetry.MOST_POINTS - 1]
)
def test_no_more_readings_than_the_limit_are_drawn(count: int) -> None:
    trace = Trace(array("d", range(count)), {"power_w": array("d", range(count))})
    reading = telemetry._within(trace, ("power_w", "power", "W"), (0.0, float(count)))
    assert min(count, telemetry.MOST_POINTS // 2) <= len(reading.values) <= telemetry.MOST_POINTS


def page(story: Any, width: int, height: int) -> list[str]:
    session = Session.load(story.path)
    case = session.cases[0]
    machine = session.ran_on(case)
    drawn = telemetry.trace_lines(session, case, machine, session.now_s, (width, height), UNICODE)
    return ["".join(text for text, _ in row) for row in drawn]


@pytest.fixture
def measured(story: Any) -> Any:
    """A case of two minutes on one GPU, with a reading per second."""
    story.begin().start(0).prepare(0)
    for _ in range(40):
        story.telemetry()
    return story


def test_the_power_limit_is_a_line_in_its_trace(measured: Any) -> None:
    session = Session.load(measured.path)
    case = session.cases[0]
    machine = session.ran_on(case)
    drawn = telemetry.trace_lines(session, case, machine, session.now_s, (76, 60), UNICODE)
    (at,) = [at for at, row in enumerate(drawn) if row and row[0][0].startswith("power W")]
    assert "max 330 of 400" in "".join(text for text, _ in drawn[at])
    assert any(role == "warning" for _, role in drawn[at + 1])


def test_hardware_counters_have_traces_where_they_were_read(measured: Any) -> None:
    session = Session.load(measured.path)
    case, machine = session.cases[0], session.machine
    assert not any("tensor" in row for row in page(measured, 76, 60))
    gpu = machine.gpus[session.gpu_of(case) or 0]
    gpu.columns["tensor_active_percent"] = array("d", [61.0] * len(gpu.at_s))
    drawn = telemetry.trace_lines(session, case, machine, session.now_s, (76, 60), UNICODE)
    (head,) = [row for row in ("".join(text for text, _ in each) for each in drawn) if "tensor cores" in row]
    assert "mean 61.0" in head
