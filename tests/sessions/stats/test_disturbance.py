from math import inf
from typing import Any

import pytest

from benchtui.sessions.events import CaseFinished, RoundFinished
from benchtui.sessions.payloads import CLOCK_LIMITS, Environment, Neighbor
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.disturbance import (
    SHARED_PROCESSOR,
    Slowdown,
    clock_marks,
    contention_marks,
    disturbances,
    estimate_slowdown,
    in_some_rounds,
    left_out_rounds,
    mark_kind,
    merge_round_marks,
    throttling,
    undisturbed,
    unwatched_marks,
)
from benchtui.sessions.sweep import Config

WHO = ": python3 (alice), make"


def around(**readings: Any) -> Environment:
    return Environment(processors=2, **readings)


USED, WAITED = (
    "disturbed: other processes used {}% CPU",
    "disturbed: waited for a processor for {}% of the time",
)
PYTHON, MAKE = Neighbor(name="python3", user="alice", cpu_percent=90.0), Neighbor(name="make")


@pytest.mark.parametrize(
    ("readings", "marks"),
    [
        ({}, ()),
        ({"others_cpu_percent": 63.0}, (USED.format(63),)),
        ({"others_cpu_percent": 10.0}, (USED.format(10),)),
        ({"others_cpu_percent": 9.9}, ()),
        ({"others_cpu_percent": 63.0, "neighbors": (PYTHON, MAKE, PYTHON)}, (USED.format(63) + WHO,)),
        ({"others_cpu_percent": 63.0, "beside": 1}, (USED.format(63),)),
        ({"stood_still_s": 3.2}, ("disturbed: stalled for 3 s",)),
        ({"gpu_processes": 0}, ()),
        ({"gpu_processes": 1}, ("shared GPU with 1 other process",)),
        ({"gpu_processes": 2, "neighbors": (PYTHON, MAKE)}, ("shared GPU with 2 other processes" + WHO,)),
        ({"gpu_processes": 2, "idle_gpu_processes": 1}, ("shared GPU with 1 other process",)),
        ({"gpu_processes": 1, "idle_gpu_processes": 2}, ()),
    ],
)
def test_others_mark_a_case_of_two_seconds_from_a_threshold_on(
    readings: dict[str, Any], marks: tuple[str, ...]
) -> None:
    assert contention_marks(around(**readings), 2.0) == marks


@pytest.mark.parametrize(
    ("idle_percent", "others_percent", "disturbed"),
    [(None, 10.0, True), (3.0, 12.9, False), (3.0, 13.0, True), (90.0, 19.9, False), (90.0, 20.0, True)],
)
def test_use_by_others_counts_beyond_that_of_the_idle_machine_up_to_as_much_again(
    idle_percent: float | None, others_percent: float, disturbed: bool
) -> None:
    found = around(others_cpu_percent=others_percent, idle_others_cpu_percent=idle_percent)
    assert bool(contention_marks(found, 2.0)) is disturbed


def test_on_a_large_machine_others_may_use_more_of_it() -> None:
    assert contention_marks(Environment(processors=64, others_cpu_percent=319.0), 1.0) == ()
    assert contention_marks(Environment(processors=64, others_cpu_percent=320.0), 1.0) != ()
    assert contention_marks(Environment(others_cpu_percent=5.0), 1.0) != (), (
        "the number of processors isn't known"
    )


WAITING: dict[str, Any] = {"processors": 2, "worker_cpu": 1.9, "run_delay_s": 0.2, "others_cpu_percent": 9.5}
"""Two threads that ran for 3.8 s in 2 s and waited for 0.2 s, as long as others used the processors at most."""


@pytest.mark.parametrize(
    ("readings", "marks"),
    [
        ({}, (WAITED.format(4),)),
        ({"neighbors": (PYTHON, MAKE)}, (WAITED.format(4) + WHO,)),
        ({"run_delay_s": 0.07}, ()),
        ({"run_delay_s": None}, ()),
        ({"others_cpu_percent": 7.01}, (WAITED.format(2),)),
        ({"others_cpu_percent": 6.99}, ()),
        ({"others_cpu_percent": None}, ()),
        ({"others_cpu_percent": 30.0}, (USED.format(30),)),
        ({"idle_others_cpu_percent": 6.0}, ()),
        ({"idle_run_delay_percent": 1.0, "others_cpu_percent": 8.01}, (WAITED.format(3),)),
        ({"idle_run_delay_percent": 1.0, "others_cpu_percent": 7.995}, ()),
        ({"worker_cpu": 0.1, "idle_others_cpu_percent": 5.0}, (WAITED.format(4),)),
        ({"worker_cpu": 1.96, "run_delay_s": 0.08, "others_cpu_percent": 4.5}, ()),
        ({"worker_cpu": None}, (WAITED.format(100),)),
        ({"worker_cpu": None, "idle_others_cpu_percent": 9.5}, ()),
        (
            {"processors": None, "worker_cpu": 0.95, "run_delay_s": 0.1, "others_cpu_percent": 4.0},
            (WAITED.format(3),),
        ),
        ({"idle_run_delay_percent": 90.0, "run_delay_s": 0.15}, ()),
        ({"idle_run_delay_percent": 90.0}, (WAITED.format(4),)),
        ({"quota_stopped_s": 0.15}, ()),
        ({"beside": 1}, ()),
        ({"involuntary_switches": 2440, "run_delay_s": 0.07}, ()),
    ],
)
def test_threads_that_waited_while_others_ran_mark_a_case(
    readings: dict[str, Any], marks: tuple[str, ...]
) -> None:
    assert contention_marks(Environment(**WAITING | readings), 2.0) == marks


def test_threads_that_wait_for_each_other_or_for_the_engine_are_no_disturbance() -> None:
    many = around(worker_cpu=1.95, run_delay_s=27.0, others_cpu_percent=3.0, idle_others_cpu_percent=2.0)
    assert disturbances(many, 2.0) == (), "sixteen threads on two processors"
    spinning = around(worker_cpu=1.9, run_delay_s=0.3, others_cpu_percent=1.5, involuntary_switches=2440)
    assert disturbances(spinning, 2.0) == (), "the engine's sampler ran in between"
    tokenizers = Environment(processors=16, worker_cpu=2.943, run_delay_s=0.188, others_cpu_percent=39.3)
    assert disturbances(tokenizers, 0.59) == (), "threads that waited for each other, with 13 processors idle"
    unlucky = Environment(processors=16, worker_cpu=0.7, run_delay_s=0.6, others_cpu_percent=60.0)
    assert disturbances(unlucky, 2.0) == (WAITED.format(14),), "a thread that shared a processor all the same"
    sleeping = around(worker_cpu=0.1, run_delay_s=0.0004, others_cpu_percent=4.0)
    assert disturbances(sleeping, 2.0) == () and slowest(sleeping) == Slowdown()


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
    [
        (50, 40, (QUOTA,)),
        (1000, 10, (QUOTA.replace("80%", "1%"),)),
        (1000, 9, ()),
        (50, 0, ()),
        (None, None, ()),
        (0, 0, ()),
    ],
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


@pytest.mark.parametrize(
    ("unread", "marks"),
    [
        ((), ()),
        (("clock",), ("unwatched: no reading of the GPU's clock in 0.25 s",)),
        (("clock", "power"), ("unwatched: no reading of the GPU's clock and power in 0.25 s",)),
    ],
)
def test_readings_of_a_gpu_that_are_missing_are_named(unread: tuple[str, ...], marks: tuple[str, ...]) -> None:
    assert unwatched_marks(unread, 0.251) == marks


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


def test_names_do_not_tell_one_disturbance_from_another() -> None:
    rounds = [
        contention_marks(around(others_cpu_percent=percent, neighbors=names), 2.0)
        for percent, names in ((20.0, (MAKE,)), (98.0, (PYTHON, MAKE)), (3.0, ()))
    ]
    (mark,) = merge_round_marks(rounds)
    assert mark == USED.format(98) + WHO + ", in 2 of 3 rounds"
    assert mark_kind(mark) == "disturbed" and in_some_rounds(mark)


def test_changed_files_are_counted_by_round_and_by_kind() -> None:
    mark = "changed: a.py (11111111; in case 1, 00000000)"
    assert merge_round_marks([[], [mark], [mark]]) == (f"{mark}, in 2 of 3 rounds",)
    assert (mark_kind(mark), in_some_rounds(mark)) == ("changed", False)
    assert in_some_rounds(f"{mark}, in 2 of 3 rounds") and not in_some_rounds(f"{mark}, in 3 of 3 rounds")


def test_marks_are_counted_by_kind() -> None:
    marks = ("disturbed: stalled for 500 s", "clock at 70% of its default", "random weights")
    assert [mark_kind(mark) for mark in marks] == ["disturbed", "clock", "random weights"]


def test_of_disturbances_without_a_figure_the_first_is_told() -> None:
    rounds = [("throttled: hw_thermal",), ("throttled: hw_thermal",), ("throttled: sw_thermal",)]
    assert merge_round_marks(rounds) == (
        "throttled: hw_thermal, in 2 of 3 rounds",
        "throttled: sw_thermal, in 1 of 3 rounds",
    )


def test_marks_merged_before_are_merged_again_with_all_their_rounds() -> None:
    others = "disturbed: other processes used {}% CPU"
    before = [(f"{others.format(90)}, in 2 of 3 rounds",), (others.format(63),)]
    assert merge_round_marks(before, total=4) == (f"{others.format(90)}, in 3 of 4 rounds",)


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


OTHERS, SHARED, STILL = ("other processes were running", "another process used the GPU", "the machine stalled")
THROTTLED, BELOW = "the GPU was throttled", "the GPU ran below its default clock"


@pytest.mark.parametrize(
    ("readings", "by", "why"),
    [
        ({}, 1.0, ()),
        ({"others_cpu_percent": 9.9}, 1.0, ()),
        ({"others_cpu_percent": 80.0}, inf, (OTHERS,)),
        ({"others_cpu_percent": 80.0, "neighbors": (PYTHON, MAKE)}, inf, (OTHERS + WHO,)),
        (WAITING, inf, (SHARED_PROCESSOR,)),
        ({"stood_still_s": 3.0}, 1.25, (STILL,)),
        ({"gpu_processes": 1}, inf, (SHARED,)),
        ({"gpu_processes": 1, "neighbors": (Neighbor(name="throttled"),)}, inf, (f"{SHARED}: throttled",)),
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
            inf,
            (BELOW, SHARED),
        ),
        ({"gpu_processes": 2, "stood_still_s": 3.0, "others_cpu_percent": 30.0}, inf, (OTHERS, SHARED, STILL)),
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


def test_time_that_a_worker_did_not_run_is_no_wait_where_the_kernel_counts_waits() -> None:
    assert slowest(around(worker_cpu=0.5, run_delay_s=0.001, others_cpu_percent=2.0)) == Slowdown()
    assert slowest(around(worker_cpu=0.5, others_cpu_percent=2.0)).by == 2.0
    assert slowest(Environment(**WAITING), span_s=None) == Slowdown(), "nobody knows how long it ran"


def test_all_that_slowed_a_worker_is_told() -> None:
    assert slowest(around(worker_cpu=0.8, others_cpu_percent=80.0)) == Slowdown(inf, (OTHERS, SHARED_PROCESSOR))


def test_without_readings_nothing_is_known_to_have_slowed_a_case() -> None:
    for throughout in (True, False):
        assert estimate_slowdown(case(), throughout=throughout) == Slowdown(by=1.0, why=())
        assert estimate_slowdown(case(None), throughout=throughout) == Slowdown()


QUIET, HOT, BUSY = around(), around(throttle=("hw_thermal",)), around(gpu_processes=1)


def test_rounds_beside_neighbors_do_not_count_if_there_are_others() -> None:
    throttled = Slowdown(1.25, (THROTTLED,))
    for rounds, left_out, worst, best in (
        ((HOT, BUSY, QUIET), {1}, throttled, Slowdown()),
        ((BUSY, BUSY, HOT), {0, 1}, throttled, throttled),
        ((BUSY, None, BUSY), {0, 2}, Slowdown(), Slowdown()),
        ((HOT, QUIET), set(), throttled, Slowdown()),
        ((BUSY, BUSY), set(), Slowdown(inf, (SHARED,)), Slowdown(inf, (SHARED,))),
    ):
        measured = case(*rounds)
        assert left_out_rounds(measured) == left_out
        assert estimate_slowdown(measured, throughout=False) == worst
        assert estimate_slowdown(measured, throughout=True) == best


@pytest.mark.parametrize(
    ("rounds", "values", "clean"),
    [
        ((QUIET, QUIET), "ab", "ab"),
        ((QUIET, HOT), "ab", "a"),
        ((HOT, HOT), "ab", ""),
        ((QUIET, BUSY, HOT, QUIET), "abcd", "ad"),
        ((QUIET, BUSY, HOT, QUIET), "acd", "ad"),
        ((BUSY, BUSY), "ab", ""),
        ((QUIET, QUIET), "abc", "abc"),
        ((QUIET, HOT), "abc", ""),
    ],
)
def test_values_of_the_rounds_that_nothing_disturbed_are_left(
    rounds: tuple[Environment, ...], values: str, clean: str
) -> None:
    """Either all rounds have a value or those without neighbors do; else nothing tells which is whose."""
    found = undisturbed(case(*rounds), values)
    assert found is None if not clean else list(found or ()) == list(clean)


def faults(per_step: float | None = 12_566.0, **readings: Any) -> Environment:
    return around(**{"minor_faults_per_step": per_step, "user_ms": 70.0, "system_ms": 30.0} | readings)


@pytest.mark.parametrize(
    ("environment", "marks"),
    [
        (faults(), ("page faults: 12,566 per step, 30% of the CPU time in the kernel",)),
        (
            faults(1000.0, user_ms=10.0, system_ms=90.0),
            ("page faults: 1,000 per step, 90% of the CPU time in the kernel",),
        ),
        (faults(999.0), ()),
        (
            faults(user_ms=95.0, system_ms=5.0),
            ("page faults: 12,566 per step, 5% of the CPU time in the kernel",),
        ),
        (faults(user_ms=95.0, system_ms=4.9), ()),
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
    assert mark_kind(mark) == "page faults"


def test_page_faults_of_several_rounds_are_one_mark() -> None:
    marks = [disturbances(faults(amount), 2.0) for amount in (12_566.0, 1_013_001.0, 1_013_009.0, 999_000.0)]
    assert merge_round_marks(marks) == (
        "page faults: 1,013,009 per step, 30% of the CPU time in the kernel, in 4 of 4 rounds",
    )
