from typing import Any

from benchtui.sessions.advice import best
from benchtui.sessions.compare import Verdict
from benchtui.sessions.events import Energy


def test_throughput_and_latency_choose_different_cases(bench: Any) -> None:
    results = one, eight, four = bench.results(bench.case(1, 10.0), bench.case(8, 40.0), bench.case(4, 30.0))
    throughput, latency = best(results, "throughput"), best(results, "latency")
    assert throughput is not None
    assert latency is not None
    assert (throughput.best, throughput.runner_up, throughput.verdict) == (eight, four, Verdict.FASTER)
    assert (latency.best, latency.runner_up) == (one, four)
    assert throughput.ties == ()


def test_overlapping_cases_are_ties(bench: Any) -> None:
    results = bench.results(bench.case(1, 10.0), bench.case(2, 19.98), bench.case(4, 60.0))
    choice = best(results, "throughput")
    assert choice is not None
    assert choice.best is results[1]
    assert choice.ties == (results[0],)
    assert choice.verdict is Verdict.SAME


def test_few_steps_leave_it_open(bench: Any) -> None:
    choice = best(bench.results(bench.case(1, [10.0] * 3), bench.case(2, [30.0] * 3)), "latency")
    assert choice is not None
    assert choice.verdict is Verdict.UNSURE
    assert choice.ties == ()


def test_energy_looks_at_joules_a_sample(bench: Any) -> None:
    frugal, hungry, unknown = bench.results(
        bench.case(1, 10.0, end={"energy": Energy(energy_j=30.0)}),
        bench.case(2, 10.0, end={"energy": Energy(energy_j=90.0)}),
        bench.case(4, 10.0, end={"energy": Energy(absent="no counter")}),
    )
    choice = best((hungry, unknown, frugal), "energy")
    assert choice is not None
    assert (choice.best, choice.runner_up, choice.verdict) == (frugal, hungry, Verdict.UNSURE)
    assert choice.ahead is not None
    assert choice.ahead.value == 1.5


def test_nothing_to_choose_from() -> None:
    assert best((), "latency") is None
