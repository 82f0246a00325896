import random

import pytest

from benchtui.sessions.stats.case_metrics import distribution
from benchtui.sessions.stats.outliers import outliers
from benchtui.tui.live.running_stats import RunningStats


@pytest.mark.parametrize("n", [1, 2, 5, 6, 7, 20, 99, 100, 101, 1000])
def test_running_stats_equal_the_report(n: int) -> None:
    draw = random.Random(n)
    values = [draw.lognormvariate(2, 0.3) for _ in range(n)]
    spread, known = RunningStats(), distribution(values)
    for start in range(0, n, 7):
        spread.extend(values[start : start + 7])
    assert known is not None
    assert spread.n == known.n
    assert spread.total / n == pytest.approx(known.mean)
    assert (spread.median, spread.p99) == (pytest.approx(known.median), pytest.approx(known.p99))
    assert (spread.least, spread.most) == (known.least, known.most)
    assert spread.p5_to_p95 == (None if known.p95 is None else pytest.approx((known.p5, known.p95)))
    assert spread.interval == (None if known.low is None else (known.low, known.high))
    assert spread.interval_percent == pytest.approx(known.interval_percent)


def test_empty_stats_return_none() -> None:
    empty = RunningStats()
    assert (empty.n, empty.median, empty.p99, empty.interval, empty.least) == (0, None, None, None, None)


@pytest.mark.parametrize("seed", range(8))
def test_outlier_count_equals_the_report(seed: int) -> None:
    draw = random.Random(seed)
    values = (
        [draw.gauss(10, 0.1) for _ in range(draw.randrange(1, 200))] + [30.0] * (seed % 3) + [0.1] * (seed % 2)
    )
    spread = RunningStats(values)
    assert spread.outliers() == len(outliers(values))


def test_equal_values_have_no_outliers() -> None:
    assert RunningStats([10.0] * 50).outliers() == 0
    assert RunningStats([10.0] * 50 + [11.0]).outliers() == 1
