"""Sorted samples, compared with Python's own sorting."""

import random
from bisect import bisect_left, bisect_right

import pytest

from benchtui.tui.live import sorted_samples
from benchtui.tui.live.sorted_samples import SortedSample


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_samples, "CHUNK", 4)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("seed", range(6))
def test_values_added_in_batches_are_sorted(seed: int) -> None:
    draw, made, values = random.Random(seed), SortedSample(), []
    for size in (0, 1, 300, 1, 2, 0, 3, 5, 1, 200, 1):
        batch = [float(draw.randrange(40)) for _ in range(size)]
        made.extend(batch)
        values = sorted(values + batch)
        assert [made[place] for place in range(len(made))] == values
        for value in (-1.0, 0.0, 7.0, 7.5, 39.0, 40.0):
            assert made.below(value) == bisect_left(values, value)
            assert made.up_to(value) == bisect_right(values, value)


@pytest.mark.usefixtures("small_chunks")
def test_chunks_stay_small_wherever_values_are_inserted() -> None:
    made = SortedSample()
    made.extend([float(value) for value in range(1000)])
    for value in (-1.0, 500.5, 2000.0):
        for _ in range(50):
            made.extend([value])
    assert len(made) == 1150
    assert max(map(len, made._chunks)) <= 8
    assert (made[0], made[-1], made.up_to(500.5) - made.below(500.5)) == (-1.0, 2000.0, 50)


def test_an_index_out_of_range_raises() -> None:
    made = SortedSample()
    with pytest.raises(IndexError):
        made[0]
    made.extend([1.0])
    with pytest.raises(IndexError):
        made[1]
    with pytest.raises(IndexError):
        made[-2]
