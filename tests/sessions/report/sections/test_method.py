from typing import Any

from benchtui.sessions.payloads import Data
from benchtui.sessions.report.sections.method import method
from benchtui.sessions.stats.results import measured
from benchtui.sessions.sweep import Axes, Measure, Sweep

DRAWN = Data(dataset="synthetic", samples=64)


def facts(bench: Any, sweep: Sweep, data: Data | None = None) -> dict[str, str]:
    case = bench.case(1, 4.0, sequence_length=16, prepared={"data": data} if data else {})
    session = bench.session(case, sweep=sweep)
    return dict(method(session, measured(session)))


def test_method_describes_text_with_its_length(bench: Any) -> None:
    text = facts(bench, Sweep(name="a", model="tiny"), Data(dataset="sample", samples=64))["Text"]
    assert text == "sample (64 samples), truncated and padded to 16 tokens"


def test_synthetic_rows_are_full_and_not_truncated(bench: Any) -> None:
    text = facts(bench, Sweep(name="a", model="tiny", dataset="synthetic"), DRAWN)["Text"]
    assert text == "synthetic (64 samples), every row of 16 tokens"


def test_text_of_a_custom_step_is_unknown(bench: Any) -> None:
    assert "Text" not in facts(bench, Sweep(name="a", model="tiny", task="step.py:make"))


def test_minimum_times_are_part_of_the_rules_on_a_gpu(bench: Any) -> None:
    rules = Measure(min_warmup_s=None, min_time_s=None)
    mixed = facts(bench, Sweep(name="a", model="m", axes=Axes(device=("cpu", "cuda:0")), measure=rules))
    assert mixed["Warm-up"] == "5 steps and at least 1 s on a GPU a case, not counted"
    assert mixed["Stop rule"].startswith("20 steps and at least 2.5 s on a GPU; a case may take")
    on_cpu = facts(bench, Sweep(name="a", model="m", measure=rules))
    assert on_cpu == facts(bench, Sweep(name="a", model="m"))
