from typing import Any

import pytest

from benchtui.sessions.disturbance import disturbances, kind, over_rounds, sharing, throttling
from benchtui.sessions.facts import Environment


def around(**readings: Any) -> Environment:
    return Environment(processors=2, **readings)


@pytest.mark.parametrize(
    ("readings", "marks"),
    [
        ({}, ()),
        ({"others_cpu_percent": 63.0}, ("disturbed: others used 63% of a processor",)),
        ({"others_cpu_percent": 24.9}, ()),
        ({"involuntary_switches": 1000}, ("disturbed: interrupted 500 times a second",)),
        ({"involuntary_switches": 199}, ()),
        ({"involuntary_switches": 1000, "others_cpu_percent": 0.9}, ()),
        (
            {"involuntary_switches": 1000, "others_cpu_percent": 1.0},
            ("disturbed: interrupted 500 times a second",),
        ),
        ({"involuntary_switches": 1000, "beside": 1}, ()),
        ({"others_cpu_percent": 63.0, "beside": 1}, ("disturbed: others used 63% of a processor",)),
        ({"stood_still_s": 3.2}, ("disturbed: stood still for 3 s",)),
        ({"gpu_processes": 0}, ()),
        ({"gpu_processes": 1}, ("shared GPU with 1 other process",)),
        ({"gpu_processes": 2}, ("shared GPU with 2 other processes",)),
    ],
)
def test_others_mark_a_case_of_two_seconds_from_a_threshold_on(
    readings: dict[str, Any], marks: tuple[str, ...]
) -> None:
    assert sharing(around(**readings), 2.0) == marks


def test_a_few_milliseconds_say_nothing_of_a_rate() -> None:
    assert sharing(around(involuntary_switches=30), 0.1) == ()


def test_on_a_large_machine_others_may_use_a_tenth_of_it() -> None:
    assert sharing(Environment(processors=64, others_cpu_percent=600.0), 1.0) == ()
    assert sharing(Environment(processors=64, others_cpu_percent=640.0), 1.0) != ()


@pytest.mark.parametrize(
    ("readings", "marks"),
    [
        ({"throttle": ("sw_power_cap", "app_clocks")}, ()),
        ({"throttle": ("sw_power_cap", "sw_thermal")}, ("throttled: sw_thermal",)),
        ({"throttle": ("hw_power_brake", "hw_slowdown")}, ("throttled: hw_power_brake+hw_slowdown",)),
        ({"sm_clock_mhz": 700.0, "sm_clock_default_mhz": 1000.0}, ("clock at 70% of its default",)),
        ({"sm_clock_mhz": 750.0, "sm_clock_default_mhz": 1000.0}, ()),
        ({"sm_clock_mhz": 100.0}, ()),
    ],
)
def test_heat_brakes_and_low_clocks_mark_a_case(readings: dict[str, Any], marks: tuple[str, ...]) -> None:
    assert throttling(around(**readings)) == marks


def test_a_case_measured_beside_others_of_its_sweep_says_so() -> None:
    beside = around(beside=2, others_cpu_percent=5.0)
    assert disturbances(beside, 1.0) == ("beside 2 of this sweep's cases",)
    unknown = disturbances(around(beside=2), 1.0)
    assert unknown == ("beside 2 of this sweep's cases, and what else ran can't be told from them",)
    assert [kind(mark) for mark in unknown] == ["beside"]
    assert sharing(beside, 1.0) == (), "it is no reason to measure again"


def test_a_case_earns_every_mark_at_once() -> None:
    found = disturbances(around(throttle=("hw_thermal",), gpu_processes=3), 1.0)
    assert found == ("throttled: hw_thermal", "shared GPU with 3 other processes")


def test_over_rounds_the_worst_of_each_disturbance_is_told_with_its_rounds() -> None:
    others = "disturbed: others used {}% of a processor"
    rounds = [
        ("random weights", others.format(63)),
        ("random weights",),
        (others.format(160), "shared GPU with 1 other process"),
    ]
    assert over_rounds(rounds) == (
        "random weights",
        others.format(160) + ", in 2 of 3 rounds",
        "shared GPU with 1 other process, in 1 of 3 rounds",
    )


def test_marks_are_counted_by_kind() -> None:
    marks = ("disturbed: interrupted 500 times a second", "clock at 70% of its default", "random weights")
    assert [kind(mark) for mark in marks] == ["disturbed", "clock", "random weights"]
