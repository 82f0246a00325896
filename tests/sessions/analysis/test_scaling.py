from typing import Any

import pytest

from benchtui.sessions.analysis.scaling import Step, scaling
from benchtui.sessions.payloads import Environment, Reported
from benchtui.sessions.stats.results import series


def scaled(bench: Any, *cases: Any) -> tuple[Step, ...]:
    (only,) = series(bench.results(*cases))
    return scaling(only)


def test_per_item_falls_while_throughput_rises(bench: Any) -> None:
    found = scaled(bench, bench.case(8, 10.0), bench.case(16, 16.0))
    first, second = found
    assert first.per_item == pytest.approx(100.0)
    assert (first.per_item_relative, first.against_linear, first.gain, first.gain_per_doubling) == (
        1,
        1,
        None,
        None,
    )
    assert second.per_item_relative == pytest.approx(10 / 16)
    assert second.against_linear == pytest.approx(1.25)
    assert second.gain_per_doubling == pytest.approx(0.25)


def test_gain_is_per_doubling_of_the_batch_size(bench: Any) -> None:
    found = scaled(bench, bench.case(1, 10.0), bench.case(4, 10.0))
    assert found[1].gain_per_doubling == pytest.approx(1.0)


def test_close_batch_sizes_have_no_gain_per_doubling(bench: Any) -> None:
    found = scaled(bench, bench.case(100, 10.0), bench.case(101, 9.0))
    assert found[1].gain is not None
    assert found[1].gain_per_doubling is None


def test_absurd_rates_in_an_untrusted_file_have_no_gain(bench: Any) -> None:
    ends = [{"reported": Reported(latency_mean_ms=1.0, samples_per_s=rate)} for rate in (1.0, 1e300)]
    found = scaled(bench, bench.case(4, end=ends[0]), bench.case(5, end=ends[1]))
    assert found[1].gain_per_doubling is None


def test_scaling_ignores_plan_order_and_counts_repeats_once(bench: Any) -> None:
    found = scaled(bench, bench.case(4, 20.0), bench.case(1, 10.0), bench.case(4, 90.0))
    assert [step.result.config.batch_size for step in found] == [1, 4]
    assert found[1].against_linear == pytest.approx(2.0)


def test_disturbed_size_has_no_relative_figures_and_is_no_reference(bench: Any) -> None:
    around = {"environment": Environment(others_cpu_percent=80.0, processors=2)}
    made = [
        bench.case(size, ms, end=around if ms > 50 else {}) for size, ms in ((1, 90.0), (2, 9.0), (4, 70.0))
    ]
    disturbed, first, again, last = scaled(bench, *made, bench.case(8, 12.0))
    for step in (disturbed, again):
        assert (step.per_item_relative, step.against_linear, step.gain) == (None, None, None)
        assert step.per_item > 0
    assert (first.against_linear, first.gain) == (1, None)
    assert last.against_linear == pytest.approx(3.0)
    assert last.gain_per_doubling == pytest.approx(3**0.5 - 1)
