from benchtui.themes.symbols import UNICODE
from benchtui.tui.panels.signs import Grid, Signs
from benchtui.tui.panels.step_band import Band, Column, Frame, Scale, band_lines, columns


def text(band: Band, width: int = 40, height: int = 7) -> list[str]:
    return ["".join(part for part, _ in row) for row in band_lines(band, width, height, UNICODE)]


def test_steady_steps_do_not_fill_the_height() -> None:
    scale = Scale.around(10.0, 10.0, 10.01)
    assert (scale.low, scale.high) == (9.0, 11.0)


def test_the_scale_has_round_ends_around_all_steps() -> None:
    scale = Scale.around(1.7, 1.84, 2.3)
    assert scale.low <= 1.66 and scale.high >= 2.3
    assert (round(scale.low * 10, 6) % 1, round(scale.high * 10, 6) % 1) == (0, 0)


def test_one_slow_step_does_not_flatten_the_rest() -> None:
    assert Scale.around(10.0, 10.0, 500.0).high <= 20.0


def test_a_column_keeps_minimum_and_maximum() -> None:
    assert columns([5, 1, 9, 2, 7], 5, 3, warmup=False) == [Column(1, 9, False), Column(2, 7, False)]


def test_only_the_first_values_count() -> None:
    assert columns([5, 1, 9], 2, 4, warmup=True) == [Column(1, 5, True)]


def test_the_grid_fits_all_planned_steps() -> None:
    assert Grid.of(25, 76) == Grid(steps=1, cells=3)
    assert Grid.of(76, 76) == Grid(steps=1, cells=1)
    assert Grid.of(77, 76) == Grid(steps=2, cells=1)
    assert Grid.of(0, 76) == Grid(steps=1, cells=4)


def test_a_cell_is_filled_in_eighths() -> None:
    frame = Frame(Scale(0.0, 4.0), 4, None, UNICODE)
    assert [glyph for glyph, _ in frame.cells(Column(2.5, 2.5, False))] == [" ", "▄", "█", "█"]


def test_a_column_is_shaded_above_its_minimum() -> None:
    frame = Frame(Scale(0.0, 4.0), 4, None, UNICODE)
    assert frame.cells(Column(0.5, 2.5, False)) == [
        (" ", "plain"),
        ("▄", "soft"),
        ("█", "soft"),
        ("▄", "haze"),
    ]


def test_warm_up_steps_have_their_own_texture() -> None:
    frame = Frame(Scale(0.0, 2.0), 2, None, UNICODE)
    assert frame.cells(Column(1.5, 1.5, True)) == [("▄", "muted"), ("░", "muted")]


def test_a_step_above_the_scale_is_marked() -> None:
    frame = Frame(Scale(0.0, 2.0), 2, None, UNICODE)
    assert frame.cells(Column(1.0, 9.0, False))[0] == ("▴", "warning")


def test_the_fastest_step_is_still_visible() -> None:
    frame = Frame(Scale(1.0, 2.0), 2, None, UNICODE)
    assert frame.cells(Column(1.0, 1.0, False))[1][0] == "▁"


def test_every_row_is_as_wide_as_the_panel() -> None:
    band = Band([20.0, 11.0], [10.0] * 30, (2, 30), 42, Scale(8.0, 12.0), median=10.0)
    rows = text(band)
    assert len(rows) == 7
    assert {len(row) for row in rows} == {40}
    assert rows[0].startswith("      12.00 ┤") and rows[5].startswith("       8.00 ┤")
    assert any(row.startswith("p50   10.00 ┼") for row in rows)
    assert rows[6].split() == ["warm-up", "2", "steps", "per", "column"]


def test_nothing_is_drawn_without_steps_or_space() -> None:
    empty = Band([], [], (0, 0), 20, None)
    assert text(empty) == []
    assert text(Band([], [1.0], (0, 1), 20, Scale(0, 2)), width=15) == []


def test_a_caption_replaces_missing_steps() -> None:
    (line,) = band_lines(Band((), (), (0, 0), 0, None, caption="reading"), 60, 8, UNICODE)
    assert "".join(text for text, _ in line).strip() == "reading"


def test_more_steps_than_planned_still_fit() -> None:
    rows = text(Band([], [10.0] * 100, (0, 100), 20, Scale(8.0, 12.0)))
    assert "4 steps per column" in rows[-1]


def test_the_scale_of_zero_length_steps_is_not_empty() -> None:
    scale = Scale.around(0.0, 0.0, 0.0)
    assert scale.low < scale.high
    assert scale.level(0.0) == 0.0


def test_the_scale_labels_median_and_p99() -> None:
    rows = text(Band([], [10.0] * 30, (0, 30), 30, Scale(8.0, 12.0), median=10.0, p99=11.9), height=8)
    assert rows[0].startswith("p99   11.90 ┼")
    assert any(row.startswith("p50   10.00 ┼") for row in rows)


def test_annotations_get_a_row_of_signs() -> None:
    signs = Signs(outliers=(3,), throttled=((5, 7),), compiling=(1,), rounds=((2, 10),))
    rows = text(Band([20.0], [10.0] * 20, (1, 20), 21, Scale(8.0, 12.0), signs=signs), width=34 + 63)
    assert rows[0].rstrip() == " " * 13 + "    " + "    C       ▾       T   T               R2"
    assert "▾ 1 outlier" in rows[-1] and "T throttled" in rows[-1] and "C compiling" in rows[-1]


def test_signs_of_many_steps_share_a_column() -> None:
    signs = Signs(outliers=(0, 50, 99))
    rows = text(Band([], [10.0] * 100, (0, 100), 100, Scale(8.0, 12.0), signs=signs), width=23 + 10)
    assert rows[0].strip().count("▾") == 3 and "▾ 3 outliers" in rows[-1]
