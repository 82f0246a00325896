"""Sends random bursts of keys to the app in a real terminal: each key must act where its predecessor led.

``python tests/bench/faults/bursts.py --count 1000 --seed 1`` says how many bursts ended elsewhere than in a
model of the app, and prints each of them. Exit status 1 where there was one. Between keys are 0 to 50 ms, so
that some arrive at once. Typed texts consist of letters that would act on a screen, if one of them went astray.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pexpect
import pyte

PLACES = ("home", "sweep", "monitor", "charts", "library", "compare")
SESSIONS = ("alpha", "beta", "gamma")
CASES = 6
"""Number of cases in each of them."""
SECTIONS = ("summary", "distribution", "steps", "telemetry", "machine", "error")
LETTERS = "xXswtdqopncrzumaeEyDHRPCgG12345?"
"""Letters and digits that do something on some screen."""
KEYS = {"escape": "\x1b[27u", "enter": "\r", "tab": "\t", "ctrl+g": "\x07"}
"""What a terminal sends. The plain escape character would join the key behind it to one with alt."""
LONGEST_GAP_S = 0.05
PATIENCE_S = 60.0
"""How long to wait for what the model says. A key that acts elsewhere does so however long it takes."""

TRANSPORT = re.compile(r"(playing|paused|seeking|reading|at end) +[\d.]+x")
"""State and speed of a replay, in the line that only a replay has."""

Burst = list[str]
"""Keys: characters, or names of ``KEYS``."""


@dataclass
class Model:
    """Where the app is, as far as keys of the bursts lead it."""

    place: str = "home"
    visited: list[str] = field(default_factory=list)
    session: str = ""
    replay: bool = False
    overlays: dict[str, list[str]] = field(default_factory=lambda: {place: [] for place in PLACES})
    filters: dict[str, str] = field(default_factory=lambda: dict.fromkeys(PLACES, ""))
    section: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PLACES, 0))
    prompt: str | None = None
    """Text in the open prompt."""

    @property
    def top(self) -> str:
        """Page on top of the place; empty if there is none."""
        return next(reversed(self.overlays[self.place]), "")

    def go(self, place: str) -> None:
        """Switch to a place."""
        self.visited = [each for each in (*self.visited, self.place) if each != place]
        self.place = place

    def back(self) -> None:
        """Return to the previous page."""
        if self.visited:
            left = self.place
            self.go(self.visited[-1])
            self.visited.remove(left)

    def open(self, session: str, *, replay: bool = False) -> None:
        """Open a session in the Monitor, which is created again, as are the Charts."""
        self.session, self.replay = session, replay
        for place in ("monitor", "charts"):
            self.overlays[place], self.filters[place] = [], ""
        self.go("monitor")


def burst_of(model: Model, dice: random.Random, most: int = 7) -> Burst:
    """Draw a burst, and lead the model to where it ends. It may end in a prompt or on a page."""
    keys: Burst = []
    for _ in range(dice.randint(1, most)):
        keys += dice.choice(list(_moves(model, dice)))()
        if model.prompt is not None and dice.random() < 0.8:
            keys += _leave_prompt(model)
    return keys


def _moves(model: Model, dice: random.Random) -> Iterator[Callable[[], Burst]]:
    """Yield what can be done where the model is. Each leads it on, and returns the keys."""
    if model.prompt is not None:
        yield lambda: _leave_prompt(model)
        return
    yield lambda: _digit(model, dice.choice(PLACES))
    yield lambda: _escape(model)
    if model.top:
        if model.top == "case":
            yield lambda: _section(model)
            yield lambda: _push(model, "W", "why")
        return
    yield lambda: _push(model, "?", "help")
    yield from _moves_of_place(model, dice)


def _moves_of_place(model: Model, dice: random.Random) -> Iterator[Callable[[], Burst]]:
    if model.place == "home":
        yield lambda: _find(model, dice)
        yield lambda: _push(model, "z", "zoom")
    elif model.place == "sweep":
        for key in ("o", "w", "enter"):
            yield lambda key=key: _ask(model, key, dice, within="open" if key == "o" else "")
    elif model.place == "library":
        yield from _moves_of_library(model, dice)
    elif model.place in ("monitor", "charts") and model.session:
        yield lambda: _filter(model, dice)
        if not model.filters[model.place] and not (model.replay and model.place == "monitor"):
            yield lambda: _push(model, "enter", "case")
            if model.place == "monitor":
                yield lambda: _push(model, "W", "why")
    if model.place == "monitor" and model.session:
        yield lambda: _push(model, "C", "columns")
        yield lambda: _push(model, "v", "report")
        yield lambda: _ask(model, "E", dice)
        yield lambda: _ask(model, "ctrl+g", dice) if model.replay else _replay(model)


def _moves_of_library(model: Model, dice: random.Random) -> Iterator[Callable[[], Burst]]:
    yield lambda: _filter(model, dice)
    yield lambda: _open(model, dice.choice(SESSIONS))
    selected = model.filters["library"] in ("", *SESSIONS)
    for key in "mwEi" if selected else "i":
        yield lambda key=key: _ask(model, key, dice)
    if selected:
        yield lambda: _push(model, "v", "report")


def _text(dice: random.Random) -> str:
    return "".join(dice.choices(LETTERS, k=dice.randint(3, 9)))


def _digit(model: Model, place: str) -> Burst:
    model.go(place)
    return [str(PLACES.index(place))]


def _escape(model: Model) -> Burst:
    if model.top:
        model.overlays[model.place].pop()
    elif model.filters[model.place]:
        model.filters[model.place] = ""
    elif model.replay and model.place == "monitor":
        model.open(model.session)
    else:
        model.back()
    return ["escape"]


def _push(model: Model, key: str, page: str) -> Burst:
    model.overlays[model.place].append(page)
    if page == "case":
        model.section[model.place] = 0
    return [key]


def _section(model: Model) -> Burst:
    model.section[model.place] = (model.section[model.place] + 1) % len(SECTIONS)
    return ["tab"]


def _ask(model: Model, key: str, dice: random.Random, within: str = "") -> Burst:
    text = _text(dice)
    model.prompt = text
    if within:
        model.overlays[model.place].append(within)
    return [key, *text]


def _leave_prompt(model: Model) -> Burst:
    """Cancel the prompt; that of a filter drops the filter."""
    if model.top == "open":
        model.overlays[model.place].pop()
    model.prompt = None
    return ["escape"]


def _filter(model: Model, dice: random.Random) -> Burst:
    """Filter by a text, accepted or canceled. An earlier filter is extended."""
    text, kept = _text(dice), dice.random() < 0.5
    model.filters[model.place] = model.filters[model.place] + text if kept else ""
    return ["/", *text, "enter" if kept else "escape"]


def _find(model: Model, dice: random.Random) -> Burst:
    """Find a model that isn't there: it is taken as a hub id or refused, so that no filter is left."""
    return ["/", *_text(dice), dice.choice(("enter", "escape"))]


def _open(model: Model, session: str) -> Burst:
    """Open a session of the library by name. An earlier filter is dropped before."""
    before = ["escape"] if model.filters["library"] else []
    model.filters["library"] = session
    model.open(session)
    return [*before, "/", *session, "enter", "enter"]


def _replay(model: Model) -> Burst:
    model.open(model.session, replay=True)
    return ["R"]


def wrong(model: Model, text: str) -> str:
    """Return what the screen lacks of what the model says; empty if nothing."""
    wanted = {
        "": f"{PLACES.index(model.place)} {model.place.capitalize()}",
        "help": "/ search",
        "columns": "Columns   the first ones",
        "report": "─ report ",
        "why": "─ why ",
        "zoom": "▸0 Home",
        "open": "enter open",
        "case": f"▸{SECTIONS[model.section[model.place]].capitalize()}",
    }
    if not model.top and f"▸{wanted['']}" not in text:
        return f"place {model.place}"
    if wanted[model.top] not in text:
        return f"page {model.top} of {model.place}"
    if model.prompt is not None and model.prompt not in text:
        return f"the prompt's text {model.prompt!r}"
    if model.place == "monitor" and not model.top and model.replay != bool(TRANSPORT.search(text)):
        return "the replay" if model.replay else "the session at its end"
    return ""


class Screen:
    """The app in a pseudo-terminal."""

    def __init__(self, home: Path) -> None:
        self._screen = pyte.Screen(120, 40)
        self._stream = pyte.ByteStream(self._screen)
        environment = os.environ | {"TERM": "xterm-256color", "HOME": str(home), "LANG": "C.UTF-8"}
        # other sweeps of this machine would be shown, and would get the keys
        environment["BENCHTUI_RUNTIME_DIR"] = str(home / "run")
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
            environment.pop(name, None)
        command = str(Path(sys.executable).with_name("benchtui"))
        self._process = pexpect.spawn(command, [], cwd=home, dimensions=(40, 120), env=environment)

    def send(self, keys: Burst, gap_s: Callable[[], float]) -> None:
        """Type keys, with a pause before each."""
        for key in keys:
            if pause_s := gap_s():
                self.read(pause_s)
            self._process.send(KEYS.get(key, key))

    def read(self, seconds: float) -> None:
        """Read what is drawn within a time."""
        try:
            self._stream.feed(self._process.read_nonblocking(1 << 16, timeout=seconds))
        except pexpect.TIMEOUT:
            return

    def wait(self, reached: Callable[[str], str]) -> str:
        """Read until ``reached`` returns nothing. Return what it returned last."""
        deadline = time.monotonic() + PATIENCE_S
        while (lacking := reached(self.text)) and time.monotonic() < deadline:
            self.read(0.1)
        return lacking

    @property
    def text(self) -> str:
        return "\n".join(self._screen.display)

    def close(self) -> None:
        """End the app, however long that takes on a loaded machine."""
        self._process.kill(signal.SIGKILL)
        self._process.wait()
        self._process.close()


def furnish(library: Path) -> None:
    """Make a library of three sessions: the first cases of the demo without readings, which open at once."""
    from benchtui.sessions.library import paths  # loads the record's modules

    events = json.loads(paths.demo_path().read_text("utf-8"))
    events[0]["plan"] = events[0]["plan"][:CASES]
    kept = [event for event in events if event["event"] != "telemetry" and event.get("case", 0) < CASES]
    text = "[\n" + ",\n".join(json.dumps(event, separators=(",", ":")) for event in kept) + "\n]\n"
    library.mkdir(parents=True, exist_ok=True)
    for name in SESSIONS:
        (library / f"{name}.json").write_text(text, "utf-8")


def files(home: Path) -> set[tuple[str, int]]:
    """Files below a folder with their sizes, those that the app writes by itself left out."""
    found = (path for path in home.rglob("*") if path.is_file() and not {".cache", "cache"} & set(path.parts))
    return {(str(path.relative_to(home)), path.stat().st_size) for path in found}


def run(count: int, seed: int) -> Iterator[str]:
    """Send bursts; yield those that went astray. The app is restarted after each of them."""
    home = Path(tempfile.mkdtemp(prefix="bursts-"))
    try:
        furnish(home / ".local/share/benchtui/sessions")
        yield from _faults(home, count, seed)
    finally:
        shutil.rmtree(home)


def _faults(home: Path, count: int, seed: int) -> Iterator[str]:
    screen, model, before = Screen(home), Model(), files(home)
    for number in range(count):
        dice = random.Random(seed * 1_000_003 + number)
        start, burst = f"{model.place} {model.top}".strip(), Burst()
        try:
            screen.wait(partial(wrong, model))
            burst = burst_of(model, dice)
            screen.send(burst, partial(dice.uniform, 0, dice.choice((0.0, 0.0, 0.01, LONGEST_GAP_S))))
            lacking = screen.wait(partial(wrong, model))
        except pexpect.EOF:  # such as a q of a typed text that quit the app
            lacking = "the app, which ended"
        if changed := files(home) ^ before:
            lacking = f"{lacking} files {sorted(changed)}".strip()
        if lacking:
            yield f"{number}: from {start}: {' '.join(burst)}\n   lacks {lacking}\n{screen.text.rstrip()}"
            screen.close()
            screen, model, before = Screen(home), Model(), files(home)
    screen.close()


def main() -> int:
    """Send many bursts and print the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    astray = 0
    for fault in run(options.count, options.seed):
        astray += 1
        print(fault, end="\n\n", flush=True)
    print(f"{options.count} bursts with seed {options.seed}, {astray} astray")
    return 1 if astray else 0


if __name__ == "__main__":
    sys.exit(main())
