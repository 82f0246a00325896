"""One meaning per key over all views. Anchors: lazygit, k9s, htop, less, vim, mpv."""

from pathlib import Path

import msgspec
import pytest

from benchtui.tui.shell import keymap
from benchtui.tui.views import key_owners


class Meaning(msgspec.Struct, frozen=True):
    """Meaning of a key in all views."""

    text: str
    names: tuple[str, ...]
    """Last parts of action IDs."""


MEANINGS: dict[str, Meaning] = {
    "a": Meaning("add a case", ("add",)),
    "A": Meaning("all alike: toggle what shares a value", ("switch_alike",)),
    "b": Meaning("base: compare with the next session or case", ("swap", "base")),
    "c": Meaning("compare the session, or the marked ones", ("compare",)),
    "C": Meaning("columns", ("columns", "done")),
    "d": Meaning("detach: leave, and let the sweep run; on Home, the demo", ("detach", "demo")),
    "D": Meaning("overhead of the UI", ("cost",)),
    "e": Meaning("edit the value or the sweep", ("edit", "type")),
    "E": Meaning("export", ("export",)),
    "f": Meaning("next figure (metric); in a sweep, find the best case", ("figure", "search")),
    "F": Meaning("previous figure", ("figure_before",)),
    "g": Meaning("first row", ("first",)),
    "G": Meaning("last row", ("last",)),
    "h": Meaning("left", ("left", "section_before")),
    "i": Meaning("import", ("import",)),
    "j": Meaning("down", ("down",)),
    "J": Meaning("move down or right in its list", ("later", "right")),
    "k": Meaning("up", ("up",)),
    "K": Meaning("move up or left in its list", ("earlier", "left")),
    "l": Meaning("right", ("right", "section")),
    "L": Meaning("logarithmic or linear", ("logarithmic",)),
    "m": Meaning("rename (mv)", ("rename",)),
    "M": Meaning("measure what is open", ("measure",)),
    "n": Meaning("next match, case or section", ("next",)),
    "N": Meaning("previous match, case or section", ("previous",)),
    "o": Meaning("open a sweep or a session", ("open",)),
    "p": Meaning("Pareto front", ("pareto",)),
    "P": Meaning("pause or resume the queue", ("pause",)),
    "q": Meaning("quit; close a page", ("quit", "back")),
    "Q": Meaning("quiet mode", ("quiet",)),
    "r": Meaning(
        "run: the sweep, the model's search, the case again, the rest of a session",
        ("start", "measure", "again", "resume"),
    ),
    "R": Meaning("replay", ("replay",)),
    "s": Meaning("sort", ("sort",)),
    "S": Meaning("reverse the sort order", ("reverse",)),
    "t": Meaning("theme", ("theme",)),
    "T": Meaning("try the remedies of the findings", ("try",)),
    "u": Meaning("undo", ("undo",)),
    "U": Meaning("redo", ("redo",)),
    "v": Meaning(
        "view the report; in charts, the next variable: axis or cost; on Home, a quick look at the model",
        ("report", "axis", "back", "quick"),
    ),
    "w": Meaning("write: the sweep to a file, a note; wait for another sweep", ("save", "note", "wait")),
    "W": Meaning("why: where the time of the case's step goes", ("why",)),
    "x": Meaning("skip a running case", ("skip",)),
    "X": Meaning("end for good, after confirmation: stop the sweep, delete the session", ("stop", "delete")),
    "y": Meaning("copy as markdown; yes to a question", ("copy_row", "copy", "yes", "anyway")),
    "Y": Meaning("copy all as markdown", ("copy_report", "copy")),
    "z": Meaning("zoom a panel", ("zoom",)),
    "enter": Meaning(
        "open, edit, measure or accept", ("measure", "open", "type", "detail", "differences", "done", "back")
    ),
    "space": Meaning("toggle: mark, show, play, freeze", ("switch", "mark", "play", "freeze")),
    "delete": Meaning(
        "remove: drop the case, delete the session, reset to the default", ("drop", "delete", "reset", "usual")
    ),
    "backspace": Meaning("remove, where that can be undone", ("drop", "reset", "usual")),
    "escape": Meaning("back", ("back",)),
    "tab": Meaning("next panel or section", ("panel", "cases", "section")),
    "shift+tab": Meaning("previous panel or section", ("panel_before", "cases", "section_before")),
    "slash": Meaning("filter, or find an entry", ("filter", "find")),
    "question_mark": Meaning("help", ("help", "back")),
    "left_square_bracket": Meaning("previous recorded moment", ("step_back",)),
    "right_square_bracket": Meaning("next recorded moment", ("step",)),
    "left_curly_bracket": Meaning("previous event or outlier", ("event_before", "outlier_before")),
    "right_curly_bracket": Meaning("next event or outlier", ("event", "outlier")),
    "0": Meaning("Home", ("home",)),
    "1": Meaning("Sweep", ("sweep",)),
    "2": Meaning("Monitor", ("monitor",)),
    "3": Meaning("Charts", ("charts",)),
    "4": Meaning("Library", ("library",)),
    "5": Meaning("Compare", ("compare",)),
}
"""Letters, digits and keys that most views share. Other keys occur in only one view."""
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
