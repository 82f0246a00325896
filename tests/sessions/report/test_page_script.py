"""The script of a page, without a browser: the same cost and the same text of numbers as in Python."""

import json
from decimal import Decimal
from importlib.resources import files
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benchtui.sessions.text.formatting import number
from benchtui.sessions.text.wording import cost_of_a_million

quickjs = pytest.importorskip(
    "quickjs", reason="quickjs, a JavaScript engine of the dev extra, isn't installed"
)
SCRIPT = files("benchtui.sessions.report").joinpath("templates", "page.js").read_text("utf-8")


@pytest.fixture(scope="module")
def call() -> Any:
    """Call a function of the script."""
    context = quickjs.Context()
    context.eval(SCRIPT)

    def run(name: str, *arguments: object) -> Any:
        return json.loads(context.eval(f"JSON.stringify({name}(...{json.dumps(arguments)}))"))

    return run


def cells(*values: tuple[str, float | None]) -> list[dict[str, object]]:
    return [{"text": text, "value": value} for text, value in values]


def test_cost_is_that_of_the_report(call: Any, bench: Any) -> None:
    (result,) = bench.results(bench.case(1, 10.0))
    dice = Random(1)
    for _ in range(300):
        rate, price = 10 ** dice.uniform(-6, 9), 10 ** dice.uniform(-6, 9)
        priced = replace(result, metrics=replace(result.metrics, samples_per_s=rate))
        assert call("costOfAMillion", rate, price) == cost_of_a_million(priced, price)


def is_tie(value: float) -> bool:
    """Whether a number is halfway between two of three digits: JavaScript rounds it up, Python to even."""
    digits = "".join(map(str, Decimal(value).as_tuple().digits)).rstrip("0")
    return len(digits) == 4 and digits.endswith("5")


@given(value=st.floats(1e-30, 1e20).filter(lambda value: not is_tie(value)))
def test_numbers_read_as_in_the_report(call: Any, value: float) -> None:
    assert call("formatNumber", value) == number(value)


def test_cells_sort_by_value_with_missing_ones_last(call: Any) -> None:
    found = cells(("1,000", 1000.2), ("–", None), ("999", 999.4), ("1,000", 1000.1))
    assert call("sortedIndices", found, "ascending") == [2, 3, 0, 1]
    assert call("sortedIndices", found, "descending") == [0, 3, 2, 1]
    assert call("sortedIndices", found, None) == [0, 1, 2, 3]


def test_cells_without_values_sort_as_text_and_equal_ones_keep_their_order(call: Any) -> None:
    found = cells(("b", None), ("a", 1.0), ("b", 2.0))
    assert call("sortedIndices", found, "ascending") == [1, 0, 2]
    assert call("sortedIndices", found, "descending") == [0, 2, 1]


def test_third_press_of_a_heading_restores_the_order(call: Any) -> None:
    orders = [None]
    for _ in range(3):
        orders.append(call("nextOrder", orders[-1]))
    assert orders == [None, "ascending", "descending", None]


@pytest.mark.parametrize(
    ("query", "expected"), [("", True), ("BF16 512", True), ("512 bf16", True), ("fp16 512", False)]
)
def test_row_matches_if_it_contains_every_word(call: Any, query: str, expected: bool) -> None:
    assert call("matches", "cuda:0 bf16 seq=512", query) is expected


TABLE = """
const cell = (tagName, textContent, scope) => ({
  tagName, textContent, scope, dataset: {}, role: "", setAttribute(name, value) { this[name] = value; },
});
const element = (more) => ({ role: "", setAttribute(name, value) { this[name] = value; }, ...more });
const head = element({ cells: [cell("TH", " Case ", "col"), cell("TH", "ms", "col")] });
const body = element({ cells: [cell("TH", "bs=1", "row"), cell("TD", "1.5", "")] });
const table = element({
  rows: [head, body], classes: [], tHead: element({ rows: [head] }), tBodies: [element({ rows: [body] })],
});
table.classList = { add: (name) => table.classes.push(name) };
enableCards(table);
JSON.stringify({
  labels: body.cells.map((one) => one.dataset.label), classes: table.classes,
  roles: [table, table.tHead, ...table.tBodies, head, ...head.cells, body, ...body.cells].map((at) => at.role),
});
"""


def test_cards_name_their_columns_and_keep_the_roles_of_a_table() -> None:
    context = quickjs.Context()
    context.eval(SCRIPT)
    found = json.loads(context.eval(f"(() => {{ return eval({json.dumps(TABLE)}) }})()"))
    assert found["labels"] == ["Case", "ms"]
    assert found["classes"] == ["cards"]
    assert found["roles"] == [
        *("table", "rowgroup", "rowgroup"),
        *("row", "columnheader", "columnheader"),
        *("row", "rowheader", "cell"),
    ]
