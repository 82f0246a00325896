"""Engines that are killed or stopped, and others that go on: real processes, a real (tiny) model on CPU."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from watching import allowed

from benchtui.engine import client
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, CaseStarted, Peaks, Runtime
from benchtui.sessions.export import step_export
from benchtui.sessions.journal.reader import read
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Sweep

PATIENCE_S = 120.0
ENDLESS = ("iterations=1000000", "warmup=0")
Reached = Callable[[Session], object]


class Desk:
    """Starts engines on one session file, waits for what they record, and ends them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.engines: list[client.Engine] = []

    def start(self, sweep: Sweep) -> client.Engine:
        self.engines.append(client.start(sweep, self.path, allowed(sweep)))
        return self.engines[-1]

    def resume(self, **how: bool) -> client.Engine:
        self.engines.append(client.resume(self.path, **how))
        return self.engines[-1]

    def until(self, reached: Reached) -> Session:
        """Fold the file until the session has come to something."""
        deadline = time.monotonic() + PATIENCE_S
        while not reached(session := Session.load(self.path)):
            assert time.monotonic() < deadline, [case.state for case in session.cases]
            time.sleep(0.02)
        return session

    def kill(self) -> None:
        os.kill(self.engines[-1].pid, signal.SIGKILL)
        self.gone()

    def gone(self) -> Session:
        """Wait for the end of the newest engine."""
        deadline = time.monotonic() + PATIENCE_S
        while self.engines[-1].alive():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return Session.load(self.path)


@pytest.fixture
def desk(home: Path) -> Iterator[Desk]:
    made = Desk(home / "session.json")
    yield made
    for engine in made.engines:
        if engine.alive():
            os.kill(engine.pid, signal.SIGKILL)


def measuring(case: int, turn: int = 0) -> Reached:
    """Whether steps of a case have been measured in a round."""
    return lambda session: len(session.cases) > case and session.cases[case].measured.of_round(turn)


def require_one_session(path: Path, outcomes: list[str]) -> Session:
    """Check what must hold of a resumed session, whatever happened to it."""
    session = Session.load(path)
    assert [case.state for case in session.cases] == outcomes
    assert session.finished is not None and session.finished.outcome == "completed"
    events = read(path).events
    assert len(json.loads(path.read_text())) == len(events), "a valid array"
    assert [event.t for event in events] and session.left == 0
    ends = Counter(event.case for event in events if isinstance(event, CaseFinished))
    assert set(ends) == set(range(len(outcomes)))
    assert steps_of(path) == {case.index: len(case.measured) for case in session.cases if len(case.measured)}
    assert markdown(session)
    return session


def steps_of(path: Path) -> dict[int, int]:
    """Measured steps that an export has, by case."""
    counted: Counter[int] = Counter()
    for block in step_export.blocks(Session.load(path)):
        if block.columns["phase"][0] == "measure":
            counted.update(block.columns["case"])
    return dict(counted)


@pytest.mark.long
def test_resume_reruns_the_case_in_which_the_engine_was_killed(
    desk: Desk, tiny_sweep: Callable[..., Sweep]
) -> None:
    sweep = tiny_sweep("batch_size=1,2,3", "iterations=1000000", "max_time=1s", "peaks=true")
    desk.start(sweep)
    desk.until(measuring(1))
    desk.kill()
    cut = Session.load(desk.path)
    assert cut.cut_off and cut.left == 2
    first = cut.cases[0].finished
    engine = desk.resume()
    assert engine.resumed_s is not None and engine.resumed_s >= cut.now_s
    assert client.find(desk.path) == engine
    desk.gone()
    session = require_one_session(desk.path, ["ok", "ok", "ok"])
    assert session.cases[0].finished == first, "what was measured stays"
    assert [event.cases for event in session.resumed] == [(1,)]
    events = read(desk.path).events
    begun = [event.case for event in events if isinstance(event, CaseStarted)]
    assert begun == [0, 1, 1, 2]
    after = events[events.index(session.resumed[0]) :]
    assert any(isinstance(event, Runtime) for event in after)
    assert any(isinstance(event, Peaks) for event in after)
    assert [event.t for event in after] == sorted(event.t for event in after) or after[0].t >= cut.now_s


@pytest.mark.long
def test_sweep_stopped_by_signals_resumes_twice(desk: Desk, tiny_sweep: Callable[..., Sweep]) -> None:
    desk.start(tiny_sweep("batch_size=1,2,3", "iterations=1000000", "max_time=1s", "warmup=0"))
    for case in range(2):
        desk.until(measuring(case))
        os.kill(desk.engines[-1].pid, signal.SIGTERM)
        stopped = desk.gone()
        assert stopped.finished is not None and stopped.finished.outcome == "interrupted"
        desk.resume()
    desk.gone()
    session = require_one_session(desk.path, ["ok", "ok", "ok"])
    assert [event.cases for event in session.resumed] == [(0, 1, 2), (1, 2)]
    assert "2 times: " in markdown(session)


def test_only_one_engine_writes_a_session(desk: Desk, tiny_sweep: Callable[..., Sweep]) -> None:
    desk.start(tiny_sweep("batch_size=1,2", *ENDLESS))
    with pytest.raises(
        BenchtuiError, match=f"{desk.path}: in use by a running sweep; watch it with `benchtui attach"
    ):
        client.resume(desk.path)
    desk.kill()
    desk.resume()
    with pytest.raises(BenchtuiError, match="in use by a running sweep"):
        client.resume(desk.path)
    desk.until(lambda session: session.resumed)
    assert len(Session.load(desk.path).resumed) == 1


def moved(path: Path, **host: object) -> bytes:
    """Have a record say that it was made on another machine."""
    first, start, rest = path.read_bytes().split(b"\n", 2)
    event = json.loads(start.removesuffix(b","))
    event["host"] |= host
    data = b"\n".join((first, json.dumps(event).encode() + b",", rest))
    path.write_bytes(data)
    return data


def test_torn_session_resumes_on_another_machine_with_anyway(
    desk: Desk, tiny_sweep: Callable[..., Sweep]
) -> None:
    desk.start(tiny_sweep("batch_size=1,2", "iterations=1000000", "max_time=1s", "warmup=0"))
    desk.until(measuring(1))
    desk.kill()
    far_s = 1e7  # longer than this machine has run, as after a reboot
    with desk.path.open("ab") as file:
        file.write(b'{"event":"message","t":1e7,"level":"info","text":"late"},\n')
        file.write(b'{"event":"steps","t":3.5,"case":1,"phase":"measure","wall_ms":[1.0,2.0]')
    before = moved(desk.path, hostname="far-away", python="3.8.1")
    assert Session.load(desk.path).torn
    with pytest.raises(BenchtuiError) as refused:
        desk.resume()
    said = str(refused.value)
    assert (
        "Host: far-away → " in said and "Python: 3.8.1 → " in said and said.endswith("; use --anyway to resume")
    )
    assert "\n" not in said and desk.path.read_bytes() == before
    desk.resume(anyway=True)
    desk.gone()
    session = require_one_session(desk.path, ["ok", "ok"])
    assert not session.torn
    end = session.cases[1].finished
    assert end is not None and end.measured_s is not None
    assert far_s < end.measured_s[0] < end.measured_s[1] <= end.t < far_s + PATIENCE_S
    (warning,) = (message.text for message in session.messages if "resumed although" in message.text)
    assert "Host: far-away → " in warning
    assert "Resumed on a different machine" in markdown(session)


@pytest.mark.long
def test_resume_killed_at_startup_can_be_repeated(desk: Desk, tiny_sweep: Callable[..., Sweep]) -> None:
    """At ten moments of a chosen chance, from before the engine comes up to after its cases have begun."""
    desk.start(tiny_sweep("batch_size=1,2", "iterations=1000000", "max_time=1s", "warmup=0"))
    desk.until(measuring(1))
    os.kill(desk.engines[-1].pid, signal.SIGTERM)
    kept = desk.gone().cases[0].finished
    chance = random.Random(20261121)
    for attempt in range(10):
        command = [sys.executable, "-P", "-m", "benchtui.engine", "--id", f"killed-{attempt}", "--resume"]
        with subprocess.Popen(
            [*command, str(desk.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(b"{}")
            process.stdin.close()
            if attempt % 2:
                process.stdout.readline()  # it has come up, and is at work
            time.sleep(chance.uniform(0.0, 1.5))
            process.kill()
        assert Session.load(desk.path).cases[0].finished == kept
    desk.resume()
    desk.gone()
    session = require_one_session(desk.path, ["ok", "ok"])
    assert session.cases[0].finished == kept
    assert 6 <= len(session.resumed) <= 11
