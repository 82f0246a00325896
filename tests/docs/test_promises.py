"""Every promise of faults.md, SECURITY.md and unusual.md names tests that exist."""

from pathlib import Path

import pytest
from promises import ROOT, existing, first_cells, rows_without_test, tables, unknown_tests

PAGES = (ROOT / "docs/faults.md", ROOT / "SECURITY.md", ROOT / "tests/unusual.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_tests_exist(page: Path) -> None:
    assert unknown_tests(page.read_text("utf-8"), existing()) == []


def test_every_fault_has_a_test() -> None:
    faults, tests = tables((ROOT / "docs/faults.md").read_text("utf-8"))
    assert first_cells(tests) == first_cells(faults), "the same faults in the same order"
    assert len(first_cells(faults)) > 50
    assert rows_without_test(tests) == []


def test_every_row_of_a_security_table_of_tests_names_one() -> None:
    found = tables((ROOT / "SECURITY.md").read_text("utf-8"))
    with_tests = [table for table in found if "test" in " ".join(table[0]).lower()]
    assert [row for table in with_tests for row in rows_without_test(table)] == []


def test_missing_and_unknown_tests_are_found() -> None:
    (table,) = tables(
        "text\n| a | tests |\n|---|---|\n| **x** | |\n| one | `test_a`, `test_b` |\n| two | none |\nend"
    )
    assert first_cells(table) == ["one", "two"]
    assert rows_without_test(table) == ["two"]
    assert unknown_tests("`test_a` and `test_b`", frozenset({"test_a"})) == ["test_b"]
    assert {"test_missing_and_unknown_tests_are_found", "test_screen_shows_hostile_text_as_text"} <= existing()
