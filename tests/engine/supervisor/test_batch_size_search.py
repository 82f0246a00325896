"""The search against simulated machines: memory that ends at some size, throughput that levels off."""

import random
from collections.abc import Callable

import pytest

from benchtui.engine.supervisor.batch_size_search import (
    FLAT,
    RESOLUTION,
    NextSize,
    Rate,
    SearchResult,
    Trial,
    flat_doublings,
    next_step,
    rate,
)

Measured = Callable[[int], float]


def known(samples_per_s: float, noise: float = 0.0) -> Rate:
    return Rate(samples_per_s, samples_per_s * (1 - noise), samples_per_s * (1 + noise))


def search(
    fits: int, speed: Measured, *, noise: float = 0.0, predicted: Callable[[int], bool] = lambda size: False
) -> tuple[list[Trial], str]:
    """Run a search to its end on a machine that holds so many samples; gives its trials and what was found."""
    trials, why, size = list[Trial](), [""], 1
    for _ in range(100):
        ok = size <= fits
        trials.append(Trial(size, "ok" if ok else "oom", known(speed(size), noise) if ok else None))
        step = next_step(trials, lambda size: "predicted" if predicted(size) else None)
        if isinstance(step, SearchResult):
            return trials, step.text
        size = step.size
        why.append(step.why)
    raise AssertionError("the search never ends")


def sizes(trials: list[Trial]) -> list[int]:
    return [trial.size for trial in trials]


def linear(size: int) -> float:
    return 100.0 * size


def levelling(size: int) -> float:
    """The time of a step is fixed plus proportional: 32 samples take twice the time of none."""
    return 1000 * size / (32 + size)


def test_it_doubles_and_then_bisects() -> None:
    trials, text = search(100, linear)
    assert sizes(trials) == [1, 2, 4, 8, 16, 32, 64, 128, 96, 112, 104, 100]
    assert text == "largest that fits 100 (104 ran out of memory); most samples/s at 100"


def test_each_step_says_how_it_came_to_its_size() -> None:
    assert next_step([Trial(1, "ok")], lambda size: None) == NextSize(2, "auto: doubling")
    trials = [Trial(4, "ok"), Trial(8, "oom")]
    assert next_step(trials, lambda size: None) == NextSize(6, "auto: bisecting between 4 and 8")


@pytest.mark.parametrize("fits", [1, 2, 3, 5, 31, 32, 33, 63, 100, 777, 4096, 5000, 100_003])
def test_the_largest_that_fits_is_known_to_a_sixteenth(fits: int) -> None:
    trials, text = search(fits, linear)
    found = max(trial.size for trial in trials if trial.outcome == "ok")
    refused = min(trial.size for trial in trials if trial.outcome == "oom")
    assert found <= fits < refused <= found + max(1, found / RESOLUTION)
    assert len(set(sizes(trials))) == len(trials), "no size is run twice"
    assert len(trials) <= fits.bit_length() + 1 + 4, "at most four cases of bisecting"
    assert text.startswith(f"largest that fits {found:,} ({refused:,} ran out of memory)")


def test_not_even_one_sample_fits() -> None:
    assert search(0, linear)[1] == "batch size 1 ran out of memory"


def test_it_ends_where_throughput_levels_off() -> None:
    trials, text = search(10**8, levelling)
    assert sizes(trials)[-1] == 2048
    assert text == (
        "2,048 fits, and larger ones weren't run: throughput grew by less than 5% over the last 2 doublings;"
        " most samples/s at 2,048"
    )


def test_a_plateau_that_falls_names_the_size_before_it() -> None:
    trials, text = search(10**8, lambda size: linear(min(size, 64)) - size)
    assert sizes(trials)[-1] == 256
    assert text.endswith("most samples/s at 64")


def test_small_gains_add_up() -> None:
    """3% a doubling is no gain for one doubling, and one for two."""
    rates = [1.03**place for place in range(10)]
    trials = [Trial(2**place, "ok", known(each)) for place, each in enumerate(rates)]
    assert all(flat_doublings(trials[:length]) is None for length in range(1, 11))


def test_noise_that_could_hide_a_gain_asks_for_a_third_doubling() -> None:
    flat = [Trial(1, "ok", known(100.0, 0.04)), *(Trial(2**n, "ok", known(101.0, 0.04)) for n in (1, 2, 3))]
    assert flat_doublings(flat[:3]) is None
    assert flat_doublings(flat) == FLAT
    quiet = [Trial(1, "ok", known(100.0, 0.01)), *(Trial(2**n, "ok", known(101.0, 0.01)) for n in (1, 2))]
    assert flat_doublings(quiet) == 2


def test_a_slow_first_doubling_does_not_end_it() -> None:
    speeds = {1: 100.0, 2: 101.0, 4: 200.0, 8: 400.0, 16: 400.0, 32: 400.0}
    trials, _ = search(10**8, lambda size: speeds[size])
    assert sizes(trials) == [1, 2, 4, 8, 16, 32]


@pytest.mark.parametrize("seed", range(20))
def test_noisy_throughput_still_ends_near_the_plateau(seed: int) -> None:
    drawn = random.Random(seed)
    trials, _ = search(10**8, lambda size: levelling(size) * drawn.uniform(0.98, 1.02), noise=0.02)
    assert 256 <= sizes(trials)[-1] <= 2**15


def test_a_prediction_saves_a_case_that_would_run_out_of_memory() -> None:
    trials, text = search(100, linear, predicted=lambda size: size > 100)
    assert sizes(trials) == [1, 2, 4, 8, 16, 32, 64, 96]
    assert text == "largest that fits 96 (102 not run: predicted); most samples/s at 96"


def test_a_prediction_alone_that_ends_the_search_is_named() -> None:
    trials, text = search(10**8, linear, predicted=lambda size: size > 16)
    assert sizes(trials) == [1, 2, 4, 8, 16]
    assert text == "largest that fits 16 (17 not run: predicted); most samples/s at 16"


def test_a_wrong_prediction_is_corrected_by_what_runs_out() -> None:
    trials, text = search(90, linear, predicted=lambda size: size > 120)
    assert [trial.size for trial in trials if trial.outcome == "oom"] == [96, 92]
    assert "(92 ran out of memory)" in text


def test_any_other_end_ends_the_search_and_tells_what_is_known() -> None:
    trials = [
        Trial(1, "ok", known(10.0)),
        Trial(2, "ok", known(18.0)),
        Trial(4, "timeout", reason="still running after 5 s"),
    ]
    assert next_step(trials, lambda size: None) == SearchResult(
        "ended with batch size 4 (timeout: still running after 5 s); largest that fitted 2; most samples/s at 2"
    )
    assert next_step([Trial(1, "failed")], lambda size: None) == SearchResult(
        "ended with batch size 1 (failed)"
    )


def test_cases_without_a_rate_are_doubled_until_memory_ends() -> None:
    trials = [Trial(2**place, "ok") for place in range(8)]
    assert next_step(trials, lambda size: None) == NextSize(256, "auto: doubling")


def test_the_rate_is_samples_over_time_with_the_noise_of_blocks() -> None:
    steady = rate([2.0] * 20, samples=8)
    assert steady == Rate(4000.0, 4000.0, 4000.0)
    drawn = random.Random(1)
    noisy = rate([drawn.gauss(2.0, 0.2) for _ in range(40)], samples=8)
    assert noisy is not None and noisy.low < noisy.samples_per_s < noisy.high
    assert noisy.high / noisy.low == pytest.approx(1 + 4 * 0.1 / 40**0.5, rel=0.05)


def test_too_few_blocks_leave_the_noise_open() -> None:
    assert rate([2.0] * 20, samples=1, least_block=16) == Rate(500.0)
    assert rate([2.0], samples=1) == Rate(500.0)
    assert rate([], samples=1) is None
    assert rate([0.0], samples=1) is None
