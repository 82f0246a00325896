from msgspec.structs import replace

from benchtui.themes.symbols import ASCII, UNICODE, Symbols
from benchtui.tui.drawing.heat_grid import HeatCell, HeatGrid, Heatmap, heatmap_lines
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


def test_selected_grid_is_scrolled_into_view() -> None:
    shown = "\n".join(text(made(6, (5, 1, 0)), 130, 12))
    assert "grid5" in shown and "grid0" not in shown and "more rows" in shown


def test_lines_fit_the_size() -> None:
    for width, height in ((24, 6), (56, 12), (110, 30), (196, 44)):
        for symbols in (UNICODE, ASCII):
            drawn = heatmap_lines(made(3, (1, 1, 5)), width, height, symbols)
            assert 0 < len(drawn) <= height
            assert all(width_of(line) <= width for line in drawn)


def test_cells_of_a_small_map_grow_to_fill_the_screen() -> None:
    small = replace(
        made(), columns=("1", "2"), grids=(HeatGrid("", tuple(row[:2] for row in made().grids[0].cells)),)
    )
    for width, height, share in ((70, 32, 0.8), (126, 42, 0.49)):
        drawn = heatmap_lines(small, width, height, UNICODE)
        cells = [line for line in drawn if any(role == "heat0" for _, role in line)]
        colored = [sum(width_of([piece]) for piece in line if piece[1] == "heat0") for line in cells]
        assert max(colored) >= share * width and len(cells) >= share * height


def test_a_map_without_a_legend_leaves_no_line_to_it() -> None:
    drawn = heatmap_lines(replace(made(), legend=()), 150, 6, UNICODE)
    assert [any(role == "heat0" for _, role in line) for line in drawn] == [False, False, *[True] * 4]
