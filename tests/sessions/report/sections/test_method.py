from typing import Any

from benchtui.sessions.payloads import Data
from benchtui.sessions.report.sections.method import method
from benchtui.sessions.stats.results import measured
from benchtui.sessions.sweep import Sweep

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
