"""Groups of columns."""

from array import array

from hypothesis import given
from hypothesis import strategies as st

from benchtui.tui.drawing import array_ops

times = st.lists(st.floats(0, 1e6), min_size=1, max_size=60)


@given(values=times, steps=st.integers(1, 70), data=st.data())
def test_extremes_are_computed_per_group(values: list[float], steps: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(values)))
    cut = [values[:count][at : at + steps] for at in range(0, count, steps)]
    assert array_ops.extremes(array("d", values), count, steps) == [(min(group), max(group)) for group in cut]


@given(values=times, data=st.data())
def test_extremes_of_a_growing_column_are_those_of_the_whole(values: list[float], data: st.DataObject) -> None:
    column, growing = array("d"), array_ops.GrowingExtremes()
    for value in values:
        column.append(value)
        count, steps = data.draw(st.integers(0, len(column))), data.draw(st.integers(1, 4))
        assert growing(column, count, steps) == array_ops.extremes(column, count, steps)
    assert growing(array("d", [7.0]), 1, 1) == [(7.0, 7.0)]


def test_an_array_can_grow_after_numpy_viewed_it() -> None:
    column = array("d", [2.0, 1.0])
    array_ops.extremes(column, 2, 1)
    column.append(3.0)
    assert len(column) == 3
