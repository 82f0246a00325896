"""How benchtui opens, reads and replays large sessions: `make bench`.

Three sessions are written: 5,000 measured cases, 10 million steps in ten cases, an hour with eight GPUs.
Of each come: time to the first paint and until all is read, in a pseudo-terminal of 120x40, from a key
to its answer; peak resident memory of the app; without a screen, that of a
fold, and time to append, to index and to seek; time and memory of the report.
"""

import json
import os
import random
import re
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import click
import pexpect

from benchtui.sessions.events import (
    AnyEvent,
    CaseFinished,
    CasePrepared,
    CaseStarted,
    SessionFinished,
    SessionStarted,
    Steps,
    Telemetry,
)
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import Gpu, GpuReadings, Host, HostReadings, Memory, Model
from benchtui.sessions.sweep import Axes, Measure, Sweep, cases

BIN = Path(sys.executable).parent
PARTS = {"tokenize": 0.05, "transfer": 0.01, "forward": 0.93, "result": 0.01}
RUNS, ENOUGH_S = 5, 60.0
FIRST_PAINT = re.compile(rb"Monitor")


@dataclass(frozen=True)
class Plan:
    """What a session consists of."""

    name: str
    axes: Axes
    measured: int
    """How many of its cases are measured; the others wait."""
    events: int
    """Events of steps a case."""
    steps: int
    """Steps an event."""
    parts: tuple[str, ...]
    gpus: int = 0
    event_s: float = 0.1


PLANS = (
    Plan(
        "5,000 cases, all measured",
        Axes(threads=tuple(range(1, 51)), batch_size=tuple(range(1, 101))),
        5_000,
        1,
        20,
        ("forward",),
    ),
    Plan("10 million steps", Axes(batch_size=tuple(range(1, 11))), 10, 1000, 1000, ("tokenize", "forward")),
    Plan(
        "an hour, 8 GPUs, 300 cases",
        Axes(device=("cuda:0",), batch_size=tuple(range(1, 301))),
        300,
        120,
        10,
        tuple(PARTS),
        8,
    ),
)


def events_of(plan: Plan) -> Iterator[AnyEvent]:
    """The events of a session, with times that vary by a hundredth."""
    sweep = Sweep(name="large", model="m", axes=plan.axes, measure=Measure(iterations=plan.events * plan.steps))
    planned = [case.config for case in cases(sweep)]
    gpus = tuple(Gpu(index=index, name="GPU", memory_mb=80_000) for index in range(plan.gpus))
    host = Host(hostname="box", cpu_count=16, gpus=gpus)
    yield SessionStarted(
        t=0.0, id="large", created="2026-11-21T10:00:00Z", sweep=sweep, plan=tuple(planned), host=host
    )
    chance, t = random.Random(1), 0.0
    for case, config in enumerate(planned[: plan.measured]):
        yield CaseStarted(t=t, case=case, config=config)
        yield CasePrepared(t=t, case=case, model=Model(name="m"), marks=("random weights",))
        for _ in range(plan.events):
            t = round(t + plan.event_s, 6)
            wall_ms = [round(5 * chance.uniform(1, 1.01), 4) for _ in range(plan.steps)]
            parts = {part: [round(ms * PARTS[part], 4) for ms in wall_ms] for part in plan.parts}
            counts = [config.batch_size * 128] * plan.steps
            yield Steps(
                t=t,
                case=case,
                phase="measure",
                wall_ms=wall_ms,
                parts_ms=parts,
                tokens=counts,
                padded_tokens=counts,
            )
            if plan.gpus and round(t * 10) % 5 == 0:
                yield readings(t, plan.gpus)
        yield CaseFinished(t=t, case=case, outcome="ok", memory=Memory(peak_rss_mb=500.0))
    yield SessionFinished(t=t, outcome="completed")


def readings(t: float, gpus: int) -> Telemetry:
    """Half a second of samples at 4 Hz."""
    each = tuple(
        GpuReadings(
            index=index,
            power_w=[400.1, 401.2],
            memory_used_mb=[900.0, 900.0],
            utilization_percent=[98.0, 97.0],
            temperature_c=[60.0, 61.0],
            graphics_clock_mhz=[1980.0, 1980.0],
            throttle=["", ""],
            energy_j=[t * 400, t * 400 + 100],
        )
        for index in range(gpus)
    )
    host = HostReadings(
        cpu_percent=[104.0, 104.2], worker_rss_mb=[1600.0, 1600.1], engine_cpu_percent=[0.5, 0.5]
    )
    return Telemetry(t=t, at_s=[t - 0.25, t], gpus=each, host=host)


def write(plan: Plan, path: Path) -> None:
    """Write a session as the engine would, but without waiting for the disk."""
    with mock.patch("os.fsync"):
        journal = Journal(path)
        for event in events_of(plan):
            journal.append(event)
        journal.close()


def opened(path: Path) -> dict[str, float]:
    """The app on a session, in a terminal: seconds to the first paint and until all is read; MB at most."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # nobody waits for the compiler but the first time
    began = time.perf_counter()
    app = pexpect.spawn(
        str(BIN / "benchtui"),
        ["attach", str(path)],
        dimensions=(40, 120),
        timeout=120,
        env=os.environ | {"TERM": "xterm-256color", "LANG": "C.UTF-8"},
    )
    app.delaybeforesend = None
    app.expect(FIRST_PAINT)
    first_s = time.perf_counter() - began
    app.expect(re.compile(rb"completed|interrupted"))
    all_s = time.perf_counter() - began
    lag_ms = key_ms(app)
    memory_mb = peak_mb(app.pid)
    app.send("q")
    app.expect(pexpect.EOF)
    return {"first paint s": first_s, "all read s": all_s, "key ms": lag_ms, "app peak MB": memory_mb}


def key_ms(app: "pexpect.spawn[bytes]") -> float:
    """Milliseconds from a key to what it draws, the median of a few."""
    found = []
    for key in "gjjkkjGgj":
        time.sleep(0.3)
        while select.select([app.child_fd], [], [], 0)[0]:
            app.read_nonblocking(1 << 16, 1)
        began = time.perf_counter()
        app.send(key)
        app.read_nonblocking(1, 10)
        found.append((time.perf_counter() - began) * 1000)
    return statistics.median(found)


def peak_mb(pid: int) -> float:
    """Peak resident memory of a process, in units of 10**6 bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6


def exported(path: Path) -> dict[str, float]:
    """The report of a session: seconds more than starting Python with pandas takes, and MB at most.

    Of several runs in turns each takes its quickest, unless one takes long.
    """
    without_s, took_s, memory_mb = [], [], []
    while len(took_s) < RUNS and sum(took_s) < ENOUGH_S:
        without_s.append(timed([sys.executable, "-c", "import pandas"])[0])
        seconds, most_mb = timed([BIN / "benchtui", "export", path, "-o", path.with_suffix(".md")])
        took_s.append(seconds)
        memory_mb.append(most_mb)
    return {"export +s": min(took_s) - min(without_s), "export MB": max(memory_mb)}


def timed(command: list[str | Path]) -> tuple[float, float]:
    """Seconds that a command takes, and its peak resident memory in units of 10**6 bytes."""
    began = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise click.ClickException(f"{command[0]} ended with exit status {process.returncode}")
    return time.perf_counter() - began, used.ru_maxrss * 1024 / 1e6


FOLD = """
import json, random, statistics, sys, time
from pathlib import Path
from benchtui.sessions.replay.timeline import ReplayCursor, Timeline
from benchtui.tui.live.feed import Feed

path, seeks = Path(sys.argv[1]), int(sys.argv[2])
if not seeks:
    feed = Feed(path, None, time.monotonic)
    while not feed.caught_up:
        feed.poll()
    took = []
    for _ in range(20):
        with path.open("ab") as file:
            file.write(b'{"event":"message","t":1.0,"level":"info","text":"one more"},\\n')
        began = time.perf_counter()
        feed.poll()
        took.append((time.perf_counter() - began) * 1000)
    found = {"fold MB": 0.0, "append ms": statistics.median(took)}
else:
    began = time.perf_counter()
    timeline = Timeline(path)
    while not timeline.complete:
        timeline.read()
    found = {"index s": time.perf_counter() - began}
    cursor, chance, took = ReplayCursor(timeline), random.Random(2), []
    for _ in range(seeks):
        t = chance.uniform(0, timeline.end_s)
        began = time.perf_counter()
        cursor.seek(t)
        while not cursor.move(t):
            pass
        took.append((time.perf_counter() - began) * 1000)
    found |= {"replay MB": 0.0, "seek ms": statistics.median(took), "worst seek ms": max(took)}
status = Path("/proc/self/status").read_text()
peak = int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6
print(json.dumps({key: value or peak for key, value in found.items()}))
"""


def in_own_process(path: Path, seeks: int) -> dict[str, float]:
    """A fold without a screen, in a process of its own: of the record once, or at moments drawn by chance."""
    done = subprocess.run(
        [sys.executable, "-c", FOLD, str(path), str(seeks)], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


COLUMNS: dict[str, Callable[[float], str]] = {
    "file MB": "{:.0f}".format,
    "first paint s": "{:.2f}".format,
    "all read s": "{:.1f}".format,
    "key ms": "{:.0f}".format,
    "app peak MB": "{:.0f}".format,
    "fold MB": "{:.0f}".format,
    "append ms": "{:.2f}".format,
    "index s": "{:.1f}".format,
    "replay MB": "{:.0f}".format,
    "seek ms": "{:.1f}".format,
    "worst seek ms": "{:.1f}".format,
    "export +s": "{:.1f}".format,
    "export MB": "{:.0f}".format,
}


@click.command()
@click.option("--seeks", default=100, show_default=True)
def main(seeks: int) -> None:
    """Print a table: a row a session, times of this machine as it is now."""
    print(f"{'session':28}" + "".join(f"{name:>15}" for name in COLUMNS), flush=True)
    for plan in PLANS:
        with tempfile.TemporaryDirectory(prefix="benchtui-large-") as folder:
            path = Path(folder) / "large.json"
            write(plan, path)
            figures = {"file MB": path.stat().st_size / 1e6, **opened(path)}
            figures |= in_own_process(path, seeks) | exported(path) | in_own_process(path, 0)
            cells = "".join(f"{form(figures[name]):>15}" for name, form in COLUMNS.items())
            print(f"{plan.name:28}{cells}", flush=True)


if __name__ == "__main__":
    main()
