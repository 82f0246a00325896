from collections.abc import Callable
from typing import Any

import pytest

from benchtui.sessions.report.tables import Column, Table, markdown, table
from benchtui.sessions.report.text import LONGEST_CELL

COLUMNS: tuple[Column[int], ...] = (
    Column("Size", lambda size: f"{size:,}"),
    Column("Odd", lambda size: "odd" if size % 2 else None, right=False),
    Column("Never", lambda _: None),
)


def test_columns_without_data_are_left_out_and_gaps_are_dashes(read: Callable[[str], Any]) -> None:
    found = table(COLUMNS, [2, 30001])
    assert found is not None
    assert found.titles == ("Size", "Odd")
    (only,) = read(markdown(found)).sections[0].tables
    assert only == [["Size", "Odd"], ["2", "–"], ["30,001", "odd"]]


def test_no_records_make_no_table() -> None:
    assert table(COLUMNS, []) is None


def test_numbers_stand_right_and_words_left() -> None:
    found = table(COLUMNS, [1])
    assert found is not None
    rule = markdown(found).splitlines()[1]
    assert rule.replace("-", "") == "|:|:|"
    assert rule.index(":|") < rule.index("|:", 1)


@pytest.mark.parametrize("text", ["a|b", "a\\|b|", "x\n| y | z |", "<td>", "\\", "||||", "`|`", "007", "1e5"])
def test_cells_and_titles_keep_their_text_and_their_place(read: Callable[[str], Any], text: str) -> None:
    shown = Table((text, text), (False, True), ((text, "1"), ("2", text)))
    seen = text.replace("\n", " ")
    (only,) = read(markdown(shown)).sections[0].tables
    assert only == [[seen, seen], [seen, "1"], ["2", seen]]


def test_a_long_cell_is_cut() -> None:
    lines = markdown(Table(("t",), (False,), (("x" * 5000,),))).splitlines()
    assert lines[2].strip("| ") == "x" * (LONGEST_CELL - 1) + "…"
