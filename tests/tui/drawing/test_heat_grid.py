import re

from benchtui.themes.symbols import ASCII, UNICODE, Symbols
from benchtui.tui.drawing.format import compact
from benchtui.tui.drawing.heat_grid import (
    GAP,
    HeatCell,
    HeatGrid,
    Heatmap,
    full_width,
    heatmap_lines,
    map_case_at,
)
from benchtui.tui.drawing.styled_text import width_of

SIZES = tuple(2**power for power in range(12))


def made(grids: int = 1, chosen: tuple[int, int, int] = (0, 0, 0)) -> Heatmap:
    rows = ("128", "512")
    cells = tuple(
        tuple(HeatCell("_", f"{row}{size}", "heat0", case=10_000 * row + size) for size in SIZES)
        for row in (1, 2)
    )
    return Heatmap(
        rows=rows,
        columns=tuple(map(str, SIZES)),
        row_title="seq",
        column_title="batch size",
        grids=tuple(HeatGrid(f"grid{number}", cells) for number in range(grids)),
        chosen=chosen,
        legend=((("legend", "muted"),),),
    )


def text(heatmap: Heatmap, width: int, height: int, symbols: Symbols = UNICODE) -> list[str]:
    return ["".join(piece for piece, _ in line) for line in heatmap_lines(heatmap, width, height, symbols)]


def test_columns_that_do_not_fit_are_dropped_whole_around_the_selected_one() -> None:
    shown = "\n".join(text(made(chosen=(0, 0, 11)), 50, 12))
    assert "columns 8 to 12 of 12" in shown
    assert "22048" in shown and "▸_" in shown


def test_all_columns_are_shown_from_the_full_width_on() -> None:
    heatmap = made()
    assert "columns" not in "".join(text(heatmap, full_width(heatmap), 12))
    assert "columns 1 to" in "".join(text(heatmap, full_width(heatmap) - 1, 12))


def test_selected_grid_is_scrolled_into_view() -> None:
    shown = "\n".join(text(made(6, (5, 1, 0)), 130, 12))
    assert "grid5" in shown and "grid0" not in shown and "more rows" in shown


def test_grids_stand_side_by_side_where_they_fit() -> None:
    heatmap = made(2)
    wide = 2 * full_width(heatmap) + GAP
    assert sum("grid0" in row and "grid1" in row for row in text(heatmap, wide, 12)) == 1
    assert sum("grid0" in row and "grid1" in row for row in text(heatmap, wide - 1, 20)) == 0


def test_lines_fit_the_size() -> None:
    for width, height in ((24, 6), (56, 12), (110, 30), (196, 44)):
        for symbols in (UNICODE, ASCII):
            drawn = heatmap_lines(made(3, (1, 1, 5)), width, height, symbols)
            assert 0 < len(drawn) <= height
            assert all(width_of(line) <= width for line in drawn)


def test_compact_numbers_have_three_digits() -> None:
    values = (0.1234, 5.614, 27.87, 637.4, 9_998.6, 12_345.0, 999_999.0, 2.5e6)
    assert [compact(value) for value in values] == [
        "0.123", "5.61", "27.9", "637", "10.0k", "12.3k", "1,000k", "2.50M",
    ]  # fmt: skip


def test_each_cell_gives_its_case_at_its_position() -> None:
    """In grids side by side and below each other, scrolled, and with columns left out."""
    for heatmap, width, height in ((made(), 90, 12), (made(2), 190, 12), (made(6, (5, 1, 11)), 60, 14)):
        found = 0
        for y, row in enumerate(text(heatmap, width, height)):
            for cell in re.finditer(r"_ *(\d+)", row):
                case = map_case_at(heatmap, (cell.end() - 1, y), (width, height), UNICODE)
                assert case is not None and f"{case // 10_000}{case % 10_000}" == cell[1]
                found += 1
        assert found >= 8
    for outside in ((0, 0), (2, 2), (40, 1), (40, 11), (89, 9)):
        assert map_case_at(made(), outside, (90, 12), UNICODE) is None


def test_cells_grow_to_fill_a_tall_panel() -> None:
    heatmap = made()
    for height, tall in ((12, 4), (44, 8)):
        shown = [map_case_at(heatmap, (10, y), (196, height), UNICODE) for y in range(height)]
        assert shown.count(10_001) == tall
