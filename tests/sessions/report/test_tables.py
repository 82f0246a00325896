import re
from collections.abc import Callable
from typing import Any

import pytest

from benchtui.sessions.sweep import task_named
from benchtui.sessions.text.formatting import number
from benchtui.sessions.text.markdown import LONGEST_CELL
from benchtui.sessions.text.tables import Column, Table, html, in_unit, markdown, table

COLUMNS: tuple[Column[int], ...] = (
    Column("Size", lambda size: f"{size:,}"),
    Column("Odd", lambda size: "odd" if size % 2 else None, right=False),
    Column("Never", lambda _: None),
)


def test_columns_without_data_are_omitted_and_gaps_are_dashes(read: Callable[[str], Any]) -> None:
    found = table(COLUMNS, [2, 30001])
    assert found is not None
    assert found.titles == ("Size", "Odd")
    (only,) = read(markdown(found)).sections[0].tables
    assert only == [["Size", "Odd"], ["2", "–"], ["30,001", "odd"]]


def test_numbers_are_right_aligned_and_words_left_aligned() -> None:
    found = table(COLUMNS, [1])
    assert found is not None
    rule = markdown(found).splitlines()[1]
    assert rule == "| ---: | :-- |"


@pytest.mark.parametrize("text", ["a|b", "a\\|b|", "x\n| y | z |", "<td>", "\\", "||||", "`|`", "007", "1e5"])
def test_cells_and_titles_keep_their_text_and_position(read: Callable[[str], Any], text: str) -> None:
    shown = Table((text, text), (False, True), ((text, "1"), ("2", text)))
    seen = text.replace("\n", " ")
    (only,) = read(markdown(shown)).sections[0].tables
    assert only == [[seen, seen], [seen, "1"], ["2", seen]]


def test_long_cell_is_truncated() -> None:
    lines = markdown(Table(("t",), (False,), (("x" * 5000,),))).splitlines()
    assert lines[2].strip("| ") == "x" * (LONGEST_CELL - 1) + "…"


def test_html_cells_keep_the_value_before_rounding() -> None:
    cells = (number(1234.5678), f"{64:,}", "3 to 4", "none", None)
    text = html(Table(("",) * 5, (True,) * 5, (cells,)), "x")
    assert re.findall(r"<t[dh] [^>]*>", text)[5:] == [
        '<th scope="row" class="number" data-value="1234.5678">',
        '<td class="number" data-value="64.0">',
        '<td class="number" data-value="3.0">',
        '<td class="number">',
        '<td class="number">',
    ]
    assert "1,230</th>" in text


def test_html_rows_keep_their_throughput() -> None:
    rates = {1: 2.5, 2: None, 3: 0.0}
    found = table(COLUMNS, rates, rates.get)
    assert found is not None
    assert re.findall(r"<tr.*?>", html(found, "x")) == ["<tr>", '<tr data-samples-per-s="2.5">', "<tr>", "<tr>"]


def test_html_box_has_its_label_escaped_and_headings_have_a_scope() -> None:
    text = html(Table(("a", "b"), (True, False), (("1", "x"),)), '"<b>')
    assert 'role="region" tabindex="0" aria-label="&quot;&lt;b&gt;"' in text
    assert (text.count('<th scope="col"'), text.count('<th scope="row"'), text.count("<th ")) == (2, 1, 3)


def test_a_column_with_data_in_the_last_row_alone_is_kept() -> None:
    column: Column[int] = Column("Size", lambda size: str(size) if size == 9 else None)
    found = table([column], range(10))
    assert found is not None
    assert (found.rows[0], found.rows[9]) == ((None,), ("9",))


def test_samples_in_titles_are_named_as_the_task_does() -> None:
    titles = (
        "Samples/s per GiB",
        "95% interval (samples/s)",
        "Energy (J/sample)",
        "Peak over batch (MB/sample)",
    )
    columns = [Column[int](title, str) for title in titles]
    assert [column.title for column in in_unit(columns, task_named("image"))] == [
        "Images/s per GiB",
        "95% interval (images/s)",
        "Energy (J/image)",
        "Peak over batch (MB/sample)",  # of the batch, which a second of audio isn't
    ]
    assert [column.title for column in in_unit(columns, task_named("classify"))] == list(titles)
