"""Texts that name a key name the one that the user has mapped."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.library import paths
from benchtui.sessions.library.summaries import SummaryCache
from benchtui.themes.symbols import UNICODE
from benchtui.tui.compare.panels import hint_lines
from benchtui.tui.drawing.styled_text import Line
from benchtui.tui.editor.title_bar import running_texts
from benchtui.tui.library.card import card_lines
from benchtui.tui.library.rows import Item, empty_lines, heading_lines, unmatched_lines
from benchtui.tui.shell import keymap
from benchtui.tui.widgets.nav_bar import place_lines


def text(lines: Sequence[Line]) -> str:
    return "\n".join("".join(part for part, _ in line) for line in lines)


@pytest.fixture(autouse=True)
def mapped() -> None:
    """A user's key map. The autouse fixture ``default_keys`` clears it."""
    keymap.set_user_map(
        {
            "app.sweep": "f6",
            "app.monitor": "f7",
            "app.library": "f8",
            "app.next_place": "f9",
            "library.mark": "insert",
            "library.compare": "V",
            "library.import": "I",
            "library.resume": "U",
            "library.back": "f5",
        }
    )


@pytest.mark.parametrize("running", [("trial",), ("one", "two")])
def test_the_editors_title_names_the_mapped_key_of_the_monitor(running: tuple[str, ...]) -> None:
    full, *short = running_texts(running)
    assert ": f7 opens" in full and all(each.endswith(": f7") for each in short)


def test_an_empty_library_names_the_mapped_keys() -> None:
    drawn = text(empty_lines("/library"))
    assert "f6  edit and start a sweep" in drawn
    assert "I  import a session file" in drawn


def test_the_library_header_names_the_mapped_keys() -> None:
    assert "insert marks sessions to compare" in text(heading_lines(2, (), 80, 2, UNICODE))
    assert "f5  shows all" in text(unmatched_lines("zz"))


def test_a_session_card_names_the_mapped_key_that_resumes_it(home: Path, story: Any) -> None:
    story.begin(batch_sizes=(1, 2)).case(0)
    entry = paths.entry_of(story.path)
    assert entry is not None
    item = Item(entry, "trial", "", summary=SummaryCache().read(story.path, lambda: True))
    assert "1 to run: U, or benchtui run --resume trial" in text(card_lines(item, None, 80, 20, UNICODE))


def test_an_empty_comparison_names_the_mapped_keys_of_the_library() -> None:
    drawn = text(hint_lines([("no sessions to compare yet", "strong")]))
    assert "f8  go to the Library, mark two sessions with insert" in drawn
    assert "compare them with V" in drawn


def test_the_navigation_bar_names_the_mapped_keys() -> None:
    drawn = text(place_lines("sweep", 80, 1, UNICODE))
    assert "f6 Sweep" in drawn and "f7 Monitor" in drawn and "3 Charts" in drawn
