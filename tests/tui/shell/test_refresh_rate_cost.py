import pytest

from benchtui.tui.shell.refresh_rate import DrawingCost


@pytest.fixture(autouse=True)
def fixed_refresh_rate() -> None:
    """Disable the fixture of the same name, so that the real cost model applies."""


class Machine:
    """Simulated clock and CPU time."""

    def __init__(self) -> None:
        self.now_s = self.used_s = 0.0
        self.cost = DrawingCost(lambda: self.used_s, lambda: self.now_s)

    def use(self, seconds: float) -> None:
        self.used_s += seconds

    def draw_for(self, seconds: float, *, reading: float = 0.0, draw_s: float) -> float:
        """Draw for some seconds at the current rate limit. Return the final limit."""
        until_s = self.now_s + seconds
        while self.now_s < until_s:
            period_s = 1 / min(self.cost.most_hz, 2.0)
            self.now_s += period_s
            self.use(reading * period_s)
            self.cost.count_frame()
            self.use(draw_s)
            self.cost.update()
        return self.cost.most_hz


def test_cheap_frames_are_drawn_at_any_rate() -> None:
    assert Machine().draw_for(10, draw_s=0.001) == 10.0


def test_expensive_frames_are_limited_to_their_cpu_share() -> None:
    assert Machine().draw_for(20, draw_s=0.019) == 1.0
    assert Machine().draw_for(20, draw_s=0.015) == 1.0, "20 ms per second would allow 1.33 Hz"
    assert Machine().draw_for(30, draw_s=0.5) == 0.5, "never less often"


def test_reading_counts_toward_the_cost() -> None:
    assert Machine().draw_for(20, draw_s=0.009) == 2.0
    assert Machine().draw_for(20, draw_s=0.009, reading=0.01) == 1.0
    assert Machine().draw_for(20, draw_s=0.001, reading=0.05) == 0.5, "reading can't be throttled"


def test_single_expensive_frame_does_not_change_the_rate() -> None:
    machine = Machine()
    machine.draw_for(10, draw_s=0.001)
    machine.draw_for(0.5, draw_s=0.04)
    assert machine.draw_for(10, draw_s=0.001) == 10.0


def test_rate_limit_rises_once_frames_are_cheap() -> None:
    machine = Machine()
    assert machine.draw_for(20, draw_s=0.019) == 1.0
    assert machine.draw_for(20, draw_s=0.013) == 1.0
    assert machine.draw_for(20, draw_s=0.009) == 2.0
    assert machine.draw_for(20, draw_s=0.003) == 5.0


def test_cost_before_the_first_update_is_ignored() -> None:
    machine = Machine()
    machine.use(5.0)
    machine.now_s = 6.0
    machine.cost.update()
    assert machine.draw_for(10, draw_s=0.001) == 10.0
