from typing import Any

import pytest

from benchtui.sessions.analysis.chart_series import LATENCY, SAMPLES, Value, available_metrics, chart
from benchtui.sessions.payloads import Reported
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.stats.results import measured
from benchtui.sessions.sweep import Sweep


def test_each_combination_of_the_other_options_has_a_line(bench: Any) -> None:
    cases = bench.session(
        bench.case(4, 10.0),
        bench.case(1, 5.0),
        bench.case(1, 4.0, precision="bf16"),
        bench.case(2, 6.0, precision="bf16"),
    ).cases
    found = chart(cases, metrics, LATENCY, "batch_size")
    assert [line.config.precision for line in found.lines] == ["fp32", "bf16"]
    assert [[point.x for point in line.points] for line in found.lines] == [[1, 4], [1, 2]]
    first = found.lines[0].points[0].value
    assert first is not None and first.middle == pytest.approx(5.0, rel=0.01)


def test_cases_without_the_metric_keep_their_point(bench: Any) -> None:
    cases = bench.session(
        bench.case(1, 5.0),
        bench.case(2, outcome="oom", end={"reason": "full"}),
        bench.case(4, 5.0, outcome="failed", end={"reason": "killed"}),
        bench.case(8, outcome=None),
    ).cases
    points = chart(cases, metrics, SAMPLES, "batch_size").lines[0].points
    assert [point.x for point in points] == [1, 2, 4, 8]
    assert [point.value is None for point in points] == [False, True, True, True]


def test_typical_step_is_that_of_reports_and_a_mean_without_steps(bench: Any) -> None:
    rounds = bench.case(1, rounds=[[ms] * 6 for ms in (8.0, 8.0, 27.0)])
    without = bench.case(2, end={"reported": Reported(latency_mean_ms=7.0)})
    found = [LATENCY.of(result.case, result.metrics) for result in measured(bench.session(rounds, without))]
    assert found == [Value(pytest.approx(12.0)), Value(7.0)]


def test_newest_value_of_a_rerun_case_counts(bench: Any) -> None:
    cases = bench.session(
        bench.case(1, outcome="failed", end={"reason": "killed"}),
        bench.case(2, 5.0),
        bench.case(1, 6.0),
        bench.case(2, outcome=None),
    ).cases
    points = chart(cases, metrics, LATENCY, "batch_size").lines[0].points
    assert [(point.x, point.case.index) for point in points] == [(1, 2), (2, 1)]


@pytest.mark.parametrize(
    ("task", "prepared", "first"),
    [
        ("classify", {}, "samples/s"),
        ("embed", {}, "embeddings/s"),
        ("lm-forward", {}, "tokens/s"),
        ("generate", {"new_tokens": 5}, "new tokens/s"),
    ],
)
def test_first_metric_is_the_rate_that_reports_name(
    bench: Any, task: str, prepared: dict[str, int], first: str
) -> None:
    made = bench.case(1, 5.0, prepared={"task": task, **prepared})
    session = bench.session(made, sweep=Sweep(name="hand", model="tiny", task=task))
    (result,) = measured(session)
    names = [figure.name for figure in available_metrics(session, metrics)]
    assert names[0] == first == result.headline_rate[1]
    assert names.count(first) == 1
