"""Promises of the documentation, and the tests that hold them."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(test_\w+)`")
DIVIDER = re.compile(r"\|[\s:|-]+\|")


def tables(text: str) -> list[list[list[str]]]:
    """Return the tables of a page: rows of cells, the heading first."""
    found: list[list[list[str]]] = []
    inside = False
    for line in text.splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        if not inside:
            found.append([])
        inside = True
        if not DIVIDER.fullmatch(line.strip()):
            found[-1].append([cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]])
    return found


@cache
def existing(folder: Path = ROOT / "tests") -> frozenset[str]:
    """Return the names of all test functions."""
    names = set()
    for path in folder.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                names.add(node.name)
    return frozenset(names)


def unknown_tests(text: str, known: frozenset[str]) -> list[str]:
    """Return the named tests that don't exist."""
    return [name for name in NAMED.findall(text) if name not in known]


def rows_without_test(table: list[list[str]]) -> list[str]:
    """Return the first cell of each row that names no test. Rows in bold are headings."""
    return [row[0] for row in table[1:] if not row[0].startswith("**") and not NAMED.search(" ".join(row))]


def first_cells(table: list[list[str]]) -> list[str]:
    """Return the first cell of each row that isn't a heading."""
    return [row[0] for row in table[1:] if not row[0].startswith("**")]
