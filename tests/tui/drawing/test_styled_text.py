import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchtui.themes.symbols import UNICODE
from benchtui.tui.drawing.styled_text import changes, crop, line, width_of, wrap_line

TEXT = st.text(alphabet="ab 模é", max_size=12)
LINES = st.lists(st.tuples(TEXT, st.sampled_from(["plain", "bad"])), max_size=4).map(
    lambda pieces: line(*pieces)
)


def test_changes_covers_only_changed_cells() -> None:
    old = line((f"{'x' * 30}12 ms", "plain"))
    new = line((f"{'x' * 30}13 ms", "plain"))
    assert changes(old, new, 40) == [(31, 32)]
    assert changes(old, old, 40) == []


def test_wide_character_counts_as_two_cells() -> None:
    assert changes(line(("模a", "plain")), line(("模b", "plain")), 10) == [(2, 3)]


@pytest.mark.parametrize(
    ("old", "new", "span"),
    [
        ("e\u0301tat", "e\u0300tat", (0, 1)),
        ("etat", "e\u0301tat", (0, 1)),
        ("模\u0301a", "模\u0300a", (0, 2)),
        ("a👩\u200d🔧b", "a👩\u200d🔧c", (3, 4)),
    ],
)
def test_a_changed_combining_mark_changes_its_cell(old: str, new: str, span: tuple[int, int]) -> None:
    assert changes(line((old, "plain")), line((new, "plain")), 10) == [span]


def test_a_combining_mark_at_the_start_of_a_span_changes_the_cell_before_it() -> None:
    old, new = line(("e", "plain"), ("\u0301x", "bad")), line(("e", "plain"), ("\u0300x", "bad"))
    assert changes(old, new, 10) == [(0, 1)]
    wide, other = line(("模", "plain"), ("\u0301x", "bad")), line(("模", "plain"), ("\u0300x", "bad"))
    assert changes(wide, other, 10) == [(0, 2)]


@given(LINES, LINES)
def test_changes_do_not_overlap_and_stay_within_the_line(old: object, new: object) -> None:
    spans = changes(old, new, 20)  # type: ignore[arg-type]
    ends = [0, *(end for span in spans for end in span)]
    assert ends == sorted(ends)
    assert ends[-1] <= 20


@given(LINES, st.integers(0, 30))
def test_cropped_line_never_exceeds_its_width(pieces: object, width: int) -> None:
    assert width_of(crop(pieces, width, UNICODE)) <= width  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("width", "texts"),
    [
        (60, ["v      quick look    6 cases: batch size 1 to 32, precision"]),
        (48, ["v      quick look 6 cases: batch size 1 to 32,", "       precision"]),
        (24, ["v      quick look 6", "       cases: batch size", "       1 to 32,", "       precision"]),
    ],
)
def test_a_wrapped_line_continues_under_one_of_its_columns(width: int, texts: list[str]) -> None:
    pieces = [
        ("v      ", "accent"),
        ("quick look    ", "strong"),
        ("6 cases: batch size 1 to 32, precision", "plain"),
    ]
    drawn = wrap_line(pieces, width)
    assert ["".join(text for text, _ in row) for row in drawn] == texts
    assert drawn[0][0] == ("v      ", "accent") and all(width_of(row) <= width for row in drawn)


@given(LINES, st.integers(2, 20))
def test_a_wrapped_line_keeps_every_word_within_the_width(
    drawn: tuple[tuple[str, str], ...], width: int
) -> None:
    rows = wrap_line(drawn, width)
    assert all(width_of(row) <= width for row in rows)
    kept, whole = ("".join(text for row in lines for text, _ in row) for lines in (rows, [drawn]))
    assert "".join(kept.split()) == "".join(whole.split())
