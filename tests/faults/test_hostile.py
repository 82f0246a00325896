"""Hostile text in every field that takes text, and in every name: none is obeyed, and no code of it runs."""

import copy
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import corpus
import hostile_names
import mutations
import pytest
import readers
import terminal_grammar
from forked import Forked

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.library import operations, paths
from benchtui.sessions.state.session import Session
from benchtui.tui.app import BenchtuiApp
from benchtui.tui.cli import COMMANDS
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.preferences import Preferences

Place = tuple[Any, ...]
HOSTILE = {
    "tags": f"</td>{mutations.TAG}<script>alert(1)</script>",
    "control": "a\x1b[2J\x1b]0;title\x07\x9b31m\r\nb\u202e\u2028",
    "markup": "[bold red]x[/bold red] [@click=app.quit]y[/] [/] [",
    "table": "a|b\\|c `d` **e** [f](javascript:alert(1))",
    "template": "{{ 7 * 7 }}{% raw %}$x$ %s %(a)s {0}",
    "formula": "=1+1|'cmd'!A0",
    "path": "../../../../tmp/escaped",
    "root": "/tmp/escaped",
    "nul": "a\x00b",
    "long": "x" * 5_000,
    "code": "trap.py:make",
}


def places(value: Any, path: Place = ()) -> list[Place]:
    """The way to every text within a JSON value."""
    if isinstance(value, str):
        return [path]
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, inner in pairs for found in places(inner, (*path, key))]


def set_at(value: Any, place: Place, new: str) -> None:
    for key in place[:-1]:
        value = value[key]
    value[place[-1]] = new


def fill(path: Path, text_of: Callable[[Place], str | None]) -> list[Any]:
    """Write a session with these texts wherever a session may have them; return its events."""
    events, taken = json.loads(corpus.written(corpus.session())), 0

    def fill_places(at: int, wanted: list[Place]) -> int:
        """Fill these places of an event; if the session can't be read then, each half of them."""
        changed = copy.deepcopy(events[at])
        for place in wanted:
            if (text := text_of(place)) is not None:
                set_at(changed, place, text)
        path.write_text(json.dumps([*events[:at], changed, *events[at + 1 :]]))
        try:
            Session.load(path)
        except BenchtuiError:
            middle = len(wanted) // 2
            return fill_places(at, wanted[:middle]) + fill_places(at, wanted[middle:]) if middle else 0
        events[at] = changed
        return len(wanted)

    for at, event in enumerate(events):
        taken += fill_places(at, places(event))
    assert taken > 50
    path.write_text("[\n" + ",\n".join(map(json.dumps, events)) + "\n]\n")
    return events


def filled(text: str, folder: Path) -> Path:
    """A session with this text wherever one may stand."""
    fill(folder / "hostile.json", lambda _place: text)
    return folder / "hostile.json"


@pytest.mark.parametrize("kind", list(HOSTILE))
def test_every_reader_makes_hostile_text_harmless(kind: str, tmp_path: Path) -> None:
    hostile = filled(HOSTILE[kind], tmp_path)
    for read in readers.OF_SESSIONS:
        try:
            read(hostile, random.Random(0))
        except BenchtuiError as error:
            assert readers.refused_in_one_line(error)


@pytest.mark.parametrize(
    "kind", ["control", "markup", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("long", "code"))]
)
async def test_screen_shows_hostile_text_as_text(
    kind: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    hostile = filled(HOSTILE[kind], home)
    (home / "trap.py").write_text("open(__file__ + '.sprung', 'w')\n")
    operations.import_session(hostile)
    await press_through(hostile, home, PAGES)
    assert not list(home.rglob("*.sprung"))


PAGES = ("2", "enter", "escape", "z", "z", "z", "escape", "3", "4", "enter", "4", "1", "2", "l")


async def press_through(
    path: Path, folder: Path, pages: Sequence[str], size: tuple[int, int] = (120, 40)
) -> str:
    """Press keys in the app, and return all that it showed, which must be printable."""
    here = AppContext(
        start=lambda _sweep, _consent: pytest.fail("nothing is to be started"),
        running=list,
        find=lambda _path: None,
        recorded=paths.entries,
        name_of=paths.library_name,
        folder=folder,
        preferences=Preferences.of_user(),
    )
    shown: set[str] = set()
    app = BenchtuiApp(here, path)
    async with app.run_test(size=size) as pilot:
        for keys in pages:
            await pilot.press(keys)
            await app.workers.wait_for_complete()
            await pilot.pause()
            shown |= {strip.text for strip in app.screen._compositor.render_strips()}
    assert all(text.isprintable() for text in shown), [text for text in shown if not text.isprintable()]
    return "\n".join(shown)


EVERY_PAGE = (
    *("s", "/", "x", "enter", "n", "C", "escape", "H", "D", "y", "E", "escape", "W", "escape", "?", "escape"),
    *("enter", "tab", "tab", "tab", "y", "W", "escape", "escape", "colon", "n", "escape"),
    *("3", "p", "tab", "/", "escape", "y", "1", "o", "down", "escape", "w", "escape", "tab", "enter", "escape"),
    *(
        "4",
        "m",
        "escape",
        "w",
        "escape",
        "X",
        "escape",
        "E",
        "escape",
        "i",
        "escape",
        "/",
        "n",
        "enter",
        "escape",
    ),
    *(
        "space",
        "down",
        "space",
        "c",
        "5",
        "enter",
        "escape",
        "y",
        "4",
        "R",
        "space",
        "right_square_bracket",
        "q",
    ),
)


@pytest.mark.parametrize(
    ("kind", "size"), [("controls", (80, 24)), pytest.param("bytes", (120, 40), marks=pytest.mark.long)]
)
async def test_screen_shows_hostile_names_as_text(
    kind: str, size: tuple[int, int], home: Path, monkeypatch: pytest.MonkeyPatch, session_of_controls: bytes
) -> None:
    world = hostile_names.build(home, hostile_names.NAMES[kind], session_of_controls)
    for name, folder in world.environment.items():
        monkeypatch.setenv(name, folder)
    monkeypatch.chdir(world.folder)
    shown = await press_through(Path(world.file(".json")), world.folder, EVERY_PAGE, size)
    assert "31m" in shown, "names are shown, without their controls"


EXPORTS = (
    ("export", "S"),
    ("export", "S", "--format", "html"),
    ("export", "S", "--format", "csv"),
    ("compare", "S", "copy.json"),
    ("optimal", "S"),
    ("replay", "S", "--plain"),
    ("sessions",),
)


def test_commands_print_hostile_text_as_text(home: Path, forked: Forked) -> None:
    path = filled(HOSTILE["control"], home)
    operations.import_session(path)
    shutil.copy(path, home / "copy.json")
    for words in EXPORTS:
        arguments = [str(path) if word == "S" else word for word in words]
        ran = forked.run(arguments, home, os.environ)
        assert ran.returncode in (0, 1), ran.stderr
        for out in (ran.stdout.decode().replace("\r\n", "\n"), ran.stderr.decode()):
            odd = [letter for letter in out if not letter.isprintable() and letter not in "\n\t"]
            assert odd == [], (words, odd[:5])
            assert "Traceback" not in out


@pytest.fixture(scope="module")
def session_of_controls(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return filled(HOSTILE["control"], tmp_path_factory.mktemp("filled")).read_bytes()


@pytest.mark.parametrize(
    "kind", ["controls", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("bytes", "option"))]
)
def test_commands_print_hostile_names_as_text(
    home: Path, forked: Forked, kind: str, session_of_controls: bytes
) -> None:
    world = hostile_names.build(home, hostile_names.NAMES[kind], session_of_controls)
    calls = hostile_names.commands(world)
    assert {words[0] for words in calls} >= set(COMMANDS)
    for words in calls:
        ran = forked.run(words, world.folder, os.environ | world.environment)
        assert ran.returncode in (0, 1, 2, 130), (words, ran.stderr)
        for out in (ran.stdout.decode(), ran.stderr.decode()):  # strict: neither holds bytes that aren't UTF-8
            terminal_grammar.require_printable(out.replace("\r\n", "\n"))
            assert "Traceback" not in out and "\r" not in out.replace("\r\n", "\n"), (words, out)
        if ran.returncode == 0 and {"--json", "json", "trace", "bmf", "gab"} & set(words):
            records = ran.stdout.splitlines() if words[0] in ("attach", "replay") else [ran.stdout]
            assert all(map(json.loads, records)), words
    assert not list(home.rglob("pwned"))


def test_reading_a_session_never_imports_its_task(tmp_path: Path) -> None:
    path = filled(HOSTILE["code"], tmp_path)
    (tmp_path / "trap.py").write_text("raise SystemExit('sprung')\n")
    script = (
        "import random, sys; from pathlib import Path; sys.path.insert(0, '')\n"
        f"sys.path.insert(0, {str(Path(readers.__file__).parent)!r})\n"
        "import readers\nfrom benchtui.sessions.errors import BenchtuiError\n"
        "for read in readers.OF_SESSIONS:\n"
        "    try:\n"
        f"        read(Path({str(path)!r}), random.Random(0))\n"
        "    except BenchtuiError:\n"
        "        pass\n"
        "assert not {'trap', 'torch'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, timeout=120)


@pytest.mark.parametrize("name", [*HOSTILE.values(), "..", ".", "", "\udcff", "a/b", "-rf", "CON", "é" * 300])
def test_session_names_cannot_escape_the_library(name: str, home: Path) -> None:
    path = paths.new_path(name, datetime(2026, 11, 21, tzinfo=UTC))
    assert path.parent == paths.folder() and path.resolve().parent == paths.folder().resolve()
    path.write_text("")
    assert len(path.name.encode()) <= 255 and path.name.isprintable()


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "a/b", "a\x00b", "", "..", "x" * 5000, "latest", "-x"])
def test_rename_stays_within_the_library(name: str, home: Path) -> None:
    (home / "plain.json").write_bytes(corpus.SESSIONS[0])
    session = operations.import_session(home / "plain.json")
    with pytest.raises(BenchtuiError):
        operations.rename(session, name, ())
    assert session.exists()
