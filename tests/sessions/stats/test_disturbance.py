from typing import Any

import pytest

from benchtui.sessions.events import CaseFinished, RoundFinished
from benchtui.sessions.payloads import CLOCK_LIMITS, Environment
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.disturbance import (
    SHARED_PROCESSOR,
    Slowdown,
    clock_marks,
    contention_marks,
    disturbances,
    estimate_slowdown,
    in_some_rounds,
    is_disturbed,
    mark_kind,
    merge_round_marks,
    throttling,
)
from benchtui.sessions.sweep import Config


def around(**readings: Any) -> Environment:
    return Environment(processors=2, **readings)


@pytest.mark.parametrize(
    ("readings", "marks"),
    [
        ({}, ()),
        ({"others_cpu_percent": 63.0}, ("disturbed: other processes used 63% CPU",)),
        ({"others_cpu_percent": 25.0}, ("disturbed: other processes used 25% CPU",)),
        ({"others_cpu_percent": 24.9}, ()),
        ({"involuntary_switches": 1000}, ("disturbed: 500 context switches per second",)),
        ({"involuntary_switches": 200}, ("disturbed: 100 context switches per second",)),
        ({"involuntary_switches": 199}, ()),
        ({"involuntary_switches": 1000, "others_cpu_percent": 0.9}, ()),
        (
            {"involuntary_switches": 1000, "others_cpu_percent": 1.0},
            ("disturbed: 500 context switches per second",),
        ),
        ({"involuntary_switches": 1000, "beside": 1}, ()),
        ({"others_cpu_percent": 63.0, "beside": 1}, ("disturbed: other processes used 63% CPU",)),
        ({"stood_still_s": 3.2}, ("disturbed: stalled for 3 s",)),
        ({"gpu_processes": 0}, ()),
        ({"gpu_processes": 1}, ("shared GPU with 1 other process",)),
        ({"gpu_processes": 2}, ("shared GPU with 2 other processes",)),
    ],
)
def test_others_mark_a_case_of_two_seconds_from_a_threshold_on(
    readings: dict[str, Any], marks: tuple[str, ...]
) -> None:
    assert contention_marks(around(**readings), 2.0) == marks


def test_a_few_milliseconds_say_nothing_of_a_rate() -> None:
    assert contention_marks(around(involuntary_switches=1000), 0.19) == ()
    assert contention_marks(around(involuntary_switches=20), 0.2) == (
        "disturbed: 100 context switches per second",
    )


def test_on_a_large_machine_others_may_use_a_tenth_of_it() -> None:
    assert contention_marks(Environment(processors=64, others_cpu_percent=600.0), 1.0) == ()
    assert contention_marks(Environment(processors=64, others_cpu_percent=640.0), 1.0) != ()
    assert contention_marks(Environment(others_cpu_percent=25.0), 1.0) != (), (
        "the number of processors isn't known"
    )


@pytest.mark.parametrize(
    ("readings", "marks"),
    [
        ({"throttle": ("sw_power_cap", "app_clocks")}, ()),
        ({"throttle": ("sw_power_cap", "sw_thermal")}, ("throttled: sw_thermal",)),
        ({"throttle": ("hw_power_brake", "hw_slowdown")}, ("throttled: hw_power_brake",)),
        ({"throttle": ("hw_slowdown",)}, ()),
        ({"graphics_clock_mhz": 700.0, "graphics_clock_default_mhz": 1000.0}, ()),
        ({"processor_throttled": 0}, ()),
        ({"processor_throttled": 12}, ("throttled: the processor, by heat (count 12)",)),
    ],
)
def test_only_heat_and_the_power_supply_throttle_a_case(
    readings: dict[str, Any], marks: tuple[str, ...]
) -> None:
    assert throttling(around(**readings)) == marks


LOCKED = {"graphics_clock_mhz": 1200.0, "graphics_clock_default_mhz": 1980.0, "graphics_clock_best_mhz": 1200.0}
LAPTOP = {
    "graphics_clock_mhz": 1900.0,
    "graphics_clock_default_mhz": 3105.0,
    "graphics_clock_default_is_highest": True,
}


@pytest.mark.parametrize(
    ("readings", "marks"),
    [
        ({"graphics_clock_mhz": 700.0, "graphics_clock_default_mhz": 1000.0}, ("clock at 70% of its default",)),
        ({"graphics_clock_mhz": 750.0, "graphics_clock_default_mhz": 1000.0}, ()),
        ({"graphics_clock_mhz": 100.0}, ()),
        (LAPTOP, ("clock at 61% of its highest",)),
        (LAPTOP | {"throttle": ("sw_power_cap",)}, ()),
        (LAPTOP | {"throttle": ("sw_thermal",)}, ("clock at 61% of its highest",)),
        (LAPTOP | {"graphics_clock_best_mhz": 1950.0}, ()),
        (
            LAPTOP | {"graphics_clock_mhz": 900.0, "graphics_clock_best_mhz": 1800.0},
            ("clock at 50% of its best in this session",),
        ),
        (LOCKED, ()),
    ],
)
def test_low_clock_is_marked_if_no_limit_explains_it(readings: dict[str, Any], marks: tuple[str, ...]) -> None:
    assert clock_marks(around(**readings)) == marks


@pytest.mark.parametrize("limit", CLOCK_LIMITS)
def test_limits_of_the_clock_are_neither_marked_nor_slow_a_case(limit: str) -> None:
    limited = around(graphics_clock_mhz=1200.0, graphics_clock_default_mhz=1980.0, throttle=(limit,))
    assert disturbances(limited, 2.0) == ()
    assert slowest(limited, device="cuda:0") == Slowdown()


QUOTA = "disturbed: CPU quota stopped the worker in 80% of the quota's periods"


@pytest.mark.parametrize(
    ("periods", "stopped", "marks"),
    [(50, 40, (QUOTA,)), (50, 0, ()), (1000, 9, ()), (None, None, ()), (0, 0, ())],
)
def test_stops_by_the_cpu_quota_mark_a_case_and_repeat_nothing(
    periods: int | None, stopped: int | None, marks: tuple[str, ...]
) -> None:
    held = around(quota_periods=periods, quota_stopped_periods=stopped)
    assert disturbances(held, 2.0) == marks
    assert contention_marks(held, 2.0) == throttling(held) == ()
    why = ("the CPU quota of the control group stopped the worker",) if marks else ()
    assert slowest(held) == Slowdown(1.25 if marks else 1.0, why)


def test_a_case_measured_beside_others_of_its_sweep_says_so() -> None:
    beside = around(beside=2, others_cpu_percent=5.0)
    assert disturbances(beside, 1.0) == ("in parallel with 2 of this sweep's cases",)
    unknown = disturbances(around(beside=2), 1.0)
    assert unknown == ("in parallel with 2 of this sweep's cases; other load can't be distinguished from them",)
    assert [mark_kind(mark) for mark in unknown] == ["in parallel"]
    assert contention_marks(beside, 1.0) == (), "it is no reason to measure again"


def test_a_case_earns_every_mark_at_once() -> None:
    found = disturbances(around(throttle=("hw_thermal",), gpu_processes=3), 1.0)
    assert found == ("throttled: hw_thermal", "shared GPU with 3 other processes")


def test_over_rounds_the_worst_of_each_disturbance_is_told_with_its_rounds() -> None:
    others = "disturbed: other processes used {}% CPU"
    rounds = [
        ("random weights", others.format(63)),
        ("random weights",),
        (others.format(160), "shared GPU with 1 other process"),
    ]
    assert merge_round_marks(rounds) == (
        "random weights",
        others.format(160) + ", in 2 of 3 rounds",
        "shared GPU with 1 other process, in 1 of 3 rounds",
    )


def test_changed_files_are_counted_by_round_and_by_kind() -> None:
    mark = "changed: a.py (11111111; in case 1, 00000000)"
    assert merge_round_marks([[], [mark], [mark]]) == (f"{mark}, in 2 of 3 rounds",)
    assert (mark_kind(mark), in_some_rounds(mark)) == ("changed", False)
    assert in_some_rounds(f"{mark}, in 2 of 3 rounds") and not in_some_rounds(f"{mark}, in 3 of 3 rounds")


def test_marks_are_counted_by_kind() -> None:
    marks = ("disturbed: 500 context switches per second", "clock at 70% of its default", "random weights")
    assert [mark_kind(mark) for mark in marks] == ["disturbed", "clock", "random weights"]


def test_of_disturbances_without_a_figure_the_first_is_told() -> None:
    rounds = [("throttled: hw_thermal",), ("throttled: hw_thermal",), ("throttled: sw_thermal",)]
    assert merge_round_marks(rounds) == (
        "throttled: hw_thermal, in 2 of 3 rounds",
        "throttled: sw_thermal, in 1 of 3 rounds",
    )


def test_throttled_processor_counts_as_in_its_worst_round() -> None:
    rounds = [throttling(around(processor_throttled=times)) for times in (9, 0, 12)]
    assert merge_round_marks(rounds) == ("throttled: the processor, by heat (count 12), in 2 of 3 rounds",)


def case(
    *rounds: Environment | None, device: str = "cpu", span_s: tuple[float, float] | None = (3, 5)
) -> CaseState:
    """A case by what went on around each of its rounds, which were measured for two seconds."""
    state = CaseState(index=0, config=Config(device=device))
    if not rounds:
        return state
    *before, last = rounds
    state.rounds = tuple(
        RoundFinished(t=0.0, case=0, round=turn, environment=each, measured_s=span_s)
        for turn, each in enumerate(before)
    )
    state.finished = CaseFinished(t=0.0, case=0, outcome="ok", environment=last, measured_s=span_s)
    return state


def slowest(environment: Environment, **options: Any) -> Slowdown:
    return estimate_slowdown(case(environment, **options), throughout=False)


OTHERS, SHARED, STILL = (
    "other processes were running",
    "another process used the GPU",
    "the machine stalled",
)
THROTTLED, BELOW = "the GPU was throttled", "the GPU ran below its default clock"


@pytest.mark.parametrize(
    ("readings", "by", "why"),
    [
        ({}, 1.0, ()),
        ({"others_cpu_percent": 24.9}, 1.0, ()),
        ({"others_cpu_percent": 80.0}, 1.8, (OTHERS,)),
        ({"others_cpu_percent": 80.0, "processors": None}, 1.8, (OTHERS,)),
        ({"others_cpu_percent": 80.0, "processors": 1}, 1.8, (OTHERS,)),
        ({"others_cpu_percent": 80.0, "processors": 8}, 1.2, (OTHERS,)),
        ({"involuntary_switches": 199}, 1.0, ()),
        ({"involuntary_switches": 200}, 1.25, (OTHERS,)),
        ({"stood_still_s": 3.0}, 1.25, (STILL,)),
        ({"gpu_processes": 1}, 2.0, (SHARED,)),
        ({"throttle": ("hw_thermal",)}, 1.25, (THROTTLED,)),
        ({"throttle": ("hw_thermal",), "graphics_clock_mhz": 1000.0}, 1.25, (THROTTLED,)),
        ({"throttle": ("hw_thermal",), "graphics_clock_default_mhz": 1000.0}, 1.25, (THROTTLED,)),
        (
            {"throttle": ("hw_thermal",), "graphics_clock_mhz": 800.0, "graphics_clock_default_mhz": 1000.0},
            1.25,
            (THROTTLED,),
        ),
        (
            {"throttle": ("hw_thermal",), "graphics_clock_mhz": 900.0, "graphics_clock_default_mhz": 990.0},
            1.1,
            (THROTTLED,),
        ),
        (
            {"throttle": ("hw_thermal",), "graphics_clock_mhz": 1100.0, "graphics_clock_default_mhz": 990.0},
            1.0,
            (THROTTLED,),
        ),
        (
            {"throttle": ("sw_power_cap",), "graphics_clock_mhz": 800.0, "graphics_clock_default_mhz": 990.0},
            1.0,
            (),
        ),
        ({"graphics_clock_mhz": 500.0, "graphics_clock_default_mhz": 1500.0}, 3.0, (BELOW,)),
        (LAPTOP, 1.0, ()),
        (LOCKED, 1.0, ()),
        (
            {
                "graphics_clock_mhz": 900.0,
                "graphics_clock_default_mhz": 3105.0,
                "graphics_clock_best_mhz": 1800.0,
            },
            2.0,
            ("the GPU ran below its best clock in the session",),
        ),
        (
            {"processor_throttled": 3, "graphics_clock_mhz": 900.0, "graphics_clock_default_mhz": 990.0},
            1.25,
            ("the processor was throttled",),
        ),
        (
            {"graphics_clock_mhz": 500.0, "graphics_clock_default_mhz": 1500.0, "gpu_processes": 1},
            3.0,
            (BELOW, SHARED),
        ),
        ({"gpu_processes": 2, "stood_still_s": 3.0, "others_cpu_percent": 30.0}, 2.0, (OTHERS, STILL, SHARED)),
        ({"others_cpu_percent": 30.0, "involuntary_switches": 1000}, 1.3, (OTHERS,)),
        ({"beside": 3}, 1.0, ()),
    ],
)
def test_each_mark_has_its_factor_and_the_worst_counts(
    readings: dict[str, Any], by: float, why: tuple[str, ...]
) -> None:
    found = slowest(Environment(**{"processors": 2} | readings), device="cuda:0")
    assert (found.by, found.why) == (pytest.approx(by), why)


@pytest.mark.parametrize(
    ("share", "by"), [(None, 1.0), (0.0, 1.0), (0.05, 20.0), (0.5, 2.0), (0.8, 1.25), (0.9, 1.0), (3.5, 1.0)]
)
def test_a_worker_that_waited_for_a_processor_was_slowed_by_as_much(share: float | None, by: float) -> None:
    environment = around(worker_cpu=share)
    assert slowest(environment) == Slowdown(pytest.approx(by), (SHARED_PROCESSOR,) if by > 1 else ())
    assert slowest(environment, device="cuda:0") == Slowdown()
    assert slowest(environment, device="unknown") == Slowdown()


def test_what_slowed_a_worker_most_counts_and_all_is_told() -> None:
    environment = around(worker_cpu=0.8, others_cpu_percent=80.0)
    assert slowest(environment) == Slowdown(1.8, (OTHERS, SHARED_PROCESSOR))
    assert slowest(around(worker_cpu=0.5, others_cpu_percent=80.0)).by == 2.0


def test_interruptions_need_the_span_they_were_counted_in() -> None:
    assert slowest(around(involuntary_switches=1000), span_s=(3, 13)).by == 1.25
    assert slowest(around(involuntary_switches=1000), span_s=(3, 14)).by == 1.0
    assert slowest(around(involuntary_switches=1000), span_s=None) == Slowdown()


def test_without_readings_nothing_is_known_to_have_slowed_a_case() -> None:
    for throughout in (True, False):
        assert estimate_slowdown(case(), throughout=throughout) == Slowdown(by=1.0, why=())
        assert estimate_slowdown(case(None), throughout=throughout) == Slowdown()


def test_a_case_was_slowed_in_its_worst_round_or_throughout_as_much_as_in_its_best() -> None:
    quiet, little, much = around(), around(others_cpu_percent=30.0), around(gpu_processes=1)
    assert estimate_slowdown(case(little, much, quiet), throughout=False) == Slowdown(2.0, (SHARED,))
    assert estimate_slowdown(case(little, much, quiet), throughout=True) == Slowdown()
    assert estimate_slowdown(case(little, much, much), throughout=True) == Slowdown(1.3, (OTHERS,))
    assert estimate_slowdown(case(much, None, much), throughout=True) == Slowdown()


def faults(per_step: float | None = 12_566.0, **readings: Any) -> Environment:
    return around(**{"minor_faults_per_step": per_step, "user_ms": 70.0, "system_ms": 30.0} | readings)


@pytest.mark.parametrize(
    ("environment", "marks"),
    [
        (faults(), ("page faults: 12566 per step, 30% of the CPU time in the kernel",)),
        (faults(1000.0), ("page faults: 1000 per step, 30% of the CPU time in the kernel",)),
        (faults(999.0), ()),
        (faults(system_ms=3.6), ()),
        (faults(None), ()),
        (faults(user_ms=None, system_ms=None), ()),
        (faults(user_ms=0.0, system_ms=0.0), ()),
    ],
)
def test_memory_that_each_step_maps_again_is_marked(environment: Environment, marks: tuple[str, ...]) -> None:
    assert disturbances(environment, 2.0) == marks


def test_page_faults_make_no_figure_doubtful() -> None:
    case = CaseState(index=0, config=Config(device="cpu"))
    case.finished = CaseFinished(t=1.0, case=0, outcome="ok", measured_s=(0.0, 2.0), environment=faults())
    assert estimate_slowdown(case, throughout=False) == Slowdown()
    (mark,) = disturbances(faults(), 2.0)
    assert not is_disturbed([mark]) and mark_kind(mark) == "page faults"


def test_page_faults_of_several_rounds_are_one_mark() -> None:
    marks = [disturbances(faults(amount), 2.0) for amount in (12_566.0, 13_001.0)]
    assert merge_round_marks(marks) == (
        "page faults: 13001 per step, 30% of the CPU time in the kernel, in 2 of 2 rounds",
    )
