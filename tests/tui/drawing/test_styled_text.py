import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchtui.themes.symbols import UNICODE
from benchtui.tui.drawing.styled_text import changes, crop, line, width_of

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
