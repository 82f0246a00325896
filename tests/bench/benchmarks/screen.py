"""What the screen costs: first paint, bytes and processor time at 2 Hz, memory, keys on a slow link.

A session on eight GPUs is written as fast as an engine writes one; the Monitor watches it in a pseudo-terminal
of 120x40, and beside it the same content in stock Textual widgets, and nvitop from an environment named by
``--nvitop``. Each line shows a figure, its budget, and the same figure of the others in the same run. Budgets
of processor time are for a machine on which the first paint of stock Textual takes 285 ms, and are scaled to
this one by what it takes here.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import click
import lag
import psutil

from benchtui.sessions.events import CaseFinished, CasePrepared, CaseStarted, SessionStarted, Steps, Telemetry
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import Gpu, GpuReadings, Host, HostReadings, Model
from benchtui.sessions.sweep import Axes, Measure, Sweep, cases

HERE = Path(__file__).parent
ROWS, COLUMNS = 40, 120
SPAN_S = 8.0
SETTLE_S = 3.0
SLOW_BYTES_S = 5000
DRAIN_S = 15.0
"""Time for a slow link to take the first pictures."""
PAINTS = 9
KEYS = 6
GPUS = 8
HOME_PAINT_MS = 400
STOCK_PAINT_MS = 285
"""First paint of stock Textual on the machine that the budgets of processor time are for."""


class Engine:
    """Writes a session on, a second of steps and readings each second, ten events a second."""

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path)
        self._at, self._began = 0, time.monotonic()
        self._begin()
        self._thread = threading.Thread(target=self._go, daemon=True)
        self._stop = threading.Event()
        self._thread.start()

    def stop(self) -> None:
        """End writing."""
        self._stop.set()
        self._thread.join()
        self._journal.close()

    @property
    def _t(self) -> float:
        return time.monotonic() - self._began

    def _begin(self) -> None:
        axes = Axes(device=("cuda:0",), precision=("fp32", "fp16"), batch_size=tuple(2**n for n in range(10)))
        sweep = Sweep(name="benchmark", model="some-model", axes=axes, measure=Measure(iterations=5000))
        plan = tuple(case.config for case in cases(sweep))
        gpus = tuple(Gpu(index=n, name="Some GPU", memory_mb=80_000, power_limit_w=700) for n in range(GPUS))
        host = Host(hostname="box", cpu_count=16, memory_mb=64_000, gpus=gpus)
        created = "2026-11-21T10:00:00Z"
        write = self._journal.append
        write(SessionStarted(t=0, id="benchmark", created=created, sweep=sweep, plan=plan, host=host))
        for index, config in enumerate(plan[:6]):
            write(CaseStarted(t=0.0, case=index, config=config))
            write(CasePrepared(t=0.0, case=index, model=Model(name="some-model"), marks=("random weights",)))
            if index < 5:
                write(Steps(t=0.1, case=index, phase="measure", wall_ms=[4.0 + n % 7 / 50 for n in range(200)]))
                write(CaseFinished(t=0.1, case=index, outcome="ok"))

    def _go(self) -> None:
        while not self._stop.wait(0.1):
            self._at += 1
            ms = [4.0 + (self._at * 7 + n) % 13 / 40 for n in range(25)]
            parts = {"transfer": [each / 5 for each in ms], "forward": [each * 4 / 5 for each in ms]}
            self._journal.append(Steps(t=self._t, case=5, phase="measure", wall_ms=ms, parts_ms=parts))
            if self._at % 10 == 0:
                self._journal.append(self._readings())

    def _gpu_readings(self, index: int) -> GpuReadings:
        at = self._at + 7 * index
        return GpuReadings(
            index=index,
            power_w=[300.0 + (at * 3 + n) % 40 for n in range(4)],
            power_limit_w=700,
            memory_used_mb=[8000.0 + at % 50] * 4,
            memory_total_mb=80_000,
            utilization_percent=[90.0 + at % 9] * 4,
            temperature_c=[60.0 + at % 5] * 4,
            graphics_clock_mhz=[1980.0] * 4,
        )

    def _readings(self) -> Telemetry:
        host = HostReadings(
            cpu_percent=[110.0 + self._at % 17] * 4,
            memory_used_mb=[12_000.0 + self._at % 100] * 4,
            worker_cpu_percent=[99.0] * 4,
            worker_rss_mb=[1600.0 + self._at % 20] * 4,
            engine_cpu_percent=[0.6] * 4,
        )
        return Telemetry(
            t=self._t,
            at_s=[self._t + n / 4 for n in range(4)],
            gpus=tuple(map(self._gpu_readings, range(GPUS))),
            host=host,
        )


@dataclass
class Screen:
    """A program in a pseudo-terminal, and what it wrote."""

    command: Sequence[str]
    limit: int | None = None
    """Bytes a second that are read from it; None: as many as it writes."""
    pid: int = 0
    terminal: int = 0
    got: bytearray = field(default_factory=bytearray)

    def __enter__(self) -> "Screen":
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # nobody waits for the compiler but the first time
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.execvp(self.command[0], list(self.command))
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)

    def read_for(self, seconds: float, until: Callable[[], bool] = lambda: False) -> float:
        """Read on for a time, or until something has come; gives the seconds it took."""
        began = time.monotonic()
        budget = 0.0 if self.limit else float("inf")
        while (passed := time.monotonic() - began) < seconds and not until():
            if self.limit:
                budget = self.limit * passed - self._read_since(began)
            if budget >= 1 and select.select([self.terminal], [], [], 0.01)[0]:
                chunk = os.read(self.terminal, int(min(budget, 65536)))
                self.got += chunk
                self._passed += len(chunk)
            elif budget < 1:
                time.sleep(0.01)
        return time.monotonic() - began

    _passed: int = 0
    _mark: tuple[float, int] = (0.0, 0)

    def _read_since(self, began: float) -> int:
        if self._mark[0] != began:
            self._mark = (began, self._passed)
        return self._passed - self._mark[1]

    def press(self, key: bytes) -> None:
        """Type something."""
        os.write(self.terminal, key)

    def cpu_s(self) -> float:
        """Processor time so far."""
        times = psutil.Process(self.pid).cpu_times()
        return times.user + times.system

    def rss_mb(self) -> float:
        """Resident memory in units of 10**6 bytes."""
        return psutil.Process(self.pid).memory_info().rss / 1e6


@dataclass(frozen=True)
class Rate:
    """What drawing costs."""

    kb_s: float
    cpu_percent: float
    rss_mb: float


def first_paints_ms(*programs: tuple[bytes, Sequence[str]]) -> list[float]:
    """Median times from the start of each program until a word of its content has been written, in turns."""
    times: list[list[float]] = [[] for _ in programs]
    for _ in range(PAINTS):
        for (word, command), found in zip(programs, times, strict=True):
            with Screen(command) as screen:
                found.append(1000 * screen.read_for(20, lambda screen=screen, word=word: word in screen.got))  # type: ignore[misc]
    return [median(found) for found in times]


def rate(command: Sequence[str], keys: bytes = b"") -> Rate:
    """Bytes and processor time a second once a program has settled."""
    with Screen(command) as screen:
        screen.read_for(SETTLE_S / 2)
        for key in keys:
            screen.press(bytes([key]))
        screen.read_for(SETTLE_S / 2)
        before, cpu_s = len(screen.got), screen.cpu_s()
        span_s = screen.read_for(SPAN_S)
        written, used_s = len(screen.got) - before, screen.cpu_s() - cpu_s
        return Rate(written / span_s / 1000, 100 * used_s / span_s, screen.rss_mb())


@dataclass(frozen=True)
class Slow:
    """How an app fares on a link of 5 kB/s."""

    key_ms: float
    """The longest time from a key to its effect on the screen."""
    lag_ms: float
    """By how much its loop was late at most."""


def on_slow_link(command: Sequence[str]) -> Slow:
    """Type over a link of 5 kB/s."""
    with tempfile.NamedTemporaryFile("r") as told:
        os.environ[lag.FILE] = told.name
        try:
            with Screen(command, limit=SLOW_BYTES_S) as screen:
                return Slow(*slow_figures(screen, lambda: [float(line) for line in told]))
        finally:
            del os.environ[lag.FILE]


def slow_figures(screen: Screen, late_ms: Callable[[], list[float]]) -> tuple[float, float]:
    """The longest time of a key, and the largest lag meanwhile, once the first pictures have gone through."""
    screen.read_for(DRAIN_S)
    screen.read_for(DRAIN_S / 3)
    late_ms()
    times = []
    for _ in range(KEYS):
        screen.got.clear()
        screen.press(b" ")
        times.append(1000 * screen.read_for(10, lambda: b"frozen" in screen.got))
        screen.press(b" ")
        screen.read_for(1.5)
    return max(times), max(late_ms(), default=float("inf"))


def nvitop_line(environment: Path | None, ours: Rate) -> str:
    """What nvitop costs beside our screen, or why nobody can say."""
    if environment is None:
        return "not measured; --nvitop names an environment that has it"
    command = str(environment.absolute() / "bin" / "nvitop")
    tried = subprocess.run([command, "--once"], capture_output=True, text=True)
    if tried.returncode:
        said = (tried.stderr or tried.stdout).strip().splitlines()
        return f"can't run here: {said[0] if said else f'exit status {tried.returncode}'}"
    (paint_ms,), theirs = first_paints_ms((b"NVIDIA", [command, "--monitor"])), rate([command, "--monitor"])
    return f"first paint {paint_ms:.0f} ms; {_rate_text(theirs)} (ours {_rate_text(ours)})"


def _rate_text(rate: Rate) -> str:
    return f"{rate.kb_s:.1f} kB/s, {rate.cpu_percent:.1f} %, {rate.rss_mb:.0f} MB"


def report(name: str, own: float, budget: float, others: str, unit: str) -> bool:
    """Print a line and return whether the value is within its budget."""
    within = own <= budget
    over = "" if within else "OVER"
    print(f"  {name:34} {own:8.2f} {unit:5} budget {budget:g} {unit:5} {over}   {others}", flush=True)
    return within


@click.command()
@click.option("--nvitop", "environment", type=click.Path(path_type=Path, exists=True), help="Has nvitop.")
def main(environment: Path | None) -> None:
    """Measure and print. The exit status shows whether all budgets were met."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"BENCHTUI_RUNTIME_DIR": folder, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder}
        os.environ["XDG_STATE_HOME"] = folder
        path = Path(folder) / "session.json"
        engine = Engine(path)
        try:
            within = measure(path, environment)
        finally:
            engine.stop()
    sys.exit(0 if within else 1)


def measure(path: Path, environment: Path | None) -> bool:
    """Measure all there is to."""
    installed = str(Path(sys.executable).with_name("benchtui"))
    own = [sys.executable, str(HERE / "watched_screen.py"), str(path)]
    stock = [sys.executable, str(HERE / "stock_screen.py"), str(path)]
    slowness, within = paint_lines([installed, "attach", str(path)], [*stock, "2"])
    mine, plain = rate(own), rate([*stock, "2"])
    within += rate_lines("at 2 Hz", mine, plain, (4, 2 * slowness))
    within.append(report("resident memory", mine.rss_mb, 60, f"stock {plain.rss_mb:.0f} MB", "MB"))
    print(f"  nvitop: {nvitop_line(environment, mine)}", flush=True)
    for what, shown in (
        ("of the live Charts", rate(own, b"3")),
        ("of Home", rate([installed])),
        ("of the end", rate([installed, "demo", "--end"])),
    ):
        within += rate_lines(what, shown, None, (4, 2 * slowness))
        within.append(report(f"resident memory {what}", shown.rss_mb, 60, "", "MB"))
    within += slow_lines("at 2 Hz", on_slow_link(own), on_slow_link([*stock, "2"]), 150)
    return all(within)


def paint_lines(own: Sequence[str], stock: Sequence[str]) -> tuple[float, list[bool]]:
    """The first paint of a session, of Home and of stock Textual; and how much slower this machine is.

    It is compared with the one that the budgets of processor time are for.
    """
    programs = ((b"cases", own), (b"looking for models", own[:1]), (b"cases", stock))
    mine_ms, home_ms, stock_ms = first_paints_ms(*programs)
    slowness = stock_ms / STOCK_PAINT_MS
    print(f"  this machine takes {slowness:.2f} times as long as that of the budgets")
    paints = {"first paint over stock's": mine_ms, "first paint of Home over stock's": home_ms}
    within = [
        report(what, own_ms / stock_ms, 1.1, f"ours {own_ms:.0f} ms, stock {stock_ms:.0f} ms", "times")
        for what, own_ms in paints.items()
    ]
    return slowness, [*within, report("first paint of Home", home_ms, HOME_PAINT_MS * slowness, "", "ms")]


def rate_lines(what: str, mine: Rate, plain: Rate | None, budgets: tuple[float, float]) -> list[bool]:
    """Bytes and processor time a second."""
    theirs = (f"stock {plain.kb_s:.0f} kB/s", f"stock {plain.cpu_percent:.0f} %") if plain else ("", "")
    return [
        report(f"written {what}", mine.kb_s, budgets[0], theirs[0], "kB/s"),
        report(f"processor {what}", mine.cpu_percent, budgets[1], theirs[1], "%"),
    ]


def slow_lines(what: str, mine: Slow, plain: Slow, budget_ms: float) -> list[bool]:
    """The worst of keys and loop on a slow link."""
    word = "more than 10 s" if plain.key_ms >= 10_000 else f"{plain.key_ms:.0f} ms"
    return [
        report(f"a key {what} over 5 kB/s, worst", mine.key_ms, budget_ms, f"stock {word}", "ms"),
        report("the loop's lag meanwhile, worst", mine.lag_ms, 50, f"stock {plain.lag_ms:.0f} ms", "ms"),
    ]


if __name__ == "__main__":
    main()
