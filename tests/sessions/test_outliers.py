from benchtui.sessions.outliers import outliers


def test_a_step_ten_deviations_off_is_flagged_by_its_place() -> None:
    times_ms = [10.0, 10.1, 9.9, 10.05, 9.95] * 4
    assert outliers(times_ms) == ()
    assert outliers([*times_ms[:3], 30.0, *times_ms[3:], 2.0]) == (3, 21)


def test_the_threshold_is_near_fifteen_median_deviations() -> None:
    steady = [9.0, 9.0, 10.0, 11.0, 11.0] * 10
    assert outliers([*steady, 24.8]) == ()
    assert outliers([*steady, 24.9]) == (50,)


def test_times_that_agree_exactly_have_no_outlier_but_a_real_one() -> None:
    assert outliers([20.0] * 30 + [20.1]) == ()
    assert outliers([20.0] * 30 + [900.0]) == (30,)
    assert outliers([]) == ()
    assert outliers([0.0] * 5) == ()
