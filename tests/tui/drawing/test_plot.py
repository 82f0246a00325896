from benchtui.themes.symbols import ASCII, UNICODE, Symbols
from benchtui.tui.drawing.plot import Curve, Dot, OutcomeMarker, Plot, plot_lines
from benchtui.tui.drawing.styled_text import width_of

A = Curve("a", "line0", (Dot(1, 100), Dot(2, 180, 150, 210), Dot(4, 300)))
B = Curve("b", "line1", (Dot(1, 50), Dot(4, 60)))


def made(**changes: object) -> Plot:
    usual = {
        "curves": (A, B),
        "lost": (),
        "title": "samples/s",
        "x_title": "batch size",
        "x_values": (1.0, 2.0, 4.0, 8.0),
    }
    return Plot(**usual | changes)  # type: ignore[arg-type]


def text(plot: Plot, width: int = 60, height: int = 16, symbols: Symbols = UNICODE) -> list[str]:
    return ["".join(piece for piece, _ in line) for line in plot_lines(plot, width, height, symbols)]


def test_scale_starts_at_zero_unless_logarithmic() -> None:
    assert any(row.lstrip().startswith("0 ") for row in text(made()))
    assert not any(row.lstrip().startswith("0 ") for row in text(made(logarithmic=True)))


def test_lines_fit_the_width_and_ascii_mode_is_ascii() -> None:
    for width, height in ((24, 7), (38, 12), (60, 16), (140, 44)):
        for symbols in (UNICODE, ASCII):
            drawn = plot_lines(
                made(lost=(OutcomeMarker(8.0, "^", "warning", "abcdef"),)), width, height, symbols
            )
            assert 0 < len(drawn) <= height
            assert all(width_of(line) <= width for line in drawn)
        assert "".join(text(made(), width, height, ASCII)).isascii()


def test_single_x_value_is_drawn_as_bars() -> None:
    one = made(
        curves=(Curve("a", "line0", (Dot(8, 100),)), Curve("b", "line1", (Dot(8, 50),))), x_values=(8.0,)
    )
    rows = text(one)
    assert rows[0].strip() == "samples/s, from 0 to 100"
    assert rows[2].count("━") == 2 * rows[3].count("━")


def test_zero_and_huge_values_are_drawn() -> None:
    for value in (0.0, 1e18, 1e-12):
        same = Curve("a", "line0", (Dot(1, value), Dot(2, value, value, value)))
        for logarithmic in (False, True):
            assert text(made(curves=(same,), logarithmic=logarithmic))
