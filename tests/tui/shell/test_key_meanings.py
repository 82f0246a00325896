"""One meaning per key over all views."""

from pathlib import Path

import pytest

from benchtui.tui.shell import keymap
from benchtui.tui.shell.key_meanings import MEANINGS
from benchtui.tui.views import key_owners

BOUND = [
    (key, each.id)
    for owner in key_owners()
    for each in keymap.bindings_of(owner)
    for key in each.keys.split(",")
]


@pytest.mark.parametrize(("key", "name"), BOUND)
def test_key_has_one_meaning_in_all_views(key: str, name: str) -> None:
    assert key in MEANINGS or len(key) > 1 or not key.isascii(), f"{key} of {name} is in no row of the table"
    if key in MEANINGS:
        assert name.split(".")[1] in MEANINGS[key].names


def test_every_meaning_is_used() -> None:
    used = {(key, name.split(".")[1]) for key, name in BOUND}
    assert {(key, name) for key, meaning in MEANINGS.items() for name in meaning.names} <= used


def test_documentation_lists_every_meaning() -> None:
    text = (Path(__file__).parents[3] / "docs/keys.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows == [f"| `{keymap.shown(key)}` | {meaning.text} |" for key, meaning in MEANINGS.items()]
