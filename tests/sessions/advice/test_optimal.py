import dataclasses
from typing import Any

import pytest
from msgspec import structs

from benchtui.sessions.advice.constraints import VERDICTS, Constraints
from benchtui.sessions.advice.deciding_sweep import single_case_sweep
from benchtui.sessions.advice.objectives import NEEDS, Need, Objective, cost_metrics, job_ms
from benchtui.sessions.advice.optimal import Decision, Rival, ahead_by, decide, front, works
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.payloads import Energy, Memory, Model, Reported
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.ratios import throughput_ratio
from benchtui.sessions.stats.results import measured
from benchtui.sessions.stats.sampling import Bounds
from benchtui.sessions.stats.verdicts import Doubt, Ratio, Verdict
from benchtui.sessions.sweep import Config, Sweep, Work, cases
from benchtui.sessions.sweep.toml_reader import load_sweep, parse_sweep
from benchtui.sessions.sweep.toml_writer import toml_of
from benchtui.sessions.text.wording import changing_text
from benchtui.tui.cli.text.optimal import lines


def rss(megabytes: float) -> dict[str, Any]:
    return {"memory": Memory(peak_rss_mb=megabytes)}


def vram(allocated: float, reserved: float | None = None) -> dict[str, Any]:
    return {"memory": Memory(peak_rss_mb=9e9, peak_allocated_mb=allocated, peak_reserved_mb=reserved)}


def steadier(middle_ms: float) -> list[float]:
    """Return 30 times with a tenth of the spread of ``spread``."""
    return [middle_ms * (1 + 0.001 * (place / 29 - 0.5)) for place in range(30)]


def test_each_need_has_its_own_best_case(bench: Any) -> None:
    session = bench.session(
        bench.case(1, 10.0, end={**rss(100.0), "energy": Energy(energy_j=90.0)}),
        bench.case(8, steadier(40.0), end={**rss(400.0), "energy": Energy(energy_j=900.0)}),
        bench.case(4, 24.0, end={**rss(110.0), "energy": Energy(energy_j=180.0)}),
    )
    sizes = {need: decide(session, Objective(need)).best.config.batch_size for need in NEEDS}
    assert sizes == {"throughput": 8, "latency": 1, "memory": 4, "energy": 4, "steadiness": 8, "balanced": 4}


@pytest.mark.parametrize("need", NEEDS)
def test_diverged_training_is_never_chosen(bench: Any, need: Need) -> None:
    made = [
        bench.case(1, 10.0, columns={"loss": [2.0] * 30}, end={**rss(400.0), "energy": Energy(energy_j=9.0)}),
        bench.case(8, 9.0, columns={"loss": [2.0] * 29 + [float("nan")]}, end=rss(100.0)),
        bench.case(4, 9.5, columns={"loss": [2.0] * 29 + [None]}, end=rss(100.0)),
    ]
    decision = decide(bench.session(*made), Objective(need))
    assert decision.best.config.batch_size == 1
    assert [each.reason for each in decision.rejected] == ["loss not finite: the steps train nothing"] * 2
    alone = decide(bench.session(made[1]), Objective(need))
    assert (alone.best, alone.runner_up, alone.fit) == (None, None, ())


def test_runner_up_has_a_ratio_with_interval_and_verdict(bench: Any) -> None:
    decision = decide(bench.session(bench.case(1, 10.0), bench.case(8, 40.0), bench.case(4, 25.0)), Objective())
    assert decision.runner_up.config.batch_size == 4
    assert decision.ahead.value == pytest.approx(1.25)
    assert decision.ahead.low < 1.25 < decision.ahead.high
    assert decision.verdict is Verdict.FASTER
    assert decision.ties == ()


def test_simpler_of_two_cases_tied_within_noise_is_chosen(bench: Any) -> None:
    decision = decide(bench.session(bench.steady(1, 10.0), bench.steady(2, 19.98)), Objective())
    assert decision.best.config.batch_size == 1
    assert decision.leader.config.batch_size == 2
    assert [row.config.batch_size for row in decision.ties] == [2]
    assert decision.verdict is Verdict.SAME
    unsure = decide(bench.session(bench.case(1, 10.0), bench.case(2, 19.98)), Objective())
    assert (unsure.best.config.batch_size, unsure.verdict) == (1, Verdict.UNSURE)


@pytest.mark.parametrize(("compiled", "chosen"), [("off", 2), ("default", 1)])
def test_more_is_given_up_for_a_case_that_is_not_compiled(bench: Any, compiled: str, chosen: int) -> None:
    """A lead of 6% that isn't established, over a case of less memory."""
    cases = bench.case(1, 10.0, end=rss(100.0)), bench.case(2, 18.8, compile=compiled, end=rss(900.0))
    decision = decide(bench.session(*cases), Objective())
    assert (decision.best.config.batch_size, decision.verdict) == (chosen, Verdict.UNSURE)
    assert [row.config.batch_size for row in decision.ties] == [3 - chosen]


def scattered(bench: Any, batch_size: int, rounds_ms: tuple[float, ...]) -> Any:
    """Return a case whose processes vary by 10%, and their steps hardly."""
    times = [[ms * (1 + 0.001 * place) for place in range(20)] for ms in rounds_ms]
    return bench.case(batch_size, times[0], rounds=times)


def test_choice_among_noisy_cases_is_near_enough_to_the_best(bench: Any) -> None:
    one = scattered(bench, 1, (10.0, 11.0, 12.0, 11.0, 10.0, 12.0, 11.0, 10.5))
    other = scattered(bench, 2, (21.0, 23.0, 22.5, 25.0, 20.5, 23.5, 24.0, 21.5))
    decision = decide(bench.session(one, other), Objective())
    assert not decision.established and decision.ahead.verdict is Verdict.UNSURE
    assert decision.within == pytest.approx(1 / decision.ahead.low - 1)
    assert 0.02 < decision.within < 0.15
    assert decision.recommended


def test_choice_from_few_rounds_is_not_recommended(bench: Any) -> None:
    few = scattered(bench, 1, (10.0, 14.0)), scattered(bench, 2, (21.0, 26.0))
    decision = decide(bench.session(*few), Objective())
    assert decision.within > 0.25 and not decision.recommended
    clear = decide(bench.session(bench.steady(1, 10.0), bench.steady(4, 20.0)), Objective())
    assert (clear.within, clear.recommended) == (0.0, True)


SIMPLER = (
    ({"compile": "off", "ms": 10.0, "mb": 900.0}, {"compile": "default", "ms": 9.95, "mb": 100.0}),
    ({"ms": 10.0, "mb": 100.0, "precision": "bf16"}, {"ms": 9.95, "mb": 120.0}),
    ({"batch_size": 1, "ms": 10.0}, {"batch_size": 4, "ms": 39.8}),
    ({"ms": 10.0, "precision": "fp32"}, {"ms": 9.95, "precision": "bf16"}),
    ({"ms": 10.0, "attention": "auto"}, {"ms": 9.95, "attention": "eager"}),
)
"""Two indistinguishable cases, the simpler one first: no compilation, memory, step, options."""


@pytest.mark.parametrize(("simple", "leader"), SIMPLER)
@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("turned", [False, True])
def test_simpler_of_indistinguishable_cases_is_chosen(
    bench: Any, simple: dict[str, Any], leader: dict[str, Any], rounds: int, turned: bool
) -> None:
    def made(options: dict[str, Any]) -> Any:
        known = {key: value for key, value in options.items() if key not in ("ms", "mb", "batch_size")}
        end = rss(options["mb"]) if "mb" in options else {}
        make = bench.steady if rounds > 1 else bench.case
        return make(options.get("batch_size", 1), options["ms"], end=end, **known)

    cases = [made(simple), made(leader)]
    decision = decide(bench.session(*(reversed(cases) if turned else cases)), Objective())
    assert decision.best.config == cases[0].config
    assert decision.leader.config == cases[1].config
    assert [row.config for row in decision.ties] == [cases[1].config]


@pytest.mark.parametrize(
    ("near", "far", "chosen"),
    [
        ({"verdict": "close", "sqnr_db": 44.0}, {"verdict": "close", "sqnr_db": 11.0}, "bf16"),
        ({"verdict": "close", "sqnr_db": 44.0}, {"verdict": "close", "sqnr_db": 60.0}, "int8"),  # both are near
        ({"verdict": "identical"}, {"verdict": "close", "sqnr_db": 20.0}, "bf16"),
        ({"verdict": "close"}, {"verdict": "close", "sqnr_db": 20.0}, "int8"),  # one error isn't known
    ],
)
def test_nearer_answer_of_indistinguishable_cases_is_chosen(
    bench: Any, near: dict[str, Any], far: dict[str, Any], chosen: str
) -> None:
    cases = (
        bench.steady(1, 30.0),
        bench.steady(1, 10.0, end=rss(300.0), precision="bf16"),
        bench.steady(1, 10.0, end=rss(100.0), precision="int8"),
    )
    answers = (bench.answered(0), bench.answered(1, **near), bench.answered(2, **far))
    assert decide(bench.session(*cases, more=answers), Objective()).best.config.precision == chosen


def test_noisy_leader_does_not_tie_two_cases_that_differ(bench: Any) -> None:
    """The case that isn't compiled is indistinguishable from the leader, but slower than the second."""

    def made(rounds_ms: tuple[float, ...], compiled: str, threads: int) -> Any:
        times = [[ms * (1 + 0.01 * (place / 29 - 0.5)) for place in range(30)] for ms in rounds_ms]
        return bench.case(1, times[0], rounds=times, threads=threads, compile=compiled)

    scattered, steady = made((8.82, 9.8, 10.78), "default", 1), made((9.9,) * 3, "default", 2)
    slower = made((10.72,) * 3, "off", 3)
    decision = decide(bench.session(scattered, steady, slower), Objective())
    assert decision.best.config.threads == 1
    assert [row.config.threads for row in decision.ties] == [2]
    assert [row.result.config.threads for row in decision.unsure] == [3]
    assert not decision.clear
    assert decide(bench.session(scattered, slower), Objective()).best.config.threads == 3


def test_established_lead_is_not_given_up_for_a_simpler_case(bench: Any) -> None:
    cases = bench.steady(1, 10.0), bench.steady(1, 9.0, compile="default")
    decision = decide(bench.session(*cases), Objective())
    assert (decision.best.config.compile, decision.leader) == ("default", None)
    assert decision.clear


def test_longer_tail_is_reported_and_the_lead_is_not_clear(bench: Any) -> None:
    """Steps of 10 ms, every twentieth of 300 ms, against steps of 12 ms."""
    long = [300.0 if place % 20 == 19 else 10.0 + place % 7 / 100 for place in range(200)]
    short = [12.0 + place % 7 / 100 for place in range(200)]
    cases = bench.case(1, rounds=[long] * 3, ms=long, threads=2), bench.case(1, rounds=[short] * 3, ms=short)
    decision = decide(bench.session(*cases), Objective("latency"))
    assert (decision.tail.name, decision.tail.best_ms) == ("p99", pytest.approx(300.0))
    assert decision.tail.other_ms == pytest.approx(12.06)
    assert not decision.clear


def test_tail_is_p90_with_too_few_steps_for_p99(bench: Any) -> None:
    long = [90.0 if place % 5 == 4 else 10.0 + place % 7 / 100 for place in range(25)]
    short = [12.0 + place % 7 / 100 for place in range(25)]
    decision = decide(bench.session(bench.case(1, long, threads=2), bench.case(1, short)), Objective("latency"))
    assert decision.tail.name == "p90"
    even = decide(bench.session(bench.case(1, short), bench.case(1, 24.0, threads=2)), Objective("latency"))
    assert even.tail is None
    for slow_ms, is_longer in ((13.2, False), (13.5, True)):  # p90 of the other: 12.06 ms
        near = [slow_ms if place % 5 == 4 else 10.0 + place % 7 / 100 for place in range(25)]
        cases = bench.case(1, near, threads=2), bench.case(1, short)
        assert (decide(bench.session(*cases), Objective("latency")).tail is not None) is is_longer


def test_steadiest_case_needs_several_rounds_to_be_distinguished(bench: Any) -> None:
    def jittery(share: float, round_index: int) -> list[float]:
        return [10.0 * (1 + (share + 0.001 * round_index) * (place * 7 % 30 / 29 - 0.5)) for place in range(30)]

    def made(share: float, rounds: int, **options: Any) -> Any:
        times = [jittery(share, turn) for turn in range(rounds)]
        return bench.case(1, times[0], rounds=times, **options)

    for rounds, word in ((1, Verdict.UNSURE), (3, Verdict.FASTER)):
        session = bench.session(made(0.4, rounds), made(0.02, rounds, threads=2))
        decision = decide(session, Objective("steadiness"))
        assert (decision.best.config.threads, decision.verdict) == (2, word)


def test_throughput_per_megabyte_keeps_the_interval_of_the_throughput(bench: Any) -> None:
    one, two = bench.case(1, 10.0, end=rss(100.0)), bench.case(2, 20.0, end=rss(200.0))
    session = bench.session(one, two)
    decision = decide(session, Objective("memory"))
    first, second = measured(session)
    rate = throughput_ratio(second, first)
    assert decision.best.config.batch_size == 1
    assert decision.ahead.value == pytest.approx(2.0)
    assert decision.ahead.low == pytest.approx(2 * rate.low)
    assert decision.ahead.high == pytest.approx(2 * rate.high)
    assert decision.verdict is Verdict.FASTER


def test_energy_has_no_interval_and_no_verdict(bench: Any) -> None:
    cases = (bench.case(size, 10.0, end={"energy": Energy(energy_j=30.0)}) for size in (1, 2))
    decision = decide(bench.session(*cases), Objective("energy"))
    assert decision.ahead.value == pytest.approx(2.0)
    assert decision.verdict is Verdict.UNSURE


def test_balanced_multiplies_only_metrics_that_every_case_has(bench: Any) -> None:
    """By time squared over batch size: 100, 200 and 144; with memory the first would lose."""
    without = bench.case(1, 10.0), bench.case(8, 40.0, end=rss(1.0)), bench.case(4, 24.0, end=rss(1.0))
    assert decide(bench.session(*without), Objective("balanced")).best.config.batch_size == 1
    whole = bench.case(1, 10.0, end=rss(100.0)), *without[1:]
    assert decide(bench.session(*whole), Objective("balanced")).best.config.batch_size == 4


def test_constraints_reject_cases_and_report_the_value(bench: Any) -> None:
    session = bench.session(
        bench.case(1, 10.0, device="cuda:0", end=vram(1000.0)),
        bench.case(8, 40.0, device="cuda:0", end=vram(7000.0, 8100.0)),
        bench.case(8, 20.0),
        bench.case(16, outcome="oom", end={"reason": "CUDA out of memory"}, device="cuda:0"),
        bench.case(32, outcome=None),
    )
    decision = decide(session, Objective(constraints=Constraints(vram_mb=8000.0)))
    assert decision.best.config.batch_size == 1
    assert decision.runner_up is None
    assert [each.reason for each in decision.rejected] == [
        "VRAM 8,100 MB, over 8,000",
        "no VRAM: ran on the CPU",
        "out of memory: CUDA out of memory",
        "unfinished",
    ]


def test_missing_metric_rejects_a_case(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0))
    limits = Constraints(p99_ms=50.0, power_w=300.0)
    decision = decide(session, Objective(constraints=limits))
    assert decision.best is None
    (left,) = decision.rejected
    assert left.reason == "no p99: 30 steps, 100 needed; power not measured"
    (alone,) = decide(session, Objective(constraints=Constraints(p99_ms=50.0))).relaxations
    assert (alone.field, alone.value) == ("p99_ms", None)
    assert decide(session, Objective("memory")).rejected[0].reason == "peak memory not measured"


def test_tightest_constraint_is_listed_with_the_value_that_admits_a_case(bench: Any) -> None:
    session = bench.session(
        bench.case(1, 10.0, device="cuda:0", end=vram(3000.0)),
        bench.case(8, 40.0, device="cuda:0", end=vram(9000.0)),
    )
    decision = decide(session, Objective(constraints=Constraints(vram_mb=2000.0, latency_ms=20.0)))
    (relaxed,) = decision.relaxations
    assert (relaxed.field, relaxed.value, relaxed.result.config.batch_size) == ("vram_mb", 3000.0, 1)
    again = Objective(constraints=Constraints(vram_mb=relaxed.value, latency_ms=20.0))
    assert decide(session, again).best.config.batch_size == 1


def test_no_constraint_is_listed_if_two_exclude_every_case(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0, device="cuda:0", end=vram(3000.0)))
    decision = decide(session, Objective(constraints=Constraints(vram_mb=1.0, latency_ms=1.0)))
    assert (decision.best, decision.relaxations) == (None, ())


def test_first_step_decides_a_short_job(bench: Any) -> None:
    session = bench.session(
        bench.case(4, 40.0, warmup_ms=[50.0]), bench.case(4, 20.0, compile="default", warmup_ms=[5020.0])
    )
    eager, compiled = measured(session)
    assert job_ms(compiled, 20) == pytest.approx(5000.0 + 20 * 20.0)
    for need in ("throughput", "latency"):
        assert decide(session, Objective(need)).best.config.compile == "default"
        assert decide(session, Objective(need, steps=20)).best.config.compile == "off"
        assert decide(session, Objective(need, steps=1000)).best.config.compile == "default"
    short = decide(session, Objective(steps=20))
    assert short.ahead.value == pytest.approx(job_ms(compiled, 20) / job_ms(eager, 20))
    assert short.verdict is Verdict.FASTER


@pytest.mark.parametrize(("rounds", "word"), [(1, Verdict.UNSURE), (3, Verdict.SAME)])
def test_jobs_at_break_even_are_indistinguishable(bench: Any, rounds: int, word: Verdict) -> None:
    make = bench.steady if rounds > 1 else bench.case
    session = bench.session(
        make(4, 40.0, warmup_ms=[40.0]), make(4, 20.0, compile="default", warmup_ms=[5020.0])
    )
    decision = decide(session, Objective(steps=250))
    assert decision.verdict is word
    assert decision.best.config.compile == "off"


def test_job_cost_is_per_sample(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(4, 20.0))
    assert decide(session, Objective("latency", steps=10)).best.config.batch_size == 1
    assert decide(session, Objective("throughput", steps=10)).best.config.batch_size == 4


def test_front_contains_the_cases_that_no_other_beats(bench: Any) -> None:
    rows = bench.results(
        bench.case(1, 10.0, end=rss(100.0)),
        bench.case(2, 30.0, end=rss(200.0)),
        bench.case(8, 40.0, end=rss(400.0)),
    )
    assert [row.config.batch_size for row in front(rows)] == [8, 1]
    assert front(()) == ()


def test_front_ignores_a_metric_that_some_cases_lack(bench: Any) -> None:
    rows = bench.results(bench.case(1, 10.0, end=rss(100.0)), bench.case(1, 9.0, precision="bf16"))
    assert [row.config.precision for row in front(rows)] == ["bf16"]


def test_only_cases_of_the_given_sequence_length_are_candidates(bench: Any) -> None:
    session = bench.session(
        bench.case(1, 10.0), bench.case(1, 50.0, sequence_length=512), bench.case(2, outcome=None)
    )
    assert works(session) == (Work(128), Work(512))
    decision = decide(session, Objective(work=Work(512)))
    assert decision.best.config.sequence_length == 512
    assert (decision.runner_up, decision.rejected) == (None, ())


def test_session_without_a_measured_case_has_no_best_case(bench: Any) -> None:
    decision = decide(bench.session(bench.case(1, outcome="failed", end={"reason": "no"})), Objective())
    assert decision.best is None
    assert [each.reason for each in decision.rejected] == ["failed: no"]


def test_cases_without_figures_are_rejected_in_the_words_of_the_report(bench: Any) -> None:
    session = bench.session(
        bench.case(1, outcome=None),
        bench.case(2, outcome="oom", end={"reason": "allocated 80 GB"}),
        bench.case(4, outcome="skipped"),
        bench.case(8, outcome="skipped", end={"reason": "larger"}),
    )
    session.cases[2].finished = None
    found = [each.reason for each in decide(session, Objective()).rejected]
    assert found == ["unfinished", "out of memory: allocated 80 GB", "not started", "larger"]


def test_single_case_sweep_contains_only_that_case() -> None:
    sweep = load_sweep("gpt2-train", ["aa=true"])
    config = cases(sweep)[7].config
    one = single_case_sweep(sweep, config)
    assert [case.config for case in cases(one)] == [config]
    assert one.measure.baseline is None
    assert parse_sweep(toml_of(one), "text") == one


def test_single_case_of_an_own_step_is_named_by_the_options_that_its_sweep_sets() -> None:
    sweep = parse_sweep('task = "step.py:run"\n[axes]\nparameters = { block = [16, 64] }', "text")
    config = cases(sweep)[1].config
    one = single_case_sweep(sweep, config)
    assert cases(parse_sweep(toml_of(one), "text"))[0].name == config.name == "cpu block=64"


def test_imported_case_cannot_be_run() -> None:
    config = structs.replace(Config(device="unknown"), label="sleep 1")
    with pytest.raises(BenchtuiError, match="sleep 1: imported from another tool"):
        single_case_sweep(Sweep(name="s", model="m"), config)


@pytest.mark.parametrize(
    ("constraints", "best", "rejected"),
    [
        (Constraints(), 4, {8: "answer DIFFERENT; --answer any includes it"}),
        (Constraints(kl=1.0), 8, {}),
        (Constraints(kl=0.1), 4, {8: "KL 0.5 nats, over 0.1", 16: "no answer compared: slow"}),
        (Constraints(answer="close"), 4, {8: "answer DIFFERENT, not CLOSE", 16: "no answer compared: slow"}),
        (Constraints(answer="identical"), 2, {4: "answer CLOSE, not IDENTICAL"}),
        (Constraints(kl=0.0), 2, {4: "KL 0.01 nats, over 0"}),
    ],
)
def test_answers_can_be_required(
    bench: Any, constraints: Constraints, best: int, rejected: dict[int, str]
) -> None:
    session = bench.session(
        *(bench.steady(size, ms) for size, ms in ((1, 10.0), (2, 15.0), (4, 20.0), (8, 20.0), (16, 200.0))),
        more=[
            bench.answered(0),
            bench.answered(1, verdict="identical", kl_mean=0.0),
            bench.answered(2, verdict="close", kl_mean=0.01),
            bench.answered(3, verdict="different", kl_mean=0.5),
            bench.answered(4, absent="slow"),
        ],
    )
    found = decide(session, Objective(constraints=constraints))
    assert found.best is not None and found.best.config.batch_size == best
    reasons = {each.case.config.batch_size: each.reason for each in found.rejected}
    assert rejected.items() <= reasons.items()


def test_baseline_keeps_the_answer_although_no_other_case_was_measured(bench: Any) -> None:
    session = bench.session(
        bench.steady(1, 10.0), bench.case(2, 10.0, outcome="skipped"), more=[bench.answered(0)]
    )
    found = decide(session, Objective(constraints=Constraints(answer="close")))
    assert found.best is not None and found.best.config.batch_size == 1
    assert not found.relaxations


def test_required_answer_may_be_relaxed(bench: Any) -> None:
    session = bench.session(
        bench.steady(1, 10.0, device="cuda:0", end=vram(900.0)),
        bench.steady(2, 10.0, device="cuda:0", end=vram(100.0)),
        more=[bench.answered(0), bench.answered(1, verdict="different", kl_mean=0.5)],
    )
    found = decide(session, Objective(constraints=Constraints(vram_mb=500.0, answer="close")))
    assert found.best is None
    assert {each.field: (each.result.case.index, each.value) for each in found.relaxations} == {
        "vram_mb": (0, 900.0),
        "answer": (1, VERDICTS.index("different")),
    }
    assert "  relaxing --answer to different would admit cuda:0 fp32 compile=off bs=2 seq=128" in lines(
        session, found
    )


def test_each_model_has_its_own_best_case(bench: Any) -> None:
    """Cases of two models are no alternatives to each other; the sweep of the best one names its model."""
    step_ms = {"small": 5.0, "large": 50.0}
    made = []
    for name, ms in step_ms.items():
        for each in (bench.steady(size, ms * size**0.9) for size in (1, 2)):
            made.append(dataclasses.replace(each, config=structs.replace(each.config, model=name)))
    session = bench.session(*made)
    assert [work.model for work in works(session)] == ["small", "large"]
    for work in works(session):
        decision = decide(session, Objective("throughput", work=work))
        assert decision.best is not None and decision.best.config.model == work.model
        assert {result.config.model for result in decision.fit} == {work.model}
        again = single_case_sweep(session.start.sweep, decision.best.config)
        assert again.model == work.model and again.axes.model == ("",)


def test_case_with_changed_files_is_left_out_with_its_reason(bench: Any) -> None:
    mark = "changed: a.py (11111111; in case 1, 00000000)"
    session = bench.session(
        bench.case(1, 10.0), bench.case(2, 10.0), bench.case(4, 10.0, end={"marks": (mark,)})
    )
    decision = decide(session, Objective("throughput"))
    assert decision.best is not None and decision.best.config.batch_size == 2
    assert [(each.case.index, each.reason) for each in decision.rejected] == [(2, mark)]
    assert all(not row.case.file_changes for row in decision.front)


def other_answers(bench: Any, weights: str = "pretrained") -> Session:
    """int8 is faster than bf16 and fp32, and answers otherwise; bf16 is close."""
    model = Model(name="tiny", weights=weights)
    made = [
        bench.steady(1, 12.0, model=model),
        bench.steady(1, 10.0, precision="bf16", model=model),
        bench.steady(1, 8.0, precision="int8", model=model),
    ]
    answers = [
        bench.answered(0),
        bench.answered(1, verdict="close", sqnr_db=40.0),
        bench.answered(2, verdict="different", sqnr_db=9.0),
    ]
    session: Session = bench.session(*made, more=answers)
    return session


def test_default_choice_keeps_the_answer_and_names_what_is_faster(bench: Any) -> None:
    decision = decide(other_answers(bench), Objective("throughput"))
    assert decision.best.config.precision == "bf16"
    assert decision.clear, "it beats all others that keep the answer"
    (faster,) = decision.changing
    assert (faster.result.config.precision, faster.ratio.verdict) == ("int8", Verdict.FASTER)
    assert faster.ratio.value == pytest.approx(1.25)
    assert changing_text(faster).startswith(f"{faster.result.name} is 1.25 × (") and "9 dB" in changing_text(
        faster
    )
    assert [each.reason for each in decision.rejected] == ["answer DIFFERENT; --answer any includes it"]


def test_any_answer_may_be_asked_for_and_random_weights_have_none_to_keep(bench: Any) -> None:
    asked = decide(other_answers(bench), Objective("throughput", any_answer=True))
    assert (asked.best.config.precision, asked.changing) == ("int8", ())
    assert decide(other_answers(bench, "random"), Objective("throughput")).best.config.precision == "int8"


def test_choice_is_established_if_it_beats_or_equals_all_others(bench: Any) -> None:
    ahead = bench.session(bench.steady(1, 10.0), bench.steady(1, 12.0, threads=2))
    equal = bench.session(bench.steady(1, 10.0), bench.steady(1, 10.0, threads=2))
    unsure = bench.session(bench.case(1, 10.0), bench.case(1, 10.1, threads=2))
    states = [decide(session, Objective("latency")).established for session in (ahead, equal, unsure)]
    assert states == [True, True, False]


def test_factor_as_reported_leaves_no_product_clear(bench: Any) -> None:
    """Throughput without steps and a known memory: nothing tests the product of both."""
    reported = [
        bench.case(
            size, end={"reported": Reported(steps=20, latency_mean_ms=ms, samples_per_s=rate), **rss(90.0)}
        )
        for size, ms, rate in ((1, 30.0, 33.0), (2, 10.0, 200.0), (4, 50.0, 80.0))
    ]
    decision = decide(bench.session(*reported), Objective("balanced"))
    assert (decision.verdict, decision.clear) == (Verdict.REPORTED, False)
    assert {rival.ratio.verdict for rival in decision.unsure} == {Verdict.REPORTED}


def test_choice_far_ahead_of_what_sources_reported_is_established(bench: Any) -> None:
    """A case far behind by its source is no open question, but the lead on it isn't measured either."""
    best, other, far = bench.results(bench.case(1, 10.0), bench.case(1, 12.0, threads=2), bench.case(2, 90.0))
    ahead = Ratio(1.2, Bounds(1.2, 1.19, 1.21, 1.18, 1.22))
    rivals = [Rival(far, Ratio(value, reported=True)) for value in (8.0, 1.001)]
    decisions = [Decision(Objective(), best, other, ahead, unsure=(rival,)) for rival in rivals]
    assert [decision.contenders == () for decision in decisions] == [True, False]
    assert [decision.established for decision in decisions] == [True, False]
    assert not any(decision.clear for decision in decisions)


def test_product_keeps_the_reasons_of_its_factors(bench: Any) -> None:
    one, two = bench.results(
        bench.case(1, 10.0, end=rss(100.0)), bench.case(1, 11.0, threads=2, end=rss(100.0))
    )
    metrics = cost_metrics(Objective("balanced"), [one, two])
    product, (first, *_) = ahead_by(one, two, metrics), [metric.ratio(one, two) for metric in metrics]
    assert len(metrics) > 1 and first is not None
    assert (product.assumed, product.rounds, product.doubt) == (first.assumed, first.rounds, Doubt.WIDE)


def test_lower_limit_on_the_throughput_excludes_slower_cases(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(8, 40.0))
    choice = decide(session, Objective("latency", Constraints(samples_per_s=150.0)))
    assert choice.best is not None and choice.best.config.batch_size == 8
    (rejected,) = choice.rejected
    assert rejected.reason == "throughput 100 samples/s, under 150"
    (relaxation,) = decide(session, Objective(constraints=Constraints(samples_per_s=400.0))).relaxations
    assert relaxation.value == pytest.approx(200, rel=0.01), "the nearest miss is the largest rate"


def test_search_gives_up_less_for_a_simpler_case(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.4), bench.case(1, 10.0, compile="default"))
    assert decide(session, Objective()).best.config.compile == "off"
    assert decide(session, Objective(search=True)).best.config.compile == "default"
