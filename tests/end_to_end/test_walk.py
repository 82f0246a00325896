"""A whole workflow with the keyboard alone, in a real terminal: from editing a sweep to its report."""

from pathlib import Path
from typing import Any

import pytest

ENTER, ESCAPE, TAB = "\r", "\x1b", "\t"
FIXTURE = Path(__file__).parents[1] / "fixtures" / "quick-cpu.json"


@pytest.fixture
def endless_sweep(home: Path, tiny_model: Path) -> Path:
    """A case that ends by its time limit, not by its number of steps."""
    path = home / "tiny.toml"
    path.write_text(
        f'model = "{tiny_model}"\nweights = "random"\n[axes]\nbatch_size = 1\nsequence_length = 32\n'
        '[run]\nwait_for_quiet = "off"\n'
        '[measure]\nwarmup = 1\niterations = 1000000\nmax_time = "5s"\npeaks = false\n'
    )
    return path


LARGER = [pytest.param(*size, marks=pytest.mark.long) for size in ((120, 40), (200, 50))]


@pytest.mark.terminal
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), *LARGER])
def test_whole_workflow_works_with_the_keyboard_alone(
    columns: int, rows: int, open_app: Any, endless_sweep: Path, home: Path
) -> None:
    app = open_app(columns=columns, rows=rows)
    edit(app, endless_sweep)
    watch(app)
    look_closer(app)
    app.press("q", r"d: detach")
    app.press("d")
    assert app.wait_for_exit() == 0
    assert "the sweep is still running; attach: benchtui attach" in app.text.replace("\n", "")

    app = open_app("attach", columns=columns, rows=rows)
    finish(app)
    replay(app)
    compare(app, FIXTURE)
    export(app, home)
    app.press("q")
    assert app.wait_for_exit() == 0


def edit(app: Any, sweep: Path) -> None:
    """Open a sweep file, extend an axis, and exclude a case."""
    app.wait_for(r"0 Home")
    app.press("1", r"quick +preset quick")
    app.press("o", r"distilbert-sst2")
    app.press(f"{sweep}{ENTER}", r"1 of 1 case")
    chosen = app.wait_for(r"▸ \w+")
    while chosen != "▸ batch_size":
        app.press("j")
        chosen = app.wait_for(r"▸ \w+", previous=chosen)
    app.press(ENTER, r"esc +back")
    app.press("1..8*", r"1\.\.8\*")
    app.press(f"2{ENTER}", r"4 of 4 cases")
    app.press(f"{TAB}j ", r"3 of 4 cases")


def watch(app: Any) -> None:
    """Start the sweep, see numbers change, and pause the queue."""
    app.press("r", r"0/3 cases")
    app.wait_for(r"p50 +\d[\d.,]* ms")
    seen = app.wait_for(r"n [\d,]+")
    app.wait_for(r"n [\d,]+", previous=seen)
    app.press("P", r"paused")


def look_closer(app: Any) -> None:
    """Open a case and go back; zoom a panel, and go back."""
    app.press(ENTER, r"Summary.+Distribution.+Steps")
    app.press(ESCAPE, r"paused")
    app.press("z", r"Step times")
    app.press("z", r"3 cases.+paused")


def finish(app: Any) -> None:
    """Unpause the queue, and wait for the last case to end."""
    app.wait_for(r"paused")
    app.press("P", r"3/3 cases")
    app.wait_for(r"completed")
    app.wait_for(r"Y copy report")


def replay(app: Any) -> None:
    """Replay the session: pause, seek, step, and jump to its end."""
    app.press("4", r"▸4 Library")
    app.wait_for(r"3/3.+completed|completed.+3/3")
    app.press("R", r"playing +1x")
    app.press(" ", r"paused +1x")
    app.press("\x1b0", r"0/3 cases")
    at = app.wait_for(r"paused +1x +\S+")
    for key in ("]", "\x1b9"):
        app.press(key)
        at = app.wait_for(r"paused +1x +\S+", previous=at)
    app.press(ESCAPE, r"R +replay")


def compare(app: Any, other: Path) -> None:
    """Import another session into the library, select both, and compare them."""
    app.press("4", r"▸4 Library")
    app.press("i", r"session or results:")
    app.press(f"{other}{ENTER}", r"quick-cpu .*completed")
    app.press("g ", r"marked +A \S+ \(base\)")
    app.press("G ", r"marked +A \S+ \(base\) +B \S+")
    app.press("c", r"▸5 Compare")
    app.wait_for(r"ratio")


def export(app: Any, folder: Path) -> None:
    """Write the report of the open session."""
    app.press("2", r"3/3 cases")
    app.press("E", r"Write the report")
    app.press(ENTER, r"report written to \S+\.md")
    (report,) = folder.glob("*.md")
    assert report.read_text().startswith("# ")
