"""Limits of the rules by which a search leaves cases out."""

from math import nextafter
from typing import Any

import pytest

from benchtui.sessions.advice import elimination
from benchtui.sessions.advice.elimination import contests, worth_rounds
from benchtui.sessions.advice.open_questions import About, OpenQuestion
from benchtui.sessions.stats.sampling import Bounds
from benchtui.sessions.stats.verdicts import Ratio


def bounded(low: float) -> Ratio:
    return Ratio(1.0, Bounds(1.0, low, 1.5, low, 1.5))


@pytest.mark.parametrize(
    ("ratio", "contested"),
    [
        (bounded(1 / 1.03), False),
        (bounded(nextafter(1 / 1.03, 0)), True),
        (Ratio(1.1), False),
        (Ratio(nextafter(1.1, 0)), True),
        (Ratio(0.5), True),
        (Ratio(5.0, outside=("other processes were running",)), True),
    ],
)
def test_rival_stays_if_it_may_be_three_percent_better_or_is_near_without_an_interval(
    monkeypatch: pytest.MonkeyPatch, ratio: Ratio, contested: bool
) -> None:
    pair: Any = ("best", "the rival", "the best", ratio)
    monkeypatch.setattr(elimination, "choices", lambda decisions: iter([pair]))
    assert list(contests([])) == ([pair] if contested else [])


def asked(about: About, **fields: Any) -> OpenQuestion:
    return OpenQuestion(about=(about,), cases=(), **fields)


def test_gain_of_the_best_case_comes_after_its_likeliest_rival() -> None:
    rivals = [asked("best", rounds=rounds) for rounds in (3, 4)]
    close = [asked("best", obstacle=obstacle) for obstacle in ("close", "many rounds")]
    gain, hopeless = asked("verdict", rounds=5), asked("best", obstacle="steps")
    questions = [hopeless, *rivals, *close, asked("best", rounds=9), gain]
    assert worth_rounds(questions) == [rivals[0], gain, rivals[1], *close]
