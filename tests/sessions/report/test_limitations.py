"""Limitations of a session."""

from pathlib import Path
from typing import Any

from journals import import_results

from benchtui.sessions.report.limitations import ACCURACY, limitations
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.stats.results import measured

FIXTURES = Path(__file__).parents[2] / "fixtures"
UNKNOWN_HARDWARE = "The record doesn't say which hardware the figures belong to."


def of(session: Session) -> list[str]:
    return limitations(session, measured(session))


def test_few_rounds_and_steps_are_limits(bench: Any) -> None:
    assert of(bench.session(bench.case(1, 10.0))) == [
        UNKNOWN_HARDWARE,
        "Each case ran in fewer than 3 processes, so the spread between processes is estimated; rounds = 3"
        " measures it.",
        "There is no p99: it needs 100 steps of a case, and none has more than 30.",
    ]
    some = of(bench.session(bench.case(1, 10.0), bench.steady(2, 20.0)))
    assert some[1].startswith("1 case ran in fewer than 3 processes")
    assert of(bench.session(bench.steady(1, 10.0), bench.case(2, outcome="oom")))[1:] == [
        "There is no p99: it needs 100 steps of a case, and none has more than 90."
    ]
    assert of(bench.session(bench.case(1, rounds=[[10.0, 11.0] * 20] * 3))) == [UNKNOWN_HARDWARE]


def test_accuracy_is_a_limit_of_several_precisions_without_answers(bench: Any) -> None:
    two = bench.case(1, 10.0), bench.case(1, 5.0, precision="bf16")
    assert ACCURACY in of(bench.session(*two))
    assert ACCURACY not in of(bench.session(bench.case(1, 10.0)))
    compared = bench.answered(1, verdict="close", kl_mean=1e-4)
    assert ACCURACY not in of(bench.session(*two, more=[compared]))


def test_import_without_steps_shows_no_slow_steps(tmp_path: Path) -> None:
    found = of(import_results(FIXTURES / "gpt2-training-results.csv", tmp_path / "session.json", metrics))
    assert found == [
        UNKNOWN_HARDWARE,
        "The source kept no single steps, so drift and slow steps can't be seen.",
        ACCURACY,
    ]
