"""The page "In a notebook" is executed as a notebook, and its outputs are compared except for their figures."""

import os
import re
from itertools import takewhile
from pathlib import Path

import nbformat
import pytest
from docs_pages import ROOT, Block, blocks
from nbclient import NotebookClient

PAGE = ROOT / "docs" / "notebook.md"


def cells() -> list[tuple[Block, str]]:
    """The code of the page, each block with the output that follows it."""
    found: list[tuple[Block, str]] = []
    for block in blocks(PAGE):
        if block.language == "python":
            found.append((block, ""))
        elif block.language == "text":
            found[-1] = (found[-1][0], block.text)
    return found


def without_figures(text: str) -> str:
    return " ".join(re.sub(r"\d[\d.,]*", "#", text).split())


def cells_without_a_run() -> list[tuple[Block, str]]:
    """The cells up to the first one that runs a sweep."""
    return list(takewhile(lambda cell: "benchtui.run(" not in cell[0].text, cells()))


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(cells_without_a_run(), id="recorded"),
        pytest.param(cells(), id="all", marks=pytest.mark.long),
    ],
)
def test_page_in_a_notebook_is_executed(shown: list[tuple[Block, str]], home: Path) -> None:
    notebook = nbformat.v4.new_notebook(  # type: ignore[no-untyped-call]
        cells=[nbformat.v4.new_code_cell(block.text) for block, _ in shown]  # type: ignore[no-untyped-call]
    )
    client = NotebookClient(
        notebook, timeout=250, kernel_name="python3", resources={"metadata": {"path": str(home)}}
    )
    environment = {**os.environ, "IPYTHONDIR": str(home / "ipython"), "JUPYTER_RUNTIME_DIR": str(home)}
    client.execute(env=environment)
    printed = ["".join(output.get("text", "") for output in cell.outputs) for cell in notebook.cells]
    assert len(shown) >= 5
    assert all(expected for _, expected in shown)
    assert list(map(without_figures, printed)) == [without_figures(expected) for _, expected in shown]
