"""Replay clock and seek targets, with a fake clock."""

from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.replay.timeline import Timeline
from benchtui.tui.replay.player import SPEEDS, Player, ReplayTarget, StepAcceleration


def test_the_position_advances_at_the_playback_speed(clock: Any) -> None:
    player = Player(clock, 4.0)
    clock.now_s += 2
    assert player.position_s == 8.0
    player.change_speed(-1)
    clock.now_s += 1
    assert (player.speed, player.position_s) == (2.0, 10.0)
    player.change_speed(1)
    player.change_speed(1)
    clock.now_s += 1
    assert (player.speed, player.position_s) == (8.0, 18.0)


def test_the_position_does_not_change_while_paused(clock: Any) -> None:
    player = Player(clock)
    clock.now_s += 3
    player.toggle()
    clock.now_s += 100
    assert (player.playing, player.position_s) == (False, 3.0)
    player.toggle()
    clock.now_s += 1
    assert player.position_s == 4.0


def test_playback_stops_at_the_end_and_restarts_from_the_beginning(clock: Any) -> None:
    player = Player(clock)
    clock.now_s += 50
    assert not player.ended
    player.end_at(20.0)
    assert player.ended and player.position_s == 20.0
    player.toggle()
    assert (player.playing, player.position_s, player.ended) == (True, 0.0, False)


def test_seeking_before_the_beginning_stops_there(clock: Any) -> None:
    player = Player(clock)
    player.end_at(20.0)
    for to_s, at_s in ((12.5, 12.5), (-3.0, 0.0), (90.0, 20.0)):
        player.seek(to_s)
        assert player.position_s == at_s


def test_speed_is_limited_to_a_quarter_and_64(clock: Any) -> None:
    player = Player(clock)
    for _ in range(20):
        player.change_speed(1)
    assert player.speed == 64.0
    for _ in range(20):
        player.change_speed(-1)
    assert player.speed == 0.25 == SPEEDS[0]


def test_a_held_key_takes_increasing_steps(clock: Any) -> None:
    stride = StepAcceleration(clock)
    taken = []
    for _ in range(40):
        clock.now_s += 0.05
        taken.append(stride.steps(-1))
    assert taken[:9] == [-1, -1, -1, -1, -2, -2, -2, -2, -4]
    assert min(taken) == -64
    assert stride.steps(1) == 1
    clock.now_s += 1
    assert stride.steps(1) == 1


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("90", ReplayTarget(seconds=90.0)),
        (" 12.5 s", ReplayTarget(seconds=12.5)),
        ("1:30", ReplayTarget(seconds=90.0)),
        ("90:00", ReplayTarget(seconds=5400.0)),
        ("1:02:03.5", ReplayTarget(seconds=3723.5)),
        ("50%", ReplayTarget(percent=50.0)),
        ("12.5 %", ReplayTarget(percent=12.5)),
        ("case 3", ReplayTarget(case=3)),
        ("Case3", ReplayTarget(case=3)),
    ],
)
def test_a_target_is_a_time_a_percentage_or_a_case(text: str, target: ReplayTarget) -> None:
    assert ReplayTarget.parse(text) == target


@pytest.mark.parametrize(
    "text", ["", "x", "-3", "101%", "1:2:3:4", "case", "case x", "1e9", "nan", "٣", "9" * 400]
)
def test_an_invalid_target_is_rejected_with_the_valid_forms(text: str) -> None:
    with pytest.raises(BenchtuiError, match="is not a position: use 90, 1:30, 50% or case 3"):
        ReplayTarget.parse(text)


def test_percentages_and_cases_are_resolved_in_the_recording(story: Any, tmp_path: Path) -> None:
    story.begin().wait(10.0).case(0).wait(5.0).start(1).wait(4.0).say("hm")
    timeline = Timeline(story.path)
    while not timeline.complete:
        timeline.read()
    end_s = timeline.end_s
    assert ReplayTarget(percent=25.0).moment(timeline) == end_s / 4
    assert ReplayTarget(case=1).moment(timeline) == 10.0
    assert ReplayTarget(case=2).moment(timeline) == end_s - 4.0
    with pytest.raises(BenchtuiError, match="case 3 never started; the session has 3 cases"):
        ReplayTarget(case=3).moment(timeline)
    timeline.close()
