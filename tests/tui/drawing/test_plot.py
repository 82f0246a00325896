from benchtui.themes.symbols import ASCII, UNICODE, Symbols
from benchtui.tui.drawing.plot import Curve, Dot, OutcomeMarker, Plot, plot_case_at, plot_lines
from benchtui.tui.drawing.styled_text import Line, width_of

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


def roles(lines: list[Line], letter: str) -> set[str]:
    return {
        role for line in lines for piece, role in line if letter in piece and role.startswith(("line", "cho"))
    }


def test_every_point_has_the_letter_of_its_line() -> None:
    shown = text(made())
    assert sum(row.count("a") for row in shown[1:13]) == 3
    assert sum(row.count("b") for row in shown[1:13]) == 2
    assert shown[0].strip() == "samples/s" and shown[-1].strip() == "batch size"


def test_scale_starts_at_zero_unless_logarithmic() -> None:
    assert any(row.lstrip().startswith("0 ") for row in text(made()))
    assert not any(row.lstrip().startswith("0 ") for row in text(made(logarithmic=True)))


def test_higher_values_are_drawn_higher() -> None:
    rows = text(made())
    first_a = next(number for number, row in enumerate(rows[1:]) if "a" in row)
    first_b = next(number for number, row in enumerate(rows[1:]) if "b" in row)
    assert first_a < first_b


def test_cases_without_a_value_are_marked_on_the_axis() -> None:
    lost = OutcomeMarker(8.0, "▲", "warning", "ab")
    (axis,) = [row for row in text(made(lost=(lost,))) if "└" in row]
    assert "▲ab" in axis and axis.index("▲") > 40


def test_selected_point_is_highlighted() -> None:
    lines = list(plot_lines(made(curves=(B, A), chosen=A.dots[1]), 60, 16, UNICODE))
    assert roles(lines, "a") == {"line0", "chosen"}
    assert any(piece == "2" and role == "bright" for line in lines for piece, role in line)


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


def test_hint_replaces_the_plot() -> None:
    shown = text(made(curves=(), hint="one case has a figure yet"))
    assert "one case has a figure yet" in "".join(shown)


def test_zero_and_huge_values_are_drawn() -> None:
    for value in (0.0, 1e18, 1e-12):
        same = Curve("a", "line0", (Dot(1, value), Dot(2, value, value, value)))
        for logarithmic in (False, True):
            assert text(made(curves=(same,), logarithmic=logarithmic))


def test_covered_points_are_counted_beside_the_letter() -> None:
    same = Curve("c", "line2", A.dots)
    assert "".join(text(made(curves=(A, same)))).count("c+1") == 3
    assert "+1" not in "".join(text(made()))


def test_each_point_gives_its_case_at_and_beside_its_letter() -> None:
    a = Curve("a", "line0", (Dot(1, 100, case=0), Dot(2, 180, case=1), Dot(4, 300, case=2)))
    b = Curve("b", "line1", (Dot(1, 50, case=3), Dot(4, 60, case=4)))
    plot = made(curves=(a, b))
    for width, height in ((60, 16), (110, 30), (40, 10)):
        found = set()
        for y, row in enumerate(text(plot, width, height)[1 : height - 3], start=1):
            for x, letter in enumerate(row):
                if letter in "ab":
                    case = plot_case_at(plot, (x, y), (width, height), UNICODE)
                    assert case in ((0, 1, 2) if letter == "a" else (3, 4))
                    assert plot_case_at(plot, (x + 1, y), (width, height), UNICODE) == case
                    found.add(case)
        assert found == {0, 1, 2, 3, 4}
    assert plot_case_at(plot, (30, 1), (110, 30), UNICODE) is None
    bars = made(curves=(Curve("a", "line0", (Dot(1, 5, case=7),)),), x_values=(1.0,))
    assert [plot_case_at(bars, (9, y), (60, 16), UNICODE) for y in (1, 2, 3)] == [None, 7, None]
