from benchtui.sessions.stats.distribution import distribution
from benchtui.themes.symbols import ASCII, UNICODE, Symbols
from benchtui.tui.panels.histogram import Histogram, histogram_lines
from benchtui.tui.panels.step_axis import Scale


def drawn(values: list[float], width: int = 50, height: int = 8, symbols: Symbols = UNICODE) -> list[str]:
    spread = distribution(values)
    assert spread is not None
    made = Histogram(Scale(0.0, 20.0), values, spread.median, spread.p99)
    return ["".join(text for text, _ in row) for row in histogram_lines(made, width, height, symbols)]


def test_the_highest_column_is_the_largest_count() -> None:
    rows = drawn([10.5] * 6 + [4.5] * 3)
    assert rows[0].startswith("       6 ┤") and rows[5].startswith("   steps ┤")
    assert rows[0].index("█") - 10 == 20
    assert rows[3][10 + 8 : 10 + 10] == "██" and rows[2][10 + 8] == " "


def test_median_and_p99_are_labeled_below() -> None:
    rows = drawn([5.0] * 95 + [15.0] * 6)
    assert rows[-2].split() == ["0", "▴p50", "▴p99", "20"]


def test_steps_beyond_the_scale_are_counted() -> None:
    rows = drawn([5.0] * 9 + [50.0] * 2)
    assert "2 beyond" in rows[-1]
    assert rows[5].rstrip().endswith("██")


def test_all_steps_are_counted_at_any_width() -> None:
    values = [0.1 * step for step in range(200)]
    from benchtui.tui.panels.histogram import _counts

    made = Histogram(Scale(0.0, 20.0), values)
    assert {sum(_counts(made, Scale(0.0, 20.0), columns)[0]) for columns in (1, 7, 30, 80)} == {200}


def test_histogram_in_ascii_and_without_space() -> None:
    assert all(row.isascii() for row in drawn([5.0] * 9, symbols=ASCII))
    assert drawn([5.0], height=3) == [] and drawn([5.0], width=29) == []
