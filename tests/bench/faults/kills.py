"""Kills engines at random instants with SIGKILL, and says what each left behind.

``python tests/bench/faults/kills.py --kills 100 --seed 1`` kills three of four while they measure. ``--light``
leaves torch out of the workers, ``--victim`` kills the fork server or the worker instead, ``--resume`` has
another engine continue. ``--rounds 2`` measures each case twice, ``--rounds auto`` as often as its open
comparisons need, and ``--search`` looks for its batch size. Exit status 1 where more was lost than the steps of
the last tenth of a second of the case in hand, more than one round was measured again, a process stayed behind,
or a resumed session isn't whole at its end.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import light
import msgspec
import psutil

from benchtui.engine import client
from benchtui.engine.control import ResumeOptions
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseStarted, Steps
from benchtui.sessions.journal.reader import read
from benchtui.sessions.permissions.needed import keys, needed_permissions
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Measure, Sweep
from benchtui.sessions.sweep.toml_reader import parse_sweep

PATIENCE_S = 120.0
KEPT_BACK_S = 0.1
"""How long a worker keeps steps before it hands them on."""
BUDGET_S = 5.0
"""Of further rounds."""
ON_THE_WAY_S = 1.0
"""What a busy machine may take to bring them to the file: no part of what is promised."""

OWN = f"""
import os, time

class Step:
    samples = 1
    def __init__(self, case):
        self.case, self.step_s = case.batch_size - 1, {light.STEP_S} * (1 + case.batch_size / 16)
        self.notes = os.open(os.environ[{light.NOTES!r}], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    def step(self):
        time.sleep(self.step_s)
        os.write(self.notes, f"{{self.case}} {{time.monotonic()}}\\n".encode())

def make(case):
    return Step(case)
"""


@dataclass(frozen=True, slots=True)
class Shape:
    """What an engine that will be killed measures."""

    cases: int = 20
    steps: int = 400
    """Of a round."""
    rounds: int | None = 1
    """None for ``auto``."""
    search: bool = False
    """Whether the batch size is looked for."""

    def whole(self, case: CaseState) -> int:
        """Return the steps of a case that has ended. A round by turns has as many as it took."""
        if self.rounds:
            return self.steps * self.rounds
        ends = enumerate(case.ends)
        return sum(case.measured.of_round(number) if end.turns else self.steps for number, end in ends)


Launch = Callable[[Path, Shape], int]
"""Starts an engine on a session file; gives its process."""
Resume = Callable[[Path], int]
"""Starts one that goes on with it."""


@dataclass(frozen=True, slots=True)
class Left:
    """What a killed engine left behind."""

    at_s: float
    """After its start, or its first step."""
    state: str
    """``no session`` where it hadn't begun one, ``cut off``, or ``finished``."""
    ended: int
    """Cases that had ended."""
    lost_steps: int
    """Steps of the case in hand that had been done and aren't in the file."""
    lost_s: float
    """The time over which they had been done."""
    faults: tuple[str, ...]
    """What must not be."""


def at_once(_path: Path) -> bool:
    """Whether an engine has been started."""
    return True


def kill_at(
    at_s: float,
    path: Path,
    launch: Launch,
    shape: Shape,
    victim: str = "engine",
    since: Callable[[Path], bool] = at_once,
) -> Left:
    """Start an engine, kill it or one of its processes after so long, and look at what is left.

    The time counts from when ``since`` is true of the session's path.
    """
    pid = launch(path, shape)
    engine = psutil.Process(pid)
    while not since(path) and _lives(engine):
        time.sleep(0.01)
    time.sleep(at_s)
    chosen = engine if victim == "engine" else _chosen(engine, victim)
    below = engine.children(recursive=True)
    killed_s = time.monotonic()
    with suppress(psutil.Error):
        chosen.send_signal(signal.SIGKILL)
    faults = () if _gone([engine], pid) else ("the engine is still there",)
    if not _gone(below, pid):
        faults = (*faults, "a process stayed behind")
    return _left(at_s, path, killed_s, faults, shape, victim)


def first_step(path: Path) -> bool:
    """Whether a case has been measured for a step."""
    return Path(f"{path}.steps").exists()


def further_round(path: Path) -> bool:
    """Whether a case has begun its second round."""
    return first_step(path) and any(
        isinstance(event, CaseStarted) and event.round for event in read(path).events
    )


def resume(path: Path, go_on: Resume, shape: Shape) -> tuple[str, ...]:
    """Continue the session of a killed engine with another one; return what is wrong at its end."""
    before = Session.load(path)
    if not before.left:
        return ()
    ended = {case.index: case.measured for case in before.cases if case.finished}
    pid = go_on(path)
    faults = [] if _gone([psutil.Process(pid)], pid) else ["the engine that goes on is still there"]
    after = Session.load(path)
    if after.finished is None or after.finished.outcome != "completed":
        faults.append(f"not completed: {after.finished and after.finished.reason}")
    for case in after.cases:
        if case.state != "ok" or len(case.measured) != shape.whole(case):
            faults.append(f"case {case.index} is {case.state} with {len(case.measured)} steps")
        if case.measured != ended.get(case.index, case.measured):
            faults.append(f"case {case.index} had ended, and has other steps now")
    if (again := _begun_again(path)) > 1:
        faults.append(f"{again} rounds were measured again")
    return tuple(faults)


def _begun_again(path: Path) -> int:
    """Count the rounds that began more than once. Only the one that was cut short has to."""
    begun = Counter((event.case, event.round) for event in read(path).events if isinstance(event, CaseStarted))
    return sum(times - 1 for times in begun.values())


def light_launch(path: Path, shape: Shape) -> int:
    """An engine of light cases."""
    sweep = light.sweep(cases=shape.cases, steps=shape.steps)
    budget = msgspec.structs.replace(sweep.run, budget_s=None if shape.rounds else BUDGET_S)
    return _light(path, msgspec.structs.replace(sweep, measure=_rounds_of(sweep, shape), run=budget))


def light_resume(path: Path) -> int:
    """One that goes on."""
    return _light(path, ResumeOptions())


def _light(path: Path, wanted: Sweep | ResumeOptions) -> int:
    process = light.launch(path, wanted)
    process.returncode = 0  # it is waited for by its number
    return process.pid


def _rounds_of(sweep: Sweep, shape: Shape) -> Measure:
    return msgspec.structs.replace(sweep.measure, rounds=shape.rounds or 1, rounds_auto=not shape.rounds)


def real_launch(path: Path, shape: Shape) -> int:
    """An engine whose workers have torch."""
    own = path.parent / "own.py"
    if not own.exists():
        own.write_text(OWN)
    text = f'model = "none"\ntask = "{own}:make"\nenv = {{ {light.NOTES} = "{path}.steps" }}\n'
    text += "[run]\nwait_for_quiet = 'off'\n[measure]\nwarmup = 0\npeaks = false\n"
    sizes = "auto" if shape.search else f"1..{shape.cases}"
    rules = [f"batch_size={sizes}", f"iterations={shape.steps}", f"rounds={shape.rounds or 'auto'}"]
    rules += [] if shape.rounds else [f"budget={BUDGET_S}"]
    sweep = parse_sweep(text, "kills", rules)
    return client.start(sweep, path, keys(needed_permissions(sweep))).pid


def real_resume(path: Path) -> int:
    """One that goes on."""
    return client.resume(path).pid


def _chosen(engine: psutil.Process, victim: str) -> psutil.Process:
    """The fork server or the newest worker, once there is one; the engine where it ended before."""
    while _lives(engine):
        with suppress(psutil.NoSuchProcess):
            servers = [each for each in engine.children() if "forkserver" in " ".join(each.cmdline())]
            workers = [child for server in servers for child in server.children()]
            if found := servers if victim == "fork server" else workers:
                return found[-1]
        time.sleep(0.01)
    return engine


def _gone(processes: list[psutil.Process], engine: int) -> bool:
    """Whether all end in time; our own child is waited for."""
    deadline_s = time.monotonic() + PATIENCE_S
    while any(map(_lives, processes)):
        with suppress(ChildProcessError):
            os.waitpid(engine, os.WNOHANG)
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.02)
    return True


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _left(at_s: float, path: Path, killed_s: float, faults: tuple[str, ...], shape: Shape, victim: str) -> Left:
    try:
        session = Session.load(path)
    except BenchtuiError as error:
        empty = not path.exists() or b"\n" not in path.read_bytes()[2:]
        found = faults if empty else (*faults, f"the file can't be read: {error}")
        return Left(at_s, "no session", 0, 0, 0.0, found)
    done = _noted(Path(f"{path}.steps"), killed_s)
    kept = {case.index: len(case.measured) for case in session.cases}
    ended_well = (case for case in session.cases if case.state == "ok")
    short = [case.index for case in ended_well if kept[case.index] != shape.whole(case)]
    faults = (*faults, *(f"case {index} had ended, and has {kept[index]} steps" for index in short))
    in_hand = [case for case in session.cases if case.finished is None or case.state == "failed"]
    # notes name a case by its batch size, which is another for each
    notes = {case.index: done.get(case.config.batch_size - 1, []) for case in session.cases}
    lost = [at for case in in_hand for at in notes[case.index][kept[case.index] :]]
    if not shape.rounds:  # the first steps of a turn aren't recorded, so that the number of steps says nothing
        lost = [at for at in lost if at > _newest_s(session, path, notes)]
    lost_s = killed_s - min(lost, default=killed_s)
    if lost_s > KEPT_BACK_S + ON_THE_WAY_S:
        faults = (*faults, f"steps of {lost_s:.2f} s are lost")
    failed = sum(case.state == "failed" for case in session.cases)
    if victim != "engine" and (session.finished is None or failed > 1):
        faults = (*faults, f"the sweep didn't outlive its {victim}: {failed} cases failed")
    if "## " not in markdown(session):
        faults = (*faults, "no report")
    return Left(at_s, "finished" if session.finished else "cut off", session.done, len(lost), lost_s, faults)


def _newest_s(session: Session, path: Path, notes: dict[int, list[float]]) -> float:
    """Return when the newest recorded steps arrived, on the monotonic clock; 0 if no case has ended."""
    for case in session.cases:
        if case.ends and case.ends[0].measured_s:
            begun_s = notes[case.index][case.measured.of_round(0) - 1] - case.ends[0].measured_s[1]
            return begun_s + max(event.t for event in read(path).events if isinstance(event, Steps))
    return 0.0


def _noted(notes: Path, until_s: float) -> dict[int, list[float]]:
    """When the steps of each case ended, those before a moment of the monotonic clock."""
    found: dict[int, list[float]] = {}
    lines = notes.read_text().splitlines() if notes.exists() else []
    for line in lines:
        case, at_s = line.split()
        if float(at_s) <= until_s:
            found.setdefault(int(case), []).append(float(at_s))
    return found


def main() -> int:
    """Kill, and print a line for each and the worst of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--within", type=float, default=4.0, metavar="S", help="latest instant after start or first step"
    )
    parser.add_argument("--cases", type=int, default=Shape().cases)
    parser.add_argument("--steps", type=int, default=Shape().steps, help="of a round")
    parser.add_argument("--rounds", type=lambda text: None if text == "auto" else int(text), default=1)
    parser.add_argument("--search", action="store_true", help="look for the batch size; not with --light")
    parser.add_argument("--at-once", type=int, default=4, help="how many engines")
    parser.add_argument("--resume", action="store_true", help="and have another engine go on each time")
    parser.add_argument("--light", action="store_true", help="cases without torch")
    parser.add_argument("--victim", choices=["engine", "fork server", "worker"], default="engine")
    options = parser.parse_args()
    random_ = random.Random(options.seed)
    instants = [random_.uniform(0, options.within) for _ in range(options.kills)]
    launch, go_on = (light_launch, light_resume) if options.light else (real_launch, real_resume)
    shape = Shape(options.cases, options.steps, options.rounds, options.search)
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="bt-") as folder:
        os.environ["BENCHTUI_RUNTIME_DIR"] = f"{folder}/run"

        def kill(number: int, at_s: float) -> Left:
            path, since = Path(folder, f"s{number}.json"), first_step if number % 4 else at_once
            left = kill_at(at_s, path, launch, shape, options.victim, since)
            if options.resume and left.state == "cut off":
                left = replace(left, faults=(*left.faults, *resume(path, go_on, shape)))
            return _told(left)

        with ThreadPoolExecutor(options.at_once) as pool:
            found = list(pool.map(kill, range(options.kills), instants))
    bad = [each for each in found if each.faults]
    states = Counter(each.state for each in found)
    worst = max(found, key=lambda each: each.lost_s)
    after = sum(each.ended > 0 and each.state == "cut off" for each in found)
    print(
        f"{len(found)} kills ({', '.join(f'{count} {state}' for state, count in states.items())}),"
        f" {after} of them cut off after a case had ended; {len(bad)} with faults;"
        f" most lost: {worst.lost_steps} steps, {worst.lost_s:.3f} s"
    )
    return 1 if bad else 0


def _told(left: Left) -> Left:
    faults = "; ".join(left.faults) or "ok"
    print(
        f"at {left.at_s:6.3f} s: {left.state:10}  {left.ended:2} cases ended,"
        f" {left.lost_steps:3} steps of {left.lost_s:.3f} s lost  {faults}",
        flush=True,
    )
    return left


if __name__ == "__main__":
    sys.exit(main())
