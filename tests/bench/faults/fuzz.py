"""Feeds broken files to everything that reads files: none may end in a traceback, a hang, or a flood of memory.

``python tests/bench/faults/fuzz.py --count 100000 --seed 1 --processes 2 --keep FOLDER`` says how many were
read and refused, and keeps a file of each kind of fault. Exit status 1 where there was one. With ``--typed``
values have the types of the records that they are read into (``typed.py``), without it good files are broken
(``mutations.py``). With ``--costly`` files of a megabyte are made to be expensive to read (``costly.py``): none
may take more than a second of processor time or 200 MB.
"""

import argparse
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import FrameType

import corpus
import costly
import mutations
import readers
import typed

from benchtui.sessions.errors import BenchtuiError

LONGEST_S = 3.0
"""Processor time that reading one file in one way may take; a tenth is usual, and busy machines are slower."""
HUNG_S = 60.0
HARDEST_S = 10
"""Processor time after which a process that reads a costly file is killed."""
MOST_COST_S = 1.0
"""Processor time, of all threads, that reading a costly file may take. Wall time would depend on other load."""
MOST_COST_MB = 200
"""Memory by which reading a costly file may raise the process's peak. Measured in a process forked after all
imports, from what was resident at the fork, so that interpreter and libraries don't count."""
ATTEMPTS = 3
"""Attempts at a file that takes too long, the fastest of which counts: a busy machine makes all code slower."""
MOST_MB = 1500
"""Address space that a process may grow by; the largest file is 0.1 MB."""

Mutate = Callable[[bytes, random.Random, bytes], bytes]
BYTES: Mutate = mutations.bytes_of
JSON: Mutate = lambda data, dice, _: mutations.json_of(data, dice)  # noqa: E731
TOML: Mutate = lambda data, dice, _: mutations.toml_of(data, dice)  # noqa: E731

KINDS: dict[str, tuple[int, tuple[bytes, ...], tuple[Mutate, ...]]] = {
    "session": (5, corpus.SESSIONS, (BYTES, JSON, JSON, JSON)),
    "sweep": (3, corpus.SWEEPS, (BYTES, TOML, TOML)),
    "settings": (1, (corpus.SETTINGS,), (BYTES, TOML)),
    "theme": (1, (corpus.THEME,), (BYTES, TOML)),
    "import": (3, corpus.IMPORTS, (BYTES, JSON, JSON)),
}
"""How often a kind comes, what it is made from, and how."""


class HungError(Exception):
    """Reading took too long."""


@dataclass
class Found:
    """What came of files."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """A file for each fault, with the last lines of its traceback, by where it came from."""

    def add(self, other: "Found") -> None:
        """Take in what another process found."""
        self.counts += other.counts
        self.faults = other.faults | self.faults


@dataclass(frozen=True, slots=True)
class Task:
    """Which files to make."""

    seed: int
    kind: str | None = None
    """One of the kinds alone."""
    typed: bool = False
    """Whether all values are to have the right types."""


def made(task: Task, number: int) -> tuple[str, bytes]:
    """One file, and of which kind it is; the same at every call."""
    dice = random.Random(task.seed * 1_000_003 + number)
    if not task.typed:
        return _broken(dice, task.kind)
    names = [task.kind] if task.kind else list(typed.MAKERS)
    chosen = dice.choices(names, [typed.MAKERS[name][0] for name in names])[0]
    return chosen, typed.MAKERS[chosen][1](dice)


def _broken(dice: random.Random, kind: str | None) -> tuple[str, bytes]:
    """A good file with something in it broken."""
    names = [kind] if kind else list(KINDS)
    chosen = dice.choices(names, [KINDS[name][0] for name in names])[0]
    _, whole, ways = KINDS[chosen]
    data, mutate = dice.choice(whole), dice.choice(ways)
    try:
        return chosen, mutate(data, dice, dice.choice(whole))
    except (ValueError, RecursionError):  # a table of commas is no JSON
        return chosen, mutations.bytes_of(data, dice, data)


def examine(kind: str, data: bytes, folder: Path, dice: random.Random, every: bool = False) -> Found:
    """Read a file in two of the ways in which it may be read, or in every way."""
    found, path = Found(), folder / "file"
    path.write_bytes(data)
    ways = readers.OF_KINDS[kind]
    for read in ways if every else dice.sample(ways, min(2, len(ways))):
        began_s = time.process_time()
        try:
            with _alarm():
                read(path, dice)
            outcome = "read"
        except BenchtuiError as error:
            outcome = "refused"
            if not readers.refused_in_one_line(error):
                found.faults[f"{read.__name__}: several lines"] = (str(error), data)
        except Exception as error:  # noqa: BLE001  (whatever comes out here is a fault)
            outcome = "fault"
            found.faults[f"{read.__name__}: {_place(error)}"] = (traceback.format_exc()[-3000:], data)
        if (spent_s := time.process_time() - began_s) > LONGEST_S:
            found.faults[f"{read.__name__}: slow"] = (f"{spent_s:.1f} s", data)
        found.counts[f"{kind} {outcome}"] += 1
    return found


@dataclass(frozen=True, slots=True)
class Cost:
    """What reading a file took."""

    outcome: str
    """``read``, ``refused``, or the last lines of a traceback."""
    spent_s: float
    grown_mb: float

    @property
    def fault(self) -> str | None:
        """What is wrong with it; None if nothing is."""
        if self.outcome not in ("read", "refused"):
            return self.outcome
        if self.spent_s > MOST_COST_S or self.grown_mb > MOST_COST_MB:
            return f"{self.outcome} after {self.spent_s:.1f} s and {self.grown_mb:.0f} MB"
        return None


def cost(read: readers.Read, data: bytes, folder: Path) -> Cost:
    """Read a file in a process of its own, and measure it; the fastest of several attempts if it is slow."""
    attempts = [_cost(read, data, folder)]
    while len(attempts) < ATTEMPTS and attempts[-1].spent_s > MOST_COST_S:
        attempts.append(_cost(read, data, folder))
    return min(attempts, key=lambda each: each.spent_s)


def _cost(read: readers.Read, data: bytes, folder: Path) -> Cost:
    path, result = folder / "file", folder / "cost"
    path.write_bytes(data)
    result.unlink(missing_ok=True)
    if (child := os.fork()) == 0:
        with suppress(BaseException):
            result.write_text(json.dumps(_measured(read, path)))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if not result.exists():
        return Cost(f"died: {status}", HARDEST_S, 0.0)
    return Cost(*json.loads(result.read_text()))


def _measured(read: readers.Read, path: Path) -> tuple[str, float, float]:
    """Read a file within limits that end the process; return the outcome, seconds and MB."""
    resource.setrlimit(resource.RLIMIT_CPU, (HARDEST_S, HARDEST_S))
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + MOST_MB * 10**6, resource.RLIM_INFINITY))
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here (proc(5))
    before_mb, began_s = _memory_mb("VmRSS"), time.process_time()
    try:
        read(path, random.Random(0))
        outcome = "read"
    except BenchtuiError as error:
        outcome = "refused" if readers.refused_in_one_line(error) else f"several lines: {str(error)[:500]}"
    except Exception:  # noqa: BLE001  (whatever comes out here is a fault)
        outcome = traceback.format_exc()[-1500:]
    return outcome, time.process_time() - began_s, _memory_mb("VmHWM") - before_mb


def _memory_mb(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) / 1e3


def run_costly(kind: str, numbers: range, *, every: bool) -> Found:
    """Read the file of each recipe of a kind, and grown ones, in one of the ways or in every way."""
    readers.load_libraries()
    found = Found()
    grown = ((f"grown {number}", costly.grown(kind, random.Random(number))) for number in numbers)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for name, data in chain(costly.every(kind), grown if kind in costly.GROWING else ()):
            ways = readers.READERS[kind]
            for read in ways if every else [random.Random(name).choice(ways)]:
                spent = cost(read, data, Path(folder))
                if spent.fault:
                    found.faults[f"{kind}, {name}, {read.__name__}"] = (spent.fault, data)
                found.counts[f"{kind} {spent.outcome if spent.fault is None else 'fault'}"] += 1
    return found


def run(task: Task, numbers: range) -> Found:
    """Make and read so many files."""
    warnings.simplefilter("error")
    readers.load_libraries()  # a second, which is not the time of the first file that is reported or drawn
    found = Found()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for number in numbers:
            chosen, data = made(task, number)
            found.add(examine(chosen, data, Path(folder), random.Random(number)))
    return found


@contextmanager
def _alarm() -> Iterator[None]:
    def ring(_number: int, _frame: FrameType | None) -> None:
        raise HungError

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, HUNG_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _place(error: Exception) -> str:
    """The error with the innermost line of ours that it came from."""
    ours = [each for each in traceback.extract_tb(error.__traceback__) if "/tests/" not in each.filename]
    inner = next((each for each in reversed(ours) if "site-packages" not in each.filename), None)
    where = f"{Path(inner.filename).name}:{inner.lineno}" if inner else "here"
    return f"{type(error).__name__} at {where}"


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + MOST_MB * 10**6, resource.RLIM_INFINITY))
    os.nice(5)


def _run_all(options: argparse.Namespace) -> Found:
    found, task = Found(), Task(options.seed, options.kind, options.typed)
    pieces = [range(start, min(start + 250, options.count)) for start in range(0, options.count, 250)]
    with ProcessPoolExecutor(options.processes, initializer=_limit_memory, max_tasks_per_child=None) as pool:
        for each in pool.map(run, [task] * len(pieces), pieces):
            found.add(each)
    return found


def _run_all_costly(options: argparse.Namespace) -> Found:
    found = Found()
    numbers = range(options.seed * 1_000_003, options.seed * 1_000_003 + options.count)
    for kind in [options.kind] if options.kind else readers.READERS:
        found.add(run_costly(kind, numbers, every=True))
    return found


def main() -> int:
    """Read many files in several processes, and print the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--kind", choices=list(readers.READERS))
    parser.add_argument("--typed", action="store_true", help="values of the right types")
    parser.add_argument("--costly", action="store_true", help="files that are expensive to read")
    parser.add_argument("--keep", type=Path, help="folder for a file of each fault")
    options = parser.parse_args()
    found = _run_all_costly(options) if options.costly else _run_all(options)
    print(json.dumps(dict(sorted(found.counts.items()))))
    for place, (name, (told, data)) in enumerate(sorted(found.faults.items())):
        print(f"\n== {place}: {name}\n{told}")
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{place}.bin").write_bytes(data)
    print(f"{options.count} files, {len(found.faults)} kinds of faults")
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
