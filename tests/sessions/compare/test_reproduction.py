"""Whether a session was reproduced follows from the verdicts of the comparison, and from what was measured."""

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.compare.align import ComparedSession, compare_sessions
from benchtui.sessions.compare.reproduction import (
    LEAST_MARGIN,
    MOST_MARGIN,
    Reproduction,
    further_sweep,
    lines,
    reproduction,
)
from benchtui.sessions.events import Runtime
from benchtui.sessions.payloads import Environment, Gpu, Host, Model


def judged(before: Any, after: Any, same_within: float | None = None) -> Reproduction:
    sides = [ComparedSession.of("before", before), ComparedSession.of("after", after)]
    return reproduction(compare_sessions(sides), same_within)


def steady(bench: Any, *times_ms: float, host: Host | None = None) -> Any:
    cases = [bench.steady(2**place, time_ms) for place, time_ms in enumerate(times_ms)]
    return bench.session(*cases, **({"host": host} if host else {}))


def test_same_speed_is_reproduced_and_its_ratio_stated(bench: Any) -> None:
    again = judged(steady(bench, 10.0, 20.0), steady(bench, 10.0, 20.0))
    assert again.answer == "REPRODUCED"
    first, *others = lines(again)
    assert first.startswith("REPRODUCED: 2 cases, speed 1.000 × (")
    assert first.endswith("), margin 10 %")
    assert others[1:] == ["  machine, software and settings are the same"]


@pytest.mark.parametrize(("time_ms", "speed"), [(14.0, "1.43 ×"), (30.0, "0.667 ×")])
def test_case_of_another_speed_is_not_reproduced_and_named(bench: Any, time_ms: float, speed: str) -> None:
    again = judged(steady(bench, 10.0, 20.0), steady(bench, 10.0, time_ms))
    assert again.answer == "NOT REPRODUCED"
    (named,) = [line for line in lines(again) if "bs=2" in line]
    assert f": {speed} (" in named
    assert named.endswith(", beyond the margin")


@pytest.mark.parametrize(("margin", "answer"), [(0.25, "REPRODUCED"), (0.05, "NOT REPRODUCED")])
def test_sure_difference_within_the_margin_is_reproduced(bench: Any, margin: float, answer: str) -> None:
    sessions = [steady(bench, *(10.0 * scale for _ in range(5))) for scale in (1.0, 1.1)]
    again = judged(*sessions, margin)
    assert again.answer == answer
    assert (again.margin, again.spread) == (margin, None)


def noisy(bench: Any, *rounds_ms: float, **options: Any) -> Any:
    """Make a session of one case whose processes differ."""
    steps = [[ms * (1 + 0.001 * (step % 5)) for step in range(30)] for ms in rounds_ms]
    session = bench.session(bench.case(1, rounds=steps, ms=rounds_ms, **options))
    session.started = replace(session.start, process_spread={})
    return session


NOISY = [10.0, 11.5, 9.0, 10.8, 9.4, 10.6, 11.0, 9.1, 10.2, 9.8, 10.5, 9.6, 9.3, 11.2]
"""Medians of fresh processes on a machine where they differ by 8%."""


@pytest.mark.parametrize(
    ("speed", "answer"), [(1.0, "REPRODUCED"), (0.6, "NOT REPRODUCED"), (1.6, "NOT REPRODUCED")]
)
def test_sessions_of_a_noisy_machine_are_decided(bench: Any, speed: float, answer: str) -> None:
    """Processes that differ by 10%, on a machine whose pace differs by 3% between sessions."""
    answers = [repeated(bench, Random(seed), speed) for seed in range(20)]
    assert answers == [answer] * 20


def repeated(bench: Any, chance: Random, speed: float) -> str:
    """Measure two cases at another speed, with further rounds as long as they are asked for."""

    def processes(rounds: int, scale: float = 1.0) -> list[list[float]]:
        return [[size * scale * chance.lognormvariate(0, 0.1) for _ in range(rounds)] for size in (10.0, 20.0)]

    def measured(times: list[list[float]]) -> Any:
        rounds = [[[ms * (1 + 0.001 * (step % 5)) for step in range(12)] for ms in each] for each in times]
        cases = [bench.case(place, 1.0, rounds=steps) for place, steps in enumerate(rounds, 1)]
        session = bench.session(*cases)
        session.started = replace(session.start, process_spread={})
        return session

    before, scale = measured(processes(3)), chance.lognormvariate(0, 0.03) / speed
    times = processes(3, scale)
    while sweep := further_sweep(again := judged(before, after := measured(times)), after):
        for size in sweep.axes.batch_size:
            times[size - 1] += processes(sweep.measure.rounds, scale)[size - 1]
    return again.answer


def test_margin_is_the_range_of_the_recorded_processes(bench: Any) -> None:
    quiet, wide = judged(steady(bench, 10.0), steady(bench, 10.0)), judged(*[noisy(bench, *NOISY)] * 2)
    assert quiet.margin == LEAST_MARGIN
    assert wide.spread == pytest.approx(0.08, abs=0.005)
    assert wide.margin == pytest.approx(0.23, abs=0.02)
    assert any(line.startswith("  margin: the range of 99 of 100 processes") for line in lines(wide))


def test_speed_beyond_the_largest_margin_is_never_reproduced(bench: Any) -> None:
    wild = [ms * (2.0 if place % 2 else 0.5) for place, ms in enumerate(NOISY)]
    twice = judged(noisy(bench, *wild), noisy(bench, *[ms / 1.9 for ms in wild]))
    assert (twice.margin, twice.answer) == (MOST_MARGIN, "UNSURE")
    assert any(line.endswith("at least 10 %, at most 50 %") for line in lines(twice))
    few = judged(noisy(bench, *wild[:4]), noisy(bench, *wild[:4]))
    assert any(line.startswith("  the recorded speed is only known within ") for line in lines(few))


@pytest.mark.parametrize(
    ("scale", "answer"), [(1.0, "REPRODUCED"), (1.1, "REPRODUCED"), (1.5, "NOT REPRODUCED")]
)
def test_further_rounds_decide_what_a_few_leave_open(bench: Any, scale: float, answer: str) -> None:
    before = noisy(bench, *NOISY[:4])
    times_ms = [ms * scale for ms in NOISY]
    answers = [judged(before, noisy(bench, *times_ms[:rounds])).answer for rounds in (1, len(NOISY))]
    assert answers == ["UNSURE", answer]


def test_record_that_is_too_noisy_for_a_margin_refutes_nothing(bench: Any) -> None:
    before, after = noisy(bench, 10.5), noisy(bench, *NOISY)
    assert judged(before, after, 0.01).answer == "UNSURE"
    assert judged(noisy(bench, 20.0), after, 0.01).answer == "NOT REPRODUCED"


def test_further_sweep_has_the_rounds_that_may_decide(bench: Any) -> None:
    before, after = noisy(bench, *NOISY[:4]), noisy(bench, NOISY[4])
    sweep = further_sweep(judged(before, after), after)
    assert sweep is not None
    assert sweep.measure.rounds == 3
    assert not sweep.measure.rounds_auto
    assert sweep.axes.batch_size == (1,)
    assert further_sweep(judged(before, noisy(bench, *NOISY)), before) is None


def test_further_rounds_stay_within_the_budget(bench: Any) -> None:
    before, after = noisy(bench, *NOISY[:4]), noisy(bench, NOISY[4], end={"measured_s": (0.0, 60.0)})
    again, rounds = judged(before, after), []
    for budget_s in (0.0, 1.0, 400.0, 1e6):  # a round and its two repetitions take 180 s at most
        sweep = further_sweep(again, after, budget_s)
        rounds.append(sweep.measure.rounds if sweep else 0)
    assert rounds == [0, 1, 2, 3]


def test_only_cases_that_may_be_beyond_the_margin_get_further_rounds(bench: Any) -> None:
    cases = [bench.steady(2**place, 10.0) for place in range(5)]
    unsteady = bench.case(64, 11.5, rounds=[[ms] * 30 for ms in (10.6, 12.4, 11.5)])
    before, after = bench.session(*cases, bench.steady(64, 10.0)), bench.session(*cases, unsteady)
    again = judged(before, after)
    assert again.answer == "UNSURE"
    assert [each.row.case.config.batch_size for each in again.undecided] == [64]
    sweep = further_sweep(again, after)
    assert sweep is not None
    assert sweep.axes.batch_size == (64,)
    assert any("bs=64" in line and line.endswith("not surely beyond the margin") for line in lines(again))


BUSY = {"environment": Environment(others_cpu_percent=90.0), "measured_s": (0.0, 5.0)}


@pytest.mark.parametrize(("ms", "answer"), [(10.0, "REPRODUCED"), (20.0, "NOT REPRODUCED")])
def test_disturbance_of_the_record_is_a_difference(bench: Any, ms: float, answer: str) -> None:
    again = judged(noisy(bench, ms, end=BUSY), noisy(bench, *NOISY))
    assert again.answer == answer
    assert "  differs: other processes were running: in 1 case → no" in lines(again)


def test_disturbed_repetition_is_measured_again(bench: Any) -> None:
    before, after = noisy(bench, *NOISY), noisy(bench, 20.0, end=BUSY)
    again = judged(before, after)
    assert again.answer == "UNSURE"
    sweep = further_sweep(again, after)
    assert sweep is not None
    assert (sweep.measure.rounds, sweep.measure.retries) == (3, 2)
    assert "other processes were running" in list(lines(again))[1]


def test_case_that_was_not_measured_again_is_not_reproduced(bench: Any) -> None:
    failed = bench.case(2, 20.0, outcome="failed")
    again = judged(steady(bench, 10.0, 20.0), bench.session(bench.steady(1, 10.0), failed))
    assert again.answer == "NOT REPRODUCED"
    assert any("not measured this time: failed" in line for line in lines(again))


def test_cases_that_were_not_measured_again_are_named_with_their_reason(bench: Any) -> None:
    failed = [bench.case(size, 1.0, outcome="failed", end={"reason": "no weights"}) for size in (1, 2)]
    again = judged(steady(bench, 10.0, 20.0), bench.session(*failed))
    first, *others = lines(again)
    assert (first, len(others)) == ("NOT REPRODUCED; nothing that is recorded differs", 1)
    assert others[0].startswith("  2 cases, such as ")
    assert others[0].endswith("bs=1 seq=128: not measured this time: failed: no weights")


def test_other_cases_reproduce_nothing(bench: Any) -> None:
    again = judged(bench.session(bench.steady(1, 10.0)), bench.session(bench.steady(2, 10.0)))
    assert again.answer == "NOT REPRODUCED"
    assert any(line.endswith("bs=1 seq=128: not measured this time: not planned") for line in lines(again))


def test_wide_interval_is_unsure_with_its_reason(bench: Any) -> None:
    again = judged(bench.session(bench.case(1, 10.0)), bench.session(bench.case(1, 10.3)))
    assert again.answer == "UNSURE"
    assert len(list(lines(again))) == 2


def test_differences_of_the_machine_are_listed_but_decide_nothing(bench: Any) -> None:
    sessions = [steady(bench, 10.0, host=Host(driver=driver)) for driver in ("570", "580")]
    again = judged(*sessions)
    assert again.answer == "REPRODUCED"
    assert "  differs: GPU driver: 570 → 580" in lines(again)


def test_other_work_is_not_reproduced_however_fast(bench: Any) -> None:
    before, after = steady(bench, 10.0), steady(bench, 10.0)
    after.started = replace(after.start, sweep=replace(after.start.sweep, dataset="other"))
    again = judged(before, after)
    assert again.answer == "NOT REPRODUCED"
    assert any(line.startswith("  measured something else: Dataset: ") for line in lines(again))


GPU = Gpu(index=0, name="H100", uuid="GPU-1", memory_mb=80_000.0, power_limit_w=700.0)
HOST = Host(
    platform="Linux-6.1-x86_64",
    python="3.12.1",
    processor="Xeon",
    driver="570",
    governor="performance",
    container_cpus=8.0,
    packages={"triton": "3.4"},
    environment={"OMP_NUM_THREADS": "8"},
    gpus=(GPU,),
)
PLANTED: dict[str, tuple[str, dict[str, Any]]] = {
    "driver": ("GPU driver: 570 → 580", {"host": replace(HOST, driver="580")}),
    "kernel of the system": ("Platform: Linux-6.1", {"host": replace(HOST, platform="Linux-6.9-x86_64")}),
    "Python": ("Python: 3.12.1 → 3.13.0", {"host": replace(HOST, python="3.13.0")}),
    "package": ("triton: 3.4 → 3.5", {"host": replace(HOST, packages={"triton": "3.5"})}),
    "power limit": (
        "power limit 700 W → H100, 74.5 GiB, power limit 500 W",
        {"host": replace(HOST, gpus=(replace(GPU, power_limit_w=500.0),))},
    ),
    "GPU": ("GPU 0: H100", {"host": replace(HOST, gpus=(replace(GPU, name="A100"),))}),
    "governor": ("Governor: performance → powersave", {"host": replace(HOST, governor="powersave")}),
    "CPU limit": ("Container CPU limit: 8.00 → 2.00", {"host": replace(HOST, container_cpus=2.0)}),
    "variable": ("env OMP_NUM_THREADS: 8 → 2", {"host": replace(HOST, environment={"OMP_NUM_THREADS": "2"})}),
    "torch": ("PyTorch: 2.9 → 2.8", {"runtime": {"torch": "2.8"}}),
    "threads": ("Torch threads: 8 → 2", {"runtime": {"threads": 2}}),
    "clock": ("GPU clock: 1,900 MHz → 1,200 MHz", {"environment": {"graphics_clock_mhz": 1200.0}}),
    "unreadable clock": ("processor clock: 3,500 MHz → none", {"environment": {"processor_mhz": None}}),
    "kernel of attention": ("actual attention: sdpa-flash → sdpa-math in 1 case", {"attention": "sdpa-math"}),
    "threads of a case": ("actual threads: 8 → 4 in 1 case", {"threads": 4}),
    "weights": ("weights of tiny: 01234567 → 89abcdef", {"files": {"weights": "89abcdef01234567"}}),
    "random weights": ("actual random weights: aa11 → bb22 in 1 case", {"random_weights": "bb22"}),
    "step rule": ("until percent: none → 2.0", {"measure": {"until_percent": 2.0}}),
}
"""Differences with the line that names each."""


def planted(bench: Any, time_ms: float, change: dict[str, Any]) -> Any:
    """Make a session on a GPU with one difference."""
    applied = {"attention": "sdpa-flash", "threads": 8}
    effective = bench.effective(**applied | {name: change[name] for name in applied if name in change})
    environment = Environment(
        **{"graphics_clock_mhz": 1900.0, "processor_mhz": 3500.0} | change.get("environment", {})
    )
    case = bench.steady(
        1,
        time_ms,
        effective=effective,
        end={"environment": environment},
        model=Model(name="tiny", random_weights=change.get("random_weights", "aa11")),
        prepared={"files": change.get("files", {"weights": "0123456789abcdef"})},
    )
    session = bench.session(case, host=change.get("host", HOST))
    session.apply(Runtime(**{"t": 0.0, "torch": "2.9", "threads": 8} | change.get("runtime", {})))
    sweep = session.start.sweep
    session.started = replace(
        session.start, sweep=replace(sweep, measure=replace(sweep.measure, **change.get("measure", {})))
    )
    return session


@pytest.mark.parametrize("name", PLANTED)
def test_planted_difference_is_named(bench: Any, name: str) -> None:
    line, change = PLANTED[name]
    again = judged(planted(bench, 10.0, {}), planted(bench, 20.0, change))
    assert again.answer == "NOT REPRODUCED"
    first, *others = lines(again)
    (named,) = [text for text in others if line in text]
    assert again.differing == [named.split(": ")[1]]
    assert first.endswith(f"; differs: {again.differing[0]}")


def test_nothing_differs_in_an_equal_session(bench: Any) -> None:
    first, *_ = lines(judged(planted(bench, 10.0, {}), planted(bench, 20.0, {})))
    assert first.endswith("; nothing that is recorded differs")
