"""Array functions give the same result with and without numpy."""

from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchtui.tui.drawing import array_ops

times = st.lists(st.floats(0, 1e6), min_size=1, max_size=60)


def both_ways(function: Any, *arguments: Any) -> tuple[Any, Any]:
    with pytest.MonkeyPatch.context() as patch:
        plain = function(*arguments)
        patch.setattr(array_ops, "NUMPY_THRESHOLD", 0)
        return plain, function(*arguments)


@given(known=times, more=times)
def test_merged_values_are_sorted(known: list[float], more: list[float]) -> None:
    plain, long = both_ways(array_ops.merged, array("d", sorted(known)), array("d", more))
    assert list(plain) == list(long) == sorted(known + more)


@given(values=times)
def test_total_equals_the_sum(values: list[float]) -> None:
    plain, long = both_ways(array_ops.summed, array("d", values))
    assert plain == pytest.approx(long) == pytest.approx(sum(values))


@given(values=times, steps=st.integers(1, 70), data=st.data())
def test_extremes_are_computed_per_group(values: list[float], steps: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(values)))
    plain, long = both_ways(array_ops.extremes, array("d", values), count, steps)
    cut = [values[:count][at : at + steps] for at in range(0, count, steps)]
    assert plain == long == [(min(group), max(group)) for group in cut]


@given(values=times, data=st.data())
def test_extremes_of_a_growing_column_are_those_of_the_whole(values: list[float], data: st.DataObject) -> None:
    column, growing = array("d"), array_ops.GrowingExtremes()
    for value in values:
        column.append(value)
        count, steps = data.draw(st.integers(0, len(column))), data.draw(st.integers(1, 4))
        assert growing(column, count, steps) == array_ops.extremes(column, count, steps)
    assert growing(array("d", [7.0]), 1, 1) == [(7.0, 7.0)]


@given(values=times, low=st.floats(0, 1e6), high=st.floats(0, 1e6), data=st.data())
def test_indices_outside_the_bounds_are_returned(
    values: list[float], low: float, high: float, data: st.DataObject
) -> None:
    count = data.draw(st.integers(0, len(values)))
    plain, long = both_ways(array_ops.outside, array("d", values), count, low, high)
    assert plain == long == [at for at in range(count) if values[at] < low or values[at] > high]


def test_an_array_can_grow_after_numpy_viewed_it() -> None:
    column = array("d", [2.0, 1.0])
    functions = (
        lambda: array_ops.extremes(column, 2, 1),
        lambda: array_ops.merged(column, [3.0]),
        lambda: array_ops.outside(column, 2, 0.0, 1.5),
    )
    for function in functions:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(array_ops, "NUMPY_THRESHOLD", 0)
            function()
        column.append(3.0)
    assert len(column) == 5
