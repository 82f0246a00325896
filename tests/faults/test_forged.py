"""A session made elsewhere, with a planted step, planted variables and names: no command, no page obeys it."""

import asyncio
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from forked import Forked

from benchtui.engine.node.runner import NodeRunner
from benchtui.sessions.events import (
    CaseAdded,
    CaseFinished,
    CasePrepared,
    CaseStarted,
    Message,
    SessionStarted,
    Steps,
)
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import Host, Model
from benchtui.sessions.permissions import approved
from benchtui.sessions.sweep import Axes, Config, Measure, Sweep, cases
from benchtui.sessions.version import VERSION
from benchtui.tui.app import BenchtuiApp
from benchtui.tui.cli import COMMANDS
from benchtui.tui.pages.questions import PermissionScreen
from benchtui.tui.shell.context import AppContext

NAME = "n\x1b]0;PWNED\x07\x9b31m\u202e"
"""Sets the title of a terminal that obeys it."""
PRELOADED = "libm.so.6"
"""A library that is on every machine: a case whose library can't be preloaded is skipped."""
STEP = """
import os
open({ran!r}, "a").write(os.environ.get("LD_PRELOAD", ""))

class Step:
    samples = 1
    step = int

def make(case):
    return Step()
"""
SESSION, COPY = "forged.json", "copy.json"
WITHOUT_SESSION = {"cache", "completion", "demo", "doctor", "find", "init-step", "keys", "schema", "themes"}
USES: dict[str, tuple[tuple[str, ...], ...]] = {
    "anonymize": ((SESSION, "-o", "anonymized.json"),),
    "next": ((SESSION, "--output", "next.toml"), (SESSION, "--json")),
    "optimal": ((SESSION, "--toml", "best.toml"), (SESSION, "--json")),
    "plan": (("next.toml",), ("best.toml",)),
    "attach": ((SESSION, "--plain"), (SESSION,)),
    "compare": ((SESSION, COPY), (SESSION, COPY, "--json")),
    "continue": ((SESSION,),),
    "explain": ((SESSION, "1"), (SESSION, "1", "--anyway", "--again"), (SESSION, "1", "--json")),
    "export": (
        (SESSION,),
        (SESSION, "--format", "html"),
        (SESSION, "--format", "csv"),
        (SESSION, "--format", "trace"),
    ),
    "import": ((SESSION, "-o", "imported.json"),),
    "pause": ((SESSION,),),
    "replay": ((SESSION, "--plain"), (SESSION, "--json")),
    "reproduce": ((SESSION,), (SESSION, "--json")),
    "run": (
        ("--resume", SESSION),
        ("--resume", SESSION, "--anyway", "--retry-failed"),
        ("--optimal-from", SESSION),
        ("--optimal-from", SESSION, "--set", "env.TYPED=1"),
        ("next.toml",),
        ("best.toml", "--json"),
    ),
    "sessions": ((), ("add", SESSION), ("--json",), ("note", "forged", "x")),
    "slurm": (("best.toml",),),
    "stop": ((SESSION,),),
    "open": ((SESSION,), ("best.toml",)),
}
"""Arguments with which each command is tried; files that one writes are read by later ones."""
REFUSED = ("explain", "reproduce", "run", "slurm")


def forged(folder: Path, host: Host) -> Path:
    """A session that claims to be of this machine: two measured cases, one that is left, and an added one."""
    planted = folder / "elsewhere"
    planted.mkdir()
    (planted / "evil.py").write_text(STEP.format(ran=str(folder / "ran")))
    (planted / "sitecustomize.py").write_text(f"open({str(folder / 'set')!r}, 'a').close()\n")
    variables = {"LD_PRELOAD": PRELOADED, "PYTHONPATH": str(planted), "PLANTED": NAME}
    sweep = Sweep(
        name=NAME,
        model=NAME,
        task=f"{planted / 'evil.py'}:make",
        axes=Axes(batch_size=(1, 2, 4)),
        measure=Measure(warmup=1, iterations=5, peaks=False),
        env=variables,
    )
    plan = tuple(case.config for case in cases(sweep))
    journal = Journal(folder / SESSION)
    facts = {"id": "x", "created": "2026-11-21T10:00:00Z", "version": VERSION}
    journal.append(SessionStarted(t=0, sweep=sweep, plan=plan, host=host, **facts))
    journal.append(Message(t=0.1, level="info", text=NAME))
    for index, config in enumerate(plan[:2]):
        journal.append(CaseStarted(t=1.0 + index, case=index, config=config))
        journal.append(CasePrepared(t=1.1 + index, case=index, model=Model(name=NAME), marks=(NAME,)))
        journal.append(
            Steps(t=1.2 + index, case=index, phase="measure", wall_ms=[10.0, 11.0, 10.5, 10.2, 10.1])
        )
        journal.append(CaseFinished(t=1.3 + index, case=index, outcome="ok"))
    added = Config(device="cpu", batch_size=8, env="ADDED=1")
    journal.append(CaseAdded(t=3.0, case=3, config=added, why=NAME))
    journal.close()
    shutil.copy(folder / SESSION, folder / COPY)
    return folder / SESSION


async def until_asked(app: BenchtuiApp, pilot: Any) -> str:
    """Wait for the question; return the text of its page."""
    deadline = time.monotonic() + 60
    while not isinstance(app.screen, PermissionScreen):
        assert time.monotonic() < deadline, shown(app)
        await asyncio.sleep(0.02)
        await pilot.pause()
    await pilot.pause()
    return shown(app)


def shown(app: BenchtuiApp) -> str:
    """The screen; none of it may control a terminal."""
    lines = [strip.text for strip in app.screen._compositor.render_strips()]
    assert all(line.isprintable() for line in lines), lines
    return "\n".join(lines)


async def test_no_command_and_no_page_obeys_a_forged_session(
    home: Path, command: str, forked: Forked, monkeypatch: Any
) -> None:
    monkeypatch.chdir(home)
    executor = NodeRunner()
    path = forged(home, executor.host)
    executor.close()
    assert set(USES) | WITHOUT_SESSION == {*COMMANDS, "open"}
    run_commands(forked, home)
    await open_pages(path, home)
    require_nothing_happened(home)
    # and with permission it all takes effect: this test can fail
    explain = [command, "explain", SESSION, "1", "--trust"]
    done = subprocess.run(
        explain, cwd=home, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
    )
    assert f"run function make of {home}/elsewhere/evil.py" in done.stderr
    assert (home / "ran").read_text().startswith(PRELOADED) and (home / "set").exists()


def require_nothing_happened(folder: Path) -> None:
    assert not (folder / "ran").exists() and not (folder / "set").exists() and not approved.path().exists()
    assert (folder / SESSION).read_bytes() == (folder / COPY).read_bytes()


def run_commands(forked: Forked, folder: Path) -> None:
    for name, uses in USES.items():
        for arguments in uses:
            words = arguments if name == "open" else (name, *arguments)
            done = forked.run(words, folder, os.environ)
            assert not {0x1B, 0x07} & {*done.stdout, *done.stderr}, words
            assert b"Traceback" not in done.stderr, words
            if name in REFUSED and not (name == "explain" and "--anyway" in words and done.returncode == 1):
                require_named(done, folder)
            require_nothing_happened(folder)


def require_named(done: "subprocess.CompletedProcess[bytes]", folder: Path) -> None:
    """One line that names file, function and variables, and says what allows them."""
    (line,) = done.stderr.decode().strip().splitlines()
    assert done.returncode == 2 and done.stdout == b""
    for words in (f"function make of {folder}/elsewhere/evil.py", f"LD_PRELOAD={PRELOADED}", "--trust"):
        assert words in line, line


async def open_pages(path: Path, folder: Path) -> None:
    """Open every page on it; start, resume and profile it; and refuse each time."""
    app = BenchtuiApp(AppContext.here(), path)
    async with app.run_test(size=(120, 40)) as pilot:

        async def press(*keys: str) -> None:
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
                shown(app)

        async def refuse() -> None:
            text = await until_asked(app, pilot)
            assert f"run function make of {folder}/elsewhere/evil.py" in text.replace("\n", "")
            assert f"set LD_PRELOAD={PRELOADED}" in text
            await press("escape")
            require_nothing_happened(folder)

        await press("2", "g", "enter", "escape", "W")
        await refuse()
        await press("r")
        await refuse()
        await press("escape", "3", "4", "5", "1", "r")
        await refuse()
        await press("4", "home", "r")
        await refuse()
        await press("R", "alt+9", "home", "W")
        await refuse()
