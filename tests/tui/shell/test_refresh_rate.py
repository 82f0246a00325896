from benchtui.tui.shell.refresh_rate import RefreshRate


def test_the_rate_goes_up_and_down_and_stops_at_its_ends() -> None:
    pace = RefreshRate()
    rates = []
    for _ in range(4):
        pace.faster()
        rates.append(pace.hz(False, 16))
    assert rates == [5, 10, 10, 10]
    for _ in range(9):
        pace.slower()
    assert pace.hz(False, 16) == 0.5


def test_few_processors_are_left_alone_while_measuring() -> None:
    pace = RefreshRate()
    assert (pace.hz(True, 2), pace.note(True, 2)) == (1.0, "quiet, 1 Hz")
    assert (pace.hz(False, 2), pace.note(False, 2)) == (2.0, "2 Hz")
    assert pace.hz(True, 3) == pace.hz(True, None) == 2.0


def test_a_reader_who_insists_is_obeyed() -> None:
    pace = RefreshRate()
    pace.faster()
    assert (pace.hz(True, 2), pace.note(True, 2)) == (5.0, "5 Hz")


def test_dear_pictures_are_drawn_less_often_while_measuring() -> None:
    pace = RefreshRate()
    pace.cost.most_hz = 0.75
    assert (pace.hz(True, 16), pace.note(True, 16)) == (0.75, "quiet, 0.75 Hz")
    assert pace.hz(False, 16) == 2.0
    pace.cost.most_hz = 5.0
    assert (pace.hz(True, 2), pace.note(True, 2)) == (1.0, "quiet, 1 Hz")
    pace.cost.most_hz = 0.5
    pace.faster()
    assert (pace.hz(True, 16), pace.note(True, 16)) == (5.0, "5 Hz"), "a reader who insists"


def test_slower_is_slower_than_quiet() -> None:
    pace = RefreshRate()
    pace.slower()
    pace.slower()
    assert pace.hz(True, 1) == 0.5
