import pytest

from benchtui.engine.devices.cuda import union_length


@pytest.mark.parametrize(
    ("spans", "length"),
    [
        ([], 0.0),
        ([(1.0, 3.0)], 2.0),
        ([(5.0, 6.0), (1.0, 3.0)], 3.0),
        ([(1.0, 3.0), (2.0, 4.0)], 3.0),
        ([(1.0, 9.0), (2.0, 3.0), (4.0, 5.0)], 8.0),
        ([(1.0, 2.0), (2.0, 3.0), (2.0, 2.0)], 2.0),
        ([(-3.0, -1.0)], 2.0),
    ],
)
def test_overlapping_spans_count_once(spans: list[tuple[float, float]], length: float) -> None:
    assert union_length(spans) == length
