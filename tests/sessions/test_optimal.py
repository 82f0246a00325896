from typing import Any

import pytest
from msgspec import structs

from benchtui.sessions.compare import Verdict
from benchtui.sessions.constraints import Constraints
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.facts import Energy, Memory
from benchtui.sessions.optimal import NEEDS, Wish, decide, front, job_ms, lengths, narrowed
from benchtui.sessions.results import measured
from benchtui.sessions.sweep import Config, Sweep, cases
from benchtui.sessions.sweep_file import load_sweep, parse_sweep
from benchtui.sessions.sweep_text import toml_of


def rss(megabytes: float) -> dict[str, Any]:
    return {"memory": Memory(peak_rss_mb=megabytes)}


def vram(allocated: float, reserved: float | None = None) -> dict[str, Any]:
    return {"memory": Memory(peak_rss_mb=9e9, peak_allocated_mb=allocated, peak_reserved_mb=reserved)}


def test_each_need_has_its_own_best_case(bench: Any) -> None:
    session = bench.session(
        bench.case(1, 10.0, end={**rss(100.0), "energy": Energy(energy_j=90.0)}),
        bench.case(8, 40.0, end={**rss(400.0), "energy": Energy(energy_j=900.0)}),
        bench.case(4, 24.0, end={**rss(110.0), "energy": Energy(energy_j=180.0)}),
    )
    sizes = {need: decide(session, Wish(need)).best.config.batch_size for need in NEEDS}
    assert sizes == {"throughput": 8, "latency": 1, "memory": 4, "energy": 4, "balanced": 4}


def test_the_runner_up_comes_with_ratio_interval_and_verdict(bench: Any) -> None:
    decision = decide(bench.session(bench.case(1, 10.0), bench.case(8, 40.0), bench.case(4, 25.0)), Wish())
    assert decision.runner_up.config.batch_size == 4
    assert decision.ahead.value == pytest.approx(1.25)
    assert decision.ahead.low < 1.25 < decision.ahead.high
    assert decision.verdict is Verdict.FASTER
    assert decision.ties == ()


def test_a_case_within_the_noise_is_a_tie(bench: Any) -> None:
    decision = decide(bench.session(bench.case(1, 10.0), bench.case(2, 19.98)), Wish())
    assert decision.best.config.batch_size == 2
    assert [row.config.batch_size for row in decision.ties] == [1]
    assert decision.verdict is Verdict.SAME


def test_throughput_per_megabyte_keeps_the_interval_of_the_throughput(bench: Any) -> None:
    one, two = bench.case(1, 10.0, end=rss(100.0)), bench.case(2, 20.0, end=rss(200.0))
    decision = decide(bench.session(one, two), Wish("memory"))
    assert decision.best.config.batch_size == 1
    assert decision.ahead.value == pytest.approx(2.0)
    assert decision.ahead.low == pytest.approx(2 * 0.995 / 1.0025, rel=1e-3)
    assert decision.verdict is Verdict.FASTER


def test_energy_has_no_interval_and_no_verdict(bench: Any) -> None:
    cases = (bench.case(size, 10.0, end={"energy": Energy(energy_j=30.0)}) for size in (1, 2))
    decision = decide(bench.session(*cases), Wish("energy"))
    assert decision.ahead.value == pytest.approx(2.0)
    assert decision.verdict is Verdict.UNSURE


def test_balanced_multiplies_only_what_every_case_has(bench: Any) -> None:
    """By time squared over batch size: 100, 200 and 144; with memory the first would lose."""
    without = bench.case(1, 10.0), bench.case(8, 40.0, end=rss(1.0)), bench.case(4, 24.0, end=rss(1.0))
    assert decide(bench.session(*without), Wish("balanced")).best.config.batch_size == 1
    whole = bench.case(1, 10.0, end=rss(100.0)), *without[1:]
    assert decide(bench.session(*whole), Wish("balanced")).best.config.batch_size == 4


def test_constraints_leave_cases_out_with_the_figure(bench: Any) -> None:
    session = bench.session(
        bench.case(1, 10.0, device="cuda:0", end=vram(1000.0)),
        bench.case(8, 40.0, device="cuda:0", end=vram(7000.0, 8100.0)),
        bench.case(8, 20.0),
        bench.case(16, outcome="oom", end={"reason": "CUDA out of memory"}, device="cuda:0"),
        bench.case(32, outcome=None),
    )
    decision = decide(session, Wish(constraints=Constraints(vram_mb=8000.0)))
    assert decision.best.config.batch_size == 1
    assert decision.runner_up is None
    assert [each.reason for each in decision.left_out] == [
        "VRAM 8,100 MB, over 8,000",
        "no VRAM: it ran on cpu",
        "out of memory: CUDA out of memory",
        "unfinished",
    ]


def test_a_figure_that_is_missing_is_a_reason(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0))
    limits = Constraints(p99_ms=50.0, power_w=300.0)
    decision = decide(session, Wish(constraints=limits))
    assert decision.best is None
    (left,) = decision.left_out
    assert left.reason == "no p99: 30 steps, where 100 are needed; no power was read"
    (alone,) = decide(session, Wish(constraints=Constraints(p99_ms=50.0))).relaxed
    assert (alone.field, alone.value) == ("p99_ms", None)
    assert decide(session, Wish("memory")).left_out[0].reason == "no peak memory was read"


def test_the_tight_constraint_is_named_with_the_value_that_lets_a_case_through(bench: Any) -> None:
    session = bench.session(
        bench.case(1, 10.0, device="cuda:0", end=vram(3000.0)),
        bench.case(8, 40.0, device="cuda:0", end=vram(9000.0)),
    )
    decision = decide(session, Wish(constraints=Constraints(vram_mb=2000.0, latency_ms=20.0)))
    (relaxed,) = decision.relaxed
    assert (relaxed.field, relaxed.value, relaxed.result.config.batch_size) == ("vram_mb", 3000.0, 1)
    again = Wish(constraints=Constraints(vram_mb=relaxed.value, latency_ms=20.0))
    assert decide(session, again).best.config.batch_size == 1


def test_no_constraint_is_named_where_two_are_in_the_way(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0, device="cuda:0", end=vram(3000.0)))
    decision = decide(session, Wish(constraints=Constraints(vram_mb=1.0, latency_ms=1.0)))
    assert (decision.best, decision.relaxed) == (None, ())


def test_a_short_job_is_decided_by_what_its_first_step_costs(bench: Any) -> None:
    session = bench.session(
        bench.case(4, 40.0, warmup_ms=[50.0]), bench.case(4, 20.0, compile="default", warmup_ms=[5020.0])
    )
    eager, compiled = measured(session)
    assert job_ms(compiled, 20) == pytest.approx(5000.0 + 20 * 20.0)
    for need in ("throughput", "latency"):
        assert decide(session, Wish(need)).best.config.compile == "default"
        assert decide(session, Wish(need, steps=20)).best.config.compile == "off"
        assert decide(session, Wish(need, steps=1000)).best.config.compile == "default"
    short = decide(session, Wish(steps=20))
    assert short.ahead.value == pytest.approx(job_ms(compiled, 20) / job_ms(eager, 20))
    assert short.verdict is Verdict.FASTER


def test_at_the_break_even_two_jobs_cannot_be_told_apart(bench: Any) -> None:
    session = bench.session(
        bench.case(4, 40.0, warmup_ms=[40.0]), bench.case(4, 20.0, compile="default", warmup_ms=[5020.0])
    )
    assert decide(session, Wish(steps=250)).verdict is Verdict.SAME


def test_a_job_counts_the_samples_of_its_steps(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(4, 20.0))
    assert decide(session, Wish("latency", steps=10)).best.config.batch_size == 1
    assert decide(session, Wish("throughput", steps=10)).best.config.batch_size == 4


def test_the_front_holds_what_nothing_beats(bench: Any) -> None:
    rows = bench.results(
        bench.case(1, 10.0, end=rss(100.0)),
        bench.case(2, 30.0, end=rss(200.0)),
        bench.case(8, 40.0, end=rss(400.0)),
    )
    assert [row.config.batch_size for row in front(rows)] == [8, 1]
    assert front(()) == ()


def test_the_front_leaves_out_a_figure_that_not_all_have(bench: Any) -> None:
    rows = bench.results(bench.case(1, 10.0, end=rss(100.0)), bench.case(1, 9.0, precision="bf16"))
    assert [row.config.precision for row in front(rows)] == ["bf16"]


def test_only_the_named_length_is_chosen_from(bench: Any) -> None:
    session = bench.session(
        bench.case(1, 10.0), bench.case(1, 50.0, sequence_length=512), bench.case(2, outcome=None)
    )
    assert lengths(session) == (128, 512)
    decision = decide(session, Wish(sequence_length=512))
    assert decision.best.config.sequence_length == 512
    assert (decision.runner_up, decision.left_out) == (None, ())


def test_a_session_without_a_measured_case_has_no_answer(bench: Any) -> None:
    decision = decide(bench.session(bench.case(1, outcome="failed", end={"reason": "no"})), Wish())
    assert decision.best is None
    assert [each.reason for each in decision.left_out] == ["failed: no"]


def test_a_narrowed_sweep_has_that_one_case() -> None:
    sweep = load_sweep("gpt2-train", ["aa=true"])
    config = cases(sweep)[7].config
    one = narrowed(sweep, config)
    assert [case.config for case in cases(one)] == [config]
    assert one.measure.baseline is None
    assert parse_sweep(toml_of(one), "text") == one


def test_a_case_of_another_tool_cannot_be_run() -> None:
    config = structs.replace(Config(device="unknown"), label="sleep 1")
    with pytest.raises(BenchtuiError, match="sleep 1: a case of another tool"):
        narrowed(Sweep(name="s", model="m"), config)
