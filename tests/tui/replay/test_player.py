"""Replay clock and seek targets, with a fake clock."""

from typing import Any

from benchtui.tui.replay.player import SPEEDS, Player, StepAcceleration


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


def test_playback_stops_at_the_end_and_restarts_from_the_beginning(clock: Any) -> None:
    player = Player(clock)
    clock.now_s += 50
    assert not player.ended
    player.end_s = 20.0
    assert player.ended and player.position_s == 20.0
    player.toggle()
    assert (player.playing, player.position_s, player.ended) == (True, 0.0, False)


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
