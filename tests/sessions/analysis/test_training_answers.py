"""Training answers, on curves made of exact numbers and noise."""

from typing import Any

import numpy
import pytest

from benchtui.sessions.analysis.training_answers import Distance, compare_training
from benchtui.sessions.errors import BenchtuiError

STEPS = 6
LIMITS = Distance(1e-5, 0.002, 0.002)
COARSE = Distance(0.002, 0.02, 0.02)


def curves(*, drop: float = 1.0, start: float = 10.0, norm: float = 2.0, trained: float = 100.0) -> Any:
    """Losses that fall evenly, of one seed."""
    losses = start - drop * numpy.arange(STEPS) / (STEPS - 1)
    return numpy.stack([losses, numpy.full(STEPS, norm), numpy.full(STEPS, trained)], axis=-1)[None]


def seeds(noise: float, first: int = 0, **options: float) -> Any:
    """Three seeds of dropout that each move every loss by chance."""
    made = numpy.repeat(curves(**options), 3, axis=0)
    for seed in range(3):
        drawn = numpy.random.default_rng(first + seed).normal(0, noise, (STEPS, 2))
        made[seed, :, :2] += drawn * (1, 0.1)
    return made


def verdict(base: Any, mine: Any, limits: Distance = LIMITS) -> str:
    return str(compare_training(base, mine, limits)["verdict"])


def test_figures_are_relative_to_the_baseline() -> None:
    figures = compare_training(curves(), curves(drop=0.9, norm=2.1, trained=50), LIMITS)
    assert figures["change_difference"] == pytest.approx(0.1)
    assert figures["gradient_difference"] == pytest.approx(0.05)
    assert (figures["trained_share"], figures["first_difference"]) == (0.5, 1)
    assert figures["loss_difference"] == pytest.approx(0.1 / 9.0)
    assert figures["largest_difference"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("mine", "expected"),
    [
        (curves(), "identical"),
        (curves(drop=1.001), "close"),
        (curves(drop=1.01), "different"),
        (curves(norm=2.01), "different"),
        (curves(trained=99), "different"),
        (curves(drop=-0.2), "broken"),
    ],
)
def test_small_differences_count_without_noise(mine: Any, expected: str) -> None:
    assert verdict(curves(), mine) == expected


def test_another_first_loss_is_different() -> None:
    """Such as dropout that is on in one case only."""
    assert verdict(seeds(0.0), seeds(0.0, start=10.001)) == "different"
    assert verdict(seeds(0.0, drop=0.02), seeds(0.03, drop=0.02)) == "different"


def test_same_random_numbers_are_compared_exactly() -> None:
    """The baseline's seeds differ by 5% of its change, but both cases drew the same numbers."""
    base = seeds(0.05)
    mine = base.copy()
    mine[..., 0] += 0.01 * (base[..., 0] - base[:, :1, 0])
    assert verdict(base, mine) == "different"


def test_other_random_numbers_are_compared_with_the_noise_of_the_seeds() -> None:
    """Equal training is CLOSE in about 99 of 100 pairs."""
    pairs = [(seeds(0.02, first), first + 3) for first in range(0, 1200, 6)]
    found = [verdict(base, seeds(0.02, other)) for base, other in pairs]
    assert found.count("close") >= 196
    assert {verdict(base, seeds(0.02, other, drop=2.0)) for base, other in pairs} == {"different"}


def test_a_change_within_the_noise_shows_nothing() -> None:
    with pytest.raises(BenchtuiError, match=r"^can't tell in 6 steps: the baseline's loss changes by 0\.0"):
        verdict(seeds(0.05, drop=0.02), seeds(0.05, 10, drop=0.02))


def test_a_change_within_rounding_errors_shows_nothing() -> None:
    """Such as a learning rate too low for any loss to move."""
    base = curves(drop=1e-3)
    with pytest.raises(BenchtuiError, match=r"noise and rounding by 0\.002$"):
        verdict(base, curves(drop=1.2e-3), COARSE)
    assert verdict(base, curves(drop=0.5), COARSE) == "different"
    assert verdict(base, curves(drop=1e-3), COARSE) == "identical"


def test_one_seed_does_not_show_the_noise() -> None:
    base = seeds(0.05)[:1]
    with pytest.raises(BenchtuiError, match="there was no time for several seeds"):
        verdict(base, seeds(0.05, 10))
    assert verdict(base, curves(trained=99)) == "different"


def test_shorter_runs_are_compared_as_far_as_both_go() -> None:
    base = seeds(0.05)
    assert verdict(base, base[:1, :2]) == "identical"
    assert compare_training(base[:, :3], base[:1] * 1.1, LIMITS)["first_difference"] == 0
