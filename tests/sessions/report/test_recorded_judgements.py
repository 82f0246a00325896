"""What recorded sessions must say, and must not: sentences that were wrong once."""

import json
import re
from functools import cache
from itertools import combinations
from math import inf
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchtui.sessions.library import paths
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.stats.ratios import throughput_ratio
from benchtui.sessions.stats.results import Result, by_work, measured
from benchtui.sessions.stats.verdicts import Verdict
from benchtui.sessions.text.formatting import time_ms
from benchtui.tui.cli import app

from .conftest import Document, parse

FIXTURES = Path(__file__).parents[2] / "fixtures"
DEMO = paths.demo_path()
RECORDED = (
    DEMO,
    paths.demo_path(paths.GPU_DEMO),
    paths.demo_path(paths.CPU_DEMO),
    FIXTURES / "quick-cpu.json",
    *sorted((FIXTURES / "recorded").glob("*.json")),
)


@cache
def results(path: Path) -> tuple[Result, ...]:
    return measured(Session.load(path))


@cache
def full(path: Path) -> Document:
    return parse(markdown(Session.load(path), full=True))


def optimal(*arguments: object) -> str:
    return CliRunner().invoke(app, ["optimal", *map(str, arguments)], catch_exceptions=False).stdout


@pytest.fixture(params=RECORDED, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


def test_interval_of_a_case_holds_more_than_the_steps_of_its_process(path: Path) -> None:
    for result in results(path):
        of_steps = result.metrics.latency_ms.interval_percent
        low, high = result.metrics.samples_per_s_low, result.metrics.samples_per_s_high
        bounds = result.typical_bounds
        assert (bounds is None) is (low is None)
        assert low is None or high is None or low <= (result.metrics.samples_per_s or 0.0) <= high
        if len(result.rounds) == 1 and of_steps and bounds:
            assert bounds.half_width_percent > of_steps
            own = metrics(result.case)
            assert own and own.samples_per_s_low and own.samples_per_s_high and low and high
            assert low < own.samples_per_s_low < own.samples_per_s_high < high


def test_cases_that_are_not_told_apart_have_intervals_that_overlap(path: Path) -> None:
    """An interval of one process's steps lay far from another one's, next to the word UNSURE."""
    for rows in by_work(results(path)).values():
        for one, other in combinations(rows, 2):
            ratio = throughput_ratio(one, other)
            if ratio and ratio.bounds and ratio.bounds.low <= 1 <= ratio.bounds.high:
                (low, high), (other_low, other_high) = map(per_sample_ms, (one, other))
                assert max(low, other_low) <= min(high, other_high)


def per_sample_ms(result: Result) -> tuple[float, float]:
    bounds, samples = result.typical_bounds, result.metrics.samples_per_step
    return (bounds.low / samples, bounds.high / samples) if bounds else (0.0, inf)


def test_step_of_a_case_is_the_same_in_optimal_and_in_the_report(path: Path) -> None:
    shown = {int(row["No."]): row["Step (ms)"] for row in rows_of(full(path), "Results") if "Step (ms)" in row}
    assert shown
    for said in json.loads(optimal(path, "--json", "--objective", "latency"))["decisions"]:
        best = said["best"]
        step = time_ms(best["latency_typical_ms"])
        assert shown[best["number"]] == step
        assert f": {best['name']}: " in optimal(path, "--objective", "latency")
        assert f", typical step {step} ms, " in optimal(path, "--objective", "latency")


def rows_of(document: Document, title: str) -> list[dict[str, str]]:
    tables = [table for section in document.sections if section.title == title for table in section.tables]
    return [dict(zip(header, row, strict=True)) for header, *rows in tables for row in rows]


@pytest.mark.parametrize("tokens", [512, 2048])
def test_case_far_behind_with_few_steps_leaves_the_lead_established(tokens: int) -> None:
    """At 2,048 tokens, fp32 bs=16 takes 157 times as long as the choice, by two rounds of five steps."""
    printed = optimal(DEMO, "--objective", "latency", "--sequence-length", tokens, "--json")
    (said,) = json.loads(printed)["decisions"]
    assert (said["verdict"], said["clear"], said["unsure"], said["ties"]) == ("FASTER", True, [], [])
    assert said["confidence"] == "clearly ahead of the next"
    text = optimal(DEMO, "--objective", "latency", "--sequence-length", tokens)
    assert re.search(r"^  confidence +clearly ahead of the next$", text, re.MULTILINE)
    best = next(row for row in results(DEMO) if row.case.index == said["best"]["case"])
    few = [
        row for row in results(DEMO) if row.config.work == best.config.work and row.metrics.latency_ms.n <= 10
    ]
    ratios = [throughput_ratio(row, best) for row in few]
    assert ratios and all(ratio and ratio.verdict is not Verdict.UNSURE for ratio in ratios)


def test_session_that_decides_nothing_recommends_nothing() -> None:
    """Of a busy machine: equal cases were 170% apart, and the first line said what to run."""
    short = parse(markdown(Session.load(FIXTURES / "recorded" / "classify.json")))
    (answer,) = short["Decision"].paragraphs[:1]
    assert answer.startswith("Not decided: 2 others may be as good or better; so far ")
    assert "To decide, measure " in answer and not re.search(r"\bRun\b", short["Decision"].text)
    assert "Other objectives" not in short.titles


@pytest.mark.parametrize("title", ["Choices", "Other objectives", "Decision"])
def test_nothing_is_the_steadiest_by_luck(path: Path, title: str) -> None:
    """Longer series have more outliers: that one case has fewer says nothing."""
    for row in rows_of(full(path), title):
        assert "Steadiest" not in row.get("Need", "") or "FASTER" in " ".join(row.values())


def test_what_disturbed_a_case_is_no_anomaly_of_the_one_next_to_it() -> None:
    """At 512 tokens, bf16 eager bs=16 ran next to another process."""
    off_the_trend = [row["Case"] for row in rows_of(full(DEMO), "Anomalies") if "predict" in row["What"]]
    assert not [name for name in off_the_trend if "eager" in name and name.endswith(" bs=4")]


def test_evidence_of_an_anomaly_is_an_interval_or_why_there_is_none(path: Path) -> None:
    interval = r"95% interval [-+][\d.,]+( to [-+][\d.,]+)? %"
    for row in rows_of(full(path), "Anomalies"):
        assert re.fullmatch(rf"{interval}|a share of measured times|not verified", row["Evidence"])


def test_nothing_exceeds_a_peak(path: Path) -> None:
    shares = [
        row[title]
        for section in full(path).sections
        for row in rows_of(full(path), section.title)
        for title in row
        if "peak" in title and "(%)" in title
    ]
    texts = [*shares, *re.findall(r"([\d.]+) ?% of the measured peak", full(path).text)]
    numbers = [float(text.replace(",", "")) for text in texts if text not in ("–", "")]
    assert all(number <= 100 for number in numbers), numbers
    assert numbers or path != DEMO


def test_precision_of_the_baseline_is_no_cost() -> None:
    """All choices of the demo are bf16, as its baseline is."""
    costs = [row["Costs"] for row in rows_of(full(DEMO), "Choices")]
    assert costs and not [text for text in costs if "accuracy" in text]
