from math import inf, pi, tan

import numpy as np
import pytest

from benchtui.sessions.stats.quantiles import per_second, percentile, student_t_quantile


@pytest.mark.parametrize("n", [1, 2, 5, 20, 101])
@pytest.mark.parametrize("percent", [0, 25, 50, 90, 99, 100])
def test_percentiles_equal_those_of_numpy(n: int, percent: int) -> None:
    values = np.sort(np.random.default_rng(n).lognormal(size=n))
    assert percentile(values, percent) == pytest.approx(float(np.percentile(values, percent)))


def test_a_percentile_of_too_few_values_is_unknown() -> None:
    assert percentile([1.0] * 99, 99, 100) is None
    assert percentile([1.0] * 100, 99, 100) == 1.0
    assert percentile([], 50) is None


def test_a_rate_is_total_over_total_and_unknown_without_time() -> None:
    assert per_second(8, 400.0) == 20.0
    assert per_second(0, 400.0) == 0.0
    assert per_second(None, 400.0) is None
    assert per_second(8, 0.0) is None


TABLE = {
    1: (12.706204736174694, 63.656741162871526),
    2: (4.302652729749462, 9.924843200918287),
    3: (3.1824463052837078, 5.840909309733355),
    4: (2.7764451051977934, 4.604094871349992),
    5: (2.5705818356363146, 4.032142983555228),
    8: (2.306004135204166, 3.355387331333395),
    10: (2.228138851986274, 3.16927267261695),
    30: (2.0422724563012378, 2.7499956535672254),
    120: (1.9799304050824402, 2.6174211451068654),
    inf: (1.959963984540054, 2.5758293035489004),
}
"""Quantiles of 975 and 995 permille by degrees of freedom, as scipy.stats.t has them."""
FURTHER = (
    (0.51, 1e4, 0.025069535383140832, 1e-13),
    (0.54, 5, 0.10560715671306435, 3e-8),
    (0.55, 8, 0.12970727155471784, 1e-9),
    (0.6, 6, 0.2648345329335734, 1e-8),
    (0.75, 7, 0.7111417780817866, 1e-9),
    (0.75, 8, 0.7063866126448388, 2e-10),
    (0.9, 3, 1.637744353696209, 1e-6),
    (0.9, 4.5, 1.5008853175085577, 3e-8),
    (0.975, 3.9, 2.8047480113863354, 2e-8),
    (0.975, 4, 2.7764451051977934, 3e-8),
    (0.975, 4.5, 2.6589123472044034, 4e-9),
    (0.99, 3, 4.540702858568132, 1e-7),
    (0.995, 4.99, 4.036304713638377, 4e-6),
    (0.9999, 4, 13.033671720896821, 4e-9),
    (0.9999, 4.5, 11.02099636861251, 4e-9),
)
"""Other probabilities, and degrees between whole ones, each with how near the approximation comes there."""


def error_at(freedom: float) -> float:
    """Relative error of the approximation, which gets better with the degrees of freedom."""
    if freedom < 3:
        return 1e-14
    return 5e-6 if freedom < 8 else 2e-8 if freedom < 30 else 1e-10


@pytest.mark.parametrize("freedom", TABLE)
def test_quantiles_are_those_of_the_tables(freedom: float) -> None:
    low, high = TABLE[freedom]
    assert student_t_quantile(0.975, freedom) == pytest.approx(low, rel=error_at(freedom))
    assert student_t_quantile(0.995, freedom) == pytest.approx(high, rel=error_at(freedom))


@pytest.mark.parametrize(("probability", "freedom", "expected", "error"), FURTHER)
def test_other_probabilities_and_degrees_between_whole_ones_too(
    probability: float, freedom: float, expected: float, error: float
) -> None:
    assert student_t_quantile(probability, freedom) == pytest.approx(expected, rel=error)


def test_the_middle_is_zero_and_so_is_the_step_to_the_normal_distribution() -> None:
    assert student_t_quantile(0.5, 7) == 0
    assert student_t_quantile(0.975, 1e9) == pytest.approx(student_t_quantile(0.975, inf), rel=2e-9)


@pytest.mark.parametrize(
    ("between", "at_975", "at_995"), [(1.5, 6.1730, 18.4401), (2.5, 3.5910, 7.2214), (2.9, 3.2523, 6.0576)]
)
def test_below_three_fractions_lie_between_the_whole_degrees(
    between: float, at_975: float, at_995: float
) -> None:
    """By hand: the logarithm, weighed by the reciprocal of the degrees of freedom."""
    assert student_t_quantile(0.975, between) == pytest.approx(at_975, rel=1e-3)
    assert student_t_quantile(0.995, between) == pytest.approx(at_995, rel=1e-3)
    assert (
        student_t_quantile(0.975, int(between))
        > student_t_quantile(0.975, between)
        > student_t_quantile(0.975, int(between) + 1)
    )


def test_one_degree_of_freedom_is_the_cauchy_distribution() -> None:
    for probability in (0.6, 0.75, 0.9, 0.99):
        assert student_t_quantile(probability, 1) == pytest.approx(tan(pi * (probability - 0.5)), rel=1e-12)


def test_fewer_degrees_of_freedom_reach_farther() -> None:
    found = [student_t_quantile(0.975, freedom / 10) for freedom in range(30, 400)]
    assert found == sorted(found, reverse=True)
