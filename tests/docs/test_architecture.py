"""ARCHITECTURE.md fits the tree: its tables name every folder of modules, and all that they name exists."""

import re
import tomllib
from pathlib import Path

import pytest
from promises import tables

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
WHERE = next(table for table in tables(PAGE) if table[0][0] == "what")
FOLDERS = {
    heading[1]: table[1:]
    for table in tables(PAGE)
    if (heading := re.match(r"`(\w+)/`", table[0][0])) is not None
}
"""Rows of the table of each folder at the top."""
PATH = re.compile(r"`((?:\w+/)*(?:\w+\.(?:py|md|toml|js|css)|\w+/))`")
"""A file, or a folder with its slash."""
NAME_IN_FILE = re.compile(r"`(\w+(?:\.\w+)?)` in `([\w/]+\.py)`")


def resolve(names: list[str], bases: list[Path]) -> tuple[set[Path], list[str]]:
    """Return the paths that these names stand for below one of the bases, and the names that stand for none."""
    paths, missing = set(), []
    for name in names:
        existing = [base / name for base in bases if (base / name).exists()]
        paths.update(existing[:1])
        missing += [] if existing else [name]
    return paths, missing


def of_folder(top: str) -> tuple[set[Path], list[str]]:
    """Return what the table of a folder names, and the names that don't exist."""
    paths, missing = set(), []
    for cells in FOLDERS[top]:
        owners, unknown = resolve(PATH.findall(cells[0]), [ROOT / top])
        inner, unknown_inner = resolve(PATH.findall(cells[1]), [*owners, ROOT / top, ROOT])
        paths |= owners | inner
        missing += unknown + unknown_inner
    return paths, missing


def of_task(cells: list[str]) -> list[str]:
    """Return the paths of a row of "Where do I change …?" that don't exist; short ones are next to others."""
    names = PATH.findall(" ".join(cells))
    whole, _ = resolve(names, [ROOT])
    return resolve(names, [ROOT, *(path if path.is_dir() else path.parent for path in whole)])[1]


def packages(top: str) -> list[Path]:
    """Return the package folders below a folder at the top."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    names = [name.split(".")[1:] for name in project["tool"]["setuptools"]["packages"]]
    return [ROOT.joinpath(*parts) for parts in names if parts[:1] == [top] and len(parts) > 1]


def test_tables_cover_the_three_folders_of_code() -> None:
    assert sorted(FOLDERS) == ["engine", "sessions", "tui"]
    assert len(WHERE) > 20


@pytest.mark.parametrize("top", FOLDERS)
def test_table_names_every_folder_of_modules_and_nothing_else(top: str) -> None:
    paths, missing = of_folder(top)
    assert missing == []
    unnamed = [str(folder.relative_to(ROOT)) for folder in packages(top) if folder not in paths]
    assert unnamed == []


@pytest.mark.parametrize("cells", WHERE[1:], ids=lambda cells: cells[0])
def test_places_to_change_exist(cells: list[str]) -> None:
    assert of_task(cells) == []
    for name, path in NAME_IN_FILE.findall(" ".join(cells)):
        assert name.rpartition(".")[2] in (ROOT / path).read_text("utf-8"), (name, path)


def test_wrong_path_is_noticed() -> None:
    assert of_task(["a chart", "`tui/charts/heatmap.py`, `line_chart.py`", "`no_chart.py`"]) == ["no_chart.py"]
