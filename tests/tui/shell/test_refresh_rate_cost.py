from functools import partial

import pytest

from benchtui.tui.shell.refresh_rate import DrawingCost


@pytest.fixture(autouse=True)
def fixed_refresh_rate() -> None:
    """Nothing is in the way of the real thing here."""


class Machine:
    """A clock, and the processor time of a process whose every call takes some."""

    def __init__(self) -> None:
        self.now_s = self.used_s = 0.0
        self.cost = DrawingCost(lambda: self.used_s, lambda: self.now_s)

    def use(self, seconds: float) -> None:
        self.used_s += seconds

    def go(self, seconds: float, *, reading: float = 0.0, draw_s: float, pictures: int = 1) -> float:
        """A while at the rate to which drawing is held by now; gives the one to which it is held at last."""
        until_s = self.now_s + seconds
        while self.now_s < until_s:
            period_s = 1 / min(self.cost.most_hz, 2.0)
            self.now_s += period_s
            self.cost.read(partial(self.use, reading * period_s))
            for _ in range(pictures):
                self.cost.drew()
                self.use(draw_s)
            self.cost.look()
        return self.cost.most_hz


def test_cheap_pictures_are_drawn_as_often_as_anybody_wants() -> None:
    assert Machine().go(10, draw_s=0.001) == 10.0


def test_dear_ones_so_often_that_they_take_their_share() -> None:
    assert Machine().go(20, draw_s=0.019) == 1.0
    assert Machine().go(20, draw_s=0.015) == 1.0, "20 ms a second would be for 1.33 Hz"
    assert Machine().go(20, draw_s=0.5) == 0.5, "never less often"


def test_reading_on_counts() -> None:
    assert Machine().go(20, draw_s=0.009) == 2.0
    assert Machine().go(20, draw_s=0.009, reading=0.01) == 1.0
    assert Machine().go(20, draw_s=0.001, reading=0.05) == 0.5, "reading can't be done less often"


def test_several_pictures_between_two_looks_are_the_readers_own() -> None:
    assert Machine().go(20, draw_s=0.009, pictures=5) == 2.0


def test_it_is_drawn_more_often_again_where_that_is_clearly_cheap() -> None:
    machine = Machine()
    assert machine.go(20, draw_s=0.019) == 1.0
    assert machine.go(20, draw_s=0.013) == 1.0, "19.5 ms at 1.5 Hz wouldn't clearly be within its share"
    assert machine.go(20, draw_s=0.010) == 1.5
    assert machine.go(20, draw_s=0.005) == 2.0


def test_what_was_used_before_the_first_look_says_nothing() -> None:
    machine = Machine()
    machine.use(5.0)
    machine.now_s = 6.0
    machine.cost.look()
    assert machine.go(1, draw_s=0.001) == 10.0
