from benchtui.tui.shell.refresh_rate import RefreshRate


def test_rate_changes_stop_at_the_limits() -> None:
    rate = RefreshRate()
    rates = []
    for _ in range(4):
        rate.change("faster", 16)
        rates.append(rate.hz(False, 16))
    assert rates == [5, 10, 10, 10]
    for _ in range(9):
        rate.change("slower", 16)
    assert rate.hz(False, 16) == 0.5


def test_machine_with_few_processors_is_quiet_while_measuring() -> None:
    rate = RefreshRate()
    assert (rate.hz(True, 2), rate.note(True, 2)) == (1.0, "quiet, 1 Hz")
    assert (rate.hz(False, 2), rate.note(False, 2)) == (2.0, "2 Hz")
    assert rate.hz(True, 3) == rate.hz(True, None) == 2.0


def test_explicitly_raised_rate_overrides_quiet_mode() -> None:
    rate = RefreshRate()
    rate.change("faster", 16)
    assert (rate.hz(True, 2), rate.note(True, 2)) == (5.0, "5 Hz")


def test_expensive_frames_are_drawn_less_often_while_measuring() -> None:
    rate = RefreshRate()
    rate.cost.most_hz = 0.75
    assert (rate.hz(True, 16), rate.note(True, 16)) == (0.75, "quiet, 0.75 Hz")
    assert rate.hz(False, 16) == 2.0
    rate.cost.most_hz = 5.0
    assert (rate.hz(True, 2), rate.note(True, 2)) == (1.0, "quiet, 1 Hz")
    rate.cost.most_hz = 0.5
    rate.change("faster", 16)
    assert (rate.hz(True, 16), rate.note(True, 16)) == (5.0, "5 Hz"), "the user raised the rate explicitly"


def test_slower_rate_also_applies_in_quiet_mode() -> None:
    rate = RefreshRate()
    rate.change("slower", 16)
    rate.change("slower", 16)
    assert rate.hz(True, 1) == 0.5
