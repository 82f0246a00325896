"""Replay clock: position, speed, and seek targets as typed by the user."""

import re

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.replay.timeline import Timeline
from benchtui.tui.live.feed import Clock

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
HELD_S = 0.3
"""Maximum seconds between repeats of a key that is held."""
MAX_STEPS_PER_PRESS = 64


class Player:
    """A position in session time that advances with the clock while playing."""

    def __init__(self, clock: Clock, speed: float = 1.0) -> None:
        self.speed = speed
        self.playing = True
        self._clock = clock
        self._from = (clock(), 0.0)
        """A clock time, and the position at that time."""
        self.end_s: float | None = None
        """End of the recording; None if unknown."""

    @property
    def position_s(self) -> float:
        """Position in seconds of session time. Capped at the end, once that is known."""
        seen_s, position_s = self._from
        if self.playing:
            position_s += (self._clock() - seen_s) * self.speed
        return position_s if self.end_s is None else min(position_s, self.end_s)

    @property
    def ended(self) -> bool:
        """Whether the position has reached the end."""
        return self.end_s is not None and self.position_s >= self.end_s

    def seek(self, position_s: float) -> None:
        """Go to a position; playing or paused as before."""
        self._from = (self._clock(), max(position_s, 0.0))

    def toggle(self) -> None:
        """Pause or play; at the end, play from the beginning."""
        if self.ended:
            self.seek(0.0)
            self.playing = True
        else:
            self._rebase()
            self.playing = not self.playing

    def pause(self) -> None:
        """Pause at the current position."""
        self._rebase()
        self.playing = False

    def change_speed(self, direction: int) -> None:
        """Play at the next higher or lower speed."""
        self._rebase()
        further = (speed for speed in SPEEDS[::direction] if (speed - self.speed) * direction > 0)
        self.speed = next(further, self.speed)

    def _rebase(self) -> None:
        self._from = (self._clock(), self.position_s)


class StepAcceleration:
    """Acceleration of a step key. The longer the key is held, the more steps per press."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pressed_s = -HELD_S
        self._direction = 0
        self._presses = 0

    def steps(self, direction: int) -> int:
        """Return the steps of this press, signed by direction. While held, they double every four presses."""
        now_s = self._clock()
        held = now_s - self._pressed_s < HELD_S and direction == self._direction
        self._presses = self._presses + 1 if held else 0
        self._pressed_s, self._direction = now_s, direction
        return direction * min(1 << self._presses // 4, MAX_STEPS_PER_PRESS)


class ReplayTarget(msgspec.Struct, frozen=True):
    """A moment to seek to, as named by the user."""

    seconds: float | None = None
    percent: float | None = None
    case: int | None = None
    """Number of a case, counted from 1; the moment is its start."""

    @classmethod
    def parse(cls, text: str) -> "ReplayTarget":
        """Parse ``90``, ``1:30``, ``1:02:03``, ``50%`` or ``case 3``. Raises BenchtuiError otherwise."""
        words = text.strip().lower()
        if match := re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]+)?)\s*%", words):
            if float(match[1]) <= 100:
                return cls(percent=float(match[1]))
        elif match := re.fullmatch(r"case\s*([0-9]{1,9})", words):
            return cls(case=int(match[1]))
        elif match := re.fullmatch(
            r"(?:(?:([0-9]{1,6}):)?([0-9]{1,6}):)?([0-9]{1,9}(?:\.[0-9]+)?)\s*s?", words
        ):
            hours, minutes, seconds = (float(part or 0) for part in match.groups())
            return cls(seconds=hours * 3600 + minutes * 60 + seconds)
        raise BenchtuiError(f"{text!r} is not a position: use 90, 1:30, 50% or case 3")

    def moment(self, timeline: Timeline) -> float:
        """Return the target's session time in seconds. Raises BenchtuiError for a case that never started."""
        if self.percent is not None:
            return timeline.end_s * self.percent / 100
        if self.case is not None:
            mark = timeline.marks.begin_of(self.case - 1)
            if mark is None:
                count = len(timeline.whole.cases)
                raise BenchtuiError(f"case {self.case} never started; the session has {count} cases")
            return mark.t
        return self.seconds or 0.0


class Start(msgspec.Struct, frozen=True):
    """Start of a replay: speed and position."""

    speed: float = 1.0
    target: ReplayTarget | None = None
    """Where to start; None for the beginning."""
