"""The search against simulated machines: memory that ends at some size, throughput that levels off."""

import random
from collections.abc import Callable

import pytest

from benchtui.engine.supervisor.batch_size_search import (
    MAX_FLAT_DOUBLINGS,
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


def test_search_doubles_and_then_bisects() -> None:
    trials, text = search(100, linear)
    assert sizes(trials) == [1, 2, 4, 8, 16, 32, 64, 128, 96, 112, 104, 100]
    assert text == "largest that fits 100 (104 ran out of memory); highest throughput at 100"


def test_each_step_explains_its_size() -> None:
    assert next_step([Trial(1, "ok")], lambda size: None) == NextSize(2, "auto: doubling")
    trials = [Trial(4, "ok"), Trial(8, "oom")]
    assert next_step(trials, lambda size: None) == NextSize(6, "auto: bisecting between 4 and 8")


@pytest.mark.parametrize("fits", [1, 2, 3, 5, 31, 32, 33, 63, 100, 777, 4096, 5000, 100_003])
def test_largest_fit_is_determined_to_a_sixteenth(fits: int) -> None:
    trials, text = search(fits, linear)
    found = max(trial.size for trial in trials if trial.outcome == "ok")
    refused = min(trial.size for trial in trials if trial.outcome == "oom")
    assert found <= fits < refused <= found + max(1, found / RESOLUTION)
    assert len(set(sizes(trials))) == len(trials), "no size is run twice"
    assert len(trials) <= fits.bit_length() + 1 + 4, "at most four cases of bisecting"
    assert text.startswith(f"largest that fits {found:,} ({refused:,} ran out of memory)")


def test_search_ends_if_one_sample_does_not_fit() -> None:
    assert search(0, linear)[1] == "batch size 1 ran out of memory"


def test_search_ends_when_throughput_levels_off() -> None:
    trials, text = search(10**8, levelling)
    assert sizes(trials)[-1] == 2048
    assert text == (
        "2,048 fits; larger batch sizes not run because throughput grew by less than 5% over the last 2"
        " doublings; highest throughput at 2,048"
    )


def test_falling_throughput_reports_the_fastest_size() -> None:
    trials, text = search(10**8, lambda size: linear(min(size, 64)) - size)
    assert sizes(trials)[-1] == 256
    assert text.endswith("highest throughput at 64")


def test_small_gains_add_up() -> None:
    """3% a doubling is no gain for one doubling, and one for two."""
    rates = [1.03**place for place in range(10)]
    trials = [Trial(2**place, "ok", known(each)) for place, each in enumerate(rates)]
    assert all(flat_doublings(trials[:length]) is None for length in range(1, 11))


def test_noise_that_may_hide_a_gain_requires_a_third_doubling() -> None:
    flat = [Trial(1, "ok", known(100.0, 0.04)), *(Trial(2**n, "ok", known(101.0, 0.04)) for n in (1, 2, 3))]
    assert flat_doublings(flat[:3]) is None
    assert flat_doublings(flat) == MAX_FLAT_DOUBLINGS
    quiet = [Trial(1, "ok", known(100.0, 0.01)), *(Trial(2**n, "ok", known(101.0, 0.01)) for n in (1, 2))]
    assert flat_doublings(quiet) == 2


def test_one_flat_doubling_does_not_end_the_search() -> None:
    speeds = {1: 100.0, 2: 101.0, 4: 200.0, 8: 400.0, 16: 400.0, 32: 400.0}
    trials, _ = search(10**8, lambda size: speeds[size])
    assert sizes(trials) == [1, 2, 4, 8, 16, 32]


@pytest.mark.parametrize("seed", range(20))
def test_noisy_throughput_still_ends_near_the_plateau(seed: int) -> None:
    drawn = random.Random(seed)
    trials, _ = search(10**8, lambda size: levelling(size) * drawn.uniform(0.98, 1.02), noise=0.02)
    assert 256 <= sizes(trials)[-1] <= 2**15


def test_predicted_out_of_memory_size_is_not_run() -> None:
    trials, text = search(100, linear, predicted=lambda size: size > 100)
    assert sizes(trials) == [1, 2, 4, 8, 16, 32, 64, 96]
    assert text == "largest that fits 96 (102 not run: predicted); highest throughput at 96"


def test_search_ended_by_a_prediction_says_so() -> None:
    trials, text = search(10**8, linear, predicted=lambda size: size > 16)
    assert sizes(trials) == [1, 2, 4, 8, 16]
    assert text == "largest that fits 16 (17 not run: predicted); highest throughput at 16"


def test_wrong_prediction_is_corrected_by_an_out_of_memory_case() -> None:
    trials, text = search(90, linear, predicted=lambda size: size > 120)
    assert [trial.size for trial in trials if trial.outcome == "oom"] == [96, 92]
    assert "(92 ran out of memory)" in text


def test_other_outcomes_end_the_search_with_the_known_results() -> None:
    trials = [
        Trial(1, "ok", known(10.0)),
        Trial(2, "ok", known(18.0)),
        Trial(4, "timeout", reason="still running after 5 s"),
    ]
    assert next_step(trials, lambda size: None) == SearchResult(
        "stopped at batch size 4 (timeout: still running after 5 s); largest so far 2; highest throughput at 2"
    )
    assert next_step([Trial(1, "failed")], lambda size: None) == SearchResult(
        "stopped at batch size 1 (failed)"
    )


def test_cases_without_a_rate_double_until_out_of_memory() -> None:
    trials = [Trial(2**place, "ok") for place in range(8)]
    assert next_step(trials, lambda size: None) == NextSize(256, "auto: doubling")


def test_rate_is_samples_over_time_with_block_noise() -> None:
    steady = rate([2.0] * 20, samples=8)
    assert steady == Rate(4000.0, 4000.0, 4000.0)
    drawn = random.Random(1)
    noisy = rate([drawn.gauss(2.0, 0.2) for _ in range(40)], samples=8)
    assert noisy is not None and noisy.low < noisy.samples_per_s < noisy.high
    assert noisy.high / noisy.low == pytest.approx(1 + 4 * 0.1 / 40**0.5, rel=0.05)


def test_too_few_blocks_leave_the_noise_unknown() -> None:
    assert rate([2.0] * 20, samples=1, least_block=16) == Rate(500.0)
    assert rate([2.0], samples=1) == Rate(500.0)
    assert rate([], samples=1) is None
    assert rate([0.0], samples=1) is None


def test_no_size_beyond_the_cap_is_run() -> None:
    trials = [Trial(size, "ok") for size in (1, 2, 4)]
    assert next_step(trials, lambda size: None, most=6) == NextSize(6, "auto: doubling")
    assert next_step([*trials, Trial(6, "ok")], lambda size: None, most=6) == SearchResult(
        "largest that fits 6 (the maximum allowed)"
    )
