from array import array

import pytest

from benchtui.sessions.state.columns import Trace
from benchtui.tui.case import telemetry


@pytest.mark.parametrize(
    "count", [10, telemetry.MOST_POINTS, telemetry.MOST_POINTS + 1, 2 * telemetry.MOST_POINTS - 1]
)
def test_no_more_readings_than_the_limit_are_drawn(count: int) -> None:
    trace = Trace(array("d", range(count)), {"power_w": array("d", range(count))})
    reading = telemetry._within(trace, ("power_w", "power", "W"), (0.0, float(count)))
    assert min(count, telemetry.MOST_POINTS // 2) <= len(reading.values) <= telemetry.MOST_POINTS
