"""Ended rounds as results of a case whose other rounds didn't end."""

import json
from typing import Any

import pytest

from benchtui.sessions.events import AnyEvent, CaseFinished, RoundFinished, Steps
from benchtui.sessions.export import case_export
from benchtui.sessions.payloads import Energy, Environment, Memory
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.ended_rounds import sum_energy
from benchtui.sessions.stats.results import measured
from benchtui.sessions.sweep import Measure, Sweep

TWO_ROUNDS = Sweep(name="hand", model="tiny", measure=Measure(rounds=2))
QUIET = Environment(others_cpu_percent=0.0)


def ended_round(case: int = 0, round_index: int = 0, **fields: Any) -> RoundFinished:
    return RoundFinished(t=1.0, case=case, round=round_index, **{"environment": QUIET} | fields)


def second_round(*times_ms: float) -> Steps:
    counts = [100] * len(times_ms)
    return Steps(t=2.0, case=0, phase="measure", round=1, wall_ms=list(times_ms), tokens=counts)


def cut_off(bench: Any, *more: AnyEvent, finished: str | None = None) -> Session:
    """A sweep of two cases and two rounds, of which the first round has ended."""
    made = [bench.case(1, 10.0, outcome=None), bench.case(2, 12.0, outcome=None)]
    events = [ended_round(0, memory=Memory(peak_rss_mb=100.0)), ended_round(1), *more]
    session: Session = bench.session(*made, sweep=TWO_ROUNDS, more=events, finished=finished)
    return session


def test_rounds_that_ended_are_results(bench: Any) -> None:
    one, other = measured(cut_off(bench))
    assert (one.metrics.latency_ms.n, one.case.peak_memory_mb) == (30, 100.0)
    assert (one.typical_ms, other.typical_ms) == (pytest.approx(10.0), pytest.approx(12.0))
    assert "1 of 2 rounds" in one.case.marks
    assert one.case.state == "queued", "it waits for its next round"


def test_steps_of_a_round_that_did_not_end_are_no_result(bench: Any) -> None:
    session = cut_off(bench, second_round(*[90.0] * 5))
    assert measured(session)[0].metrics.latency_ms.n == 30
    assert session.cases[0].steps_measured == 35, "the case itself keeps them"
    session.apply(CaseFinished(t=3.0, case=0, outcome="interrupted", reason="stopped"))
    interrupted = measured(session)[0]
    assert (interrupted.metrics.latency_ms.n, interrupted.case.state) == (30, "interrupted")


def test_case_that_failed_in_a_later_round_has_no_result(bench: Any) -> None:
    session = cut_off(bench, CaseFinished(t=3.0, case=0, outcome="oom", reason="full"))
    assert [result.case.index for result in measured(session)] == [1]


def test_case_whose_rounds_all_ended_has_all_of_them_and_no_mark(bench: Any) -> None:
    end = CaseFinished(t=3.0, case=0, outcome="ok", environment=QUIET)
    session = cut_off(bench, second_round(*[10.0] * 30), end)
    one = measured(session)[0]
    assert (one.metrics.latency_ms.n, one.case.marks) == (60, ())


def test_peaks_energy_and_marks_are_those_of_the_ended_rounds(bench: Any) -> None:
    rounds = [
        ended_round(
            memory=Memory(peak_rss_mb=peak),
            energy=Energy(energy_j=joules, mean_power_w=10.0, source="counter"),
            marks=marks,
        )
        for peak, joules, marks in ((100.0, 30.0, ()), (90.0, 60.0, ("throttled: sw_thermal",)))
    ]
    rounds[1] = ended_round(0, 1, memory=rounds[1].memory, energy=rounds[1].energy, marks=rounds[1].marks)
    made = bench.case(1, rounds=[[10.0] * 30] * 2, ms=[10.0] * 30, outcome=None)
    sweep = Sweep(name="hand", model="tiny", measure=Measure(rounds=3))
    (result,) = measured(bench.session(made, sweep=sweep, more=rounds, finished=None))
    assert result.case.peak_memory_mb == 100.0
    assert result.metrics.energy_per_sample_j == pytest.approx(90.0 / 60)
    assert result.metrics.rounds_energy_j == (pytest.approx(1.0), pytest.approx(2.0))
    assert result.case.marks == ("throttled: sw_thermal, in 1 of 2 rounds", "2 of 3 rounds")


def test_report_and_export_of_an_interrupted_session_have_its_rounds(bench: Any) -> None:
    session = cut_off(bench, finished="interrupted")
    text = markdown(session)
    assert "2 of 2 planned cases measured, 2 of them in some rounds only" in text
    assert "1 of 2 rounds" in text and "not started" not in text
    rows = json.loads(case_export.as_json(session))["cases"]
    assert [(row["outcome"], row["rounds"], row["n"], row["marks"]) for row in rows] == [
        ("queued", 1, 30, ["1 of 2 rounds"])
    ] * 2


def test_energy_of_rounds_is_summed_and_power_averaged() -> None:
    short = Energy(energy_j=100.0, mean_power_w=100.0, source="counter", dram_j=1.0)
    long = Energy(energy_j=600.0, mean_power_w=200.0, source="sampled power")
    both = sum_energy([short, long])
    assert (both.energy_j, both.mean_power_w) == (700.0, pytest.approx(175.0))
    assert (both.source, both.dram_j) == ("sampled power", None)
    averaged = Energy(energy_j=100.0, mean_power_w=100.0, source="averaged power")
    assert sum_energy([averaged, short, long]).source == "averaged power"
    absent = Energy(absent="too short")
    assert sum_energy([short, absent]) is absent
