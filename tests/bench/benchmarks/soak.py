"""What the app needs of memory and processor while it follows a very long sweep: a line a tenth of it.

A process writes 10 million steps in 10,000 cases within the given time, much faster than a sweep would; the app
follows in a pseudo-terminal of 120x40. The steps of a case that has ended must not stay in its memory; its
figures and what the engine said of it do, some kB.
"""

import multiprocessing
import os
import sys
import tempfile
import time
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from unittest import mock

import click
from screen import HERE, Screen

from benchtui.sessions.events import CaseFinished, CasePrepared, CaseStarted, SessionStarted, Steps
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import Host, Memory, Model
from benchtui.sessions.sweep import Axes, Measure, Sweep, cases

STEPS = 1000
"""Measured steps of a case."""
EVENTS = 10
"""Events that record them."""
ROWS = 10
TITLES = ("s", "cases", "steps", "file MB", "resident MB", "processor %")


def write(path: Path, count: int, seconds: float, done: "Synchronized[int]") -> None:
    """Write a session of so many cases, evenly over a time."""
    sweep = Sweep(
        name="soak",
        model="m",
        axes=Axes(batch_size=tuple(range(1, count + 1))),
        measure=Measure(iterations=STEPS),
    )
    plan = tuple(case.config for case in cases(sweep))
    journal, began_s = Journal(path), time.monotonic()
    host = Host(hostname="box", cpu_count=16)
    created = "2026-11-21T10:00:00Z"
    journal.append(SessionStarted(t=0.0, id="soak", created=created, sweep=sweep, plan=plan, host=host))
    with mock.patch("os.fsync"):
        for case, config in enumerate(plan):
            t = time.monotonic() - began_s
            journal.append(CaseStarted(t=t, case=case, config=config))
            journal.append(CasePrepared(t=t, case=case, model=Model(name="m"), marks=("random weights",)))
            for event in range(EVENTS):
                ms = [5 + (case * 7 + event * 3 + step * 11) % 97 / 100 for step in range(STEPS // EVENTS)]
                parts = {"transfer": [each / 5 for each in ms], "forward": [each * 4 / 5 for each in ms]}
                tokens = [config.batch_size * 128] * len(ms)
                journal.append(
                    Steps(t=t, case=case, phase="measure", wall_ms=ms, parts_ms=parts, tokens=tokens)
                )
            journal.append(CaseFinished(t=t, case=case, outcome="ok", memory=Memory(peak_rss_mb=500.0)))
            done.value = case + 1
            time.sleep(max(0.0, (case + 1) / count * seconds - (time.monotonic() - began_s)))
    journal.close()


@click.command()
@click.option("--cases", "count", default=10_000, show_default=True)
@click.option("--seconds", default=90.0, show_default=True, help="How long writing is to take.")
@click.option("--most-mb", default=150.0, show_default=True, help="Resident memory that is allowed.")
def main(count: int, seconds: float, most_mb: float) -> None:
    """Print a table. The exit status shows whether memory stayed within bounds."""
    with tempfile.TemporaryDirectory(prefix="benchtui-soak-") as folder:
        os.environ |= dict.fromkeys(("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), folder)
        path, done = Path(folder) / "session.json", multiprocessing.Value("i", 0)
        writer = multiprocessing.Process(target=write, args=(path, count, seconds, done), daemon=True)
        writer.start()
        while not path.exists():
            time.sleep(0.01)
        with Screen([sys.executable, str(HERE / "watched_screen.py"), str(path)]) as screen:
            most = max(rows(screen, path, count, seconds, done))
        writer.join()
    print(f"  most: {most:.0f} MB, allowed {most_mb:g} MB {'' if most <= most_mb else 'OVER'}")
    sys.exit(most > most_mb)


def rows(screen: Screen, path: Path, count: int, seconds: float, done: "Synchronized[int]") -> list[float]:
    """Print a row a tenth of the cases, and one after them; gives the resident memory of each."""
    print("".join(f"{title:>14}" for title in TITLES))
    found, began_s = [], time.monotonic()
    for row in range(1, ROWS + 2):
        cpu_s, since_s = screen.cpu_s(), time.monotonic()
        wanted = count * row // ROWS
        screen.read_for(seconds / ROWS if row > ROWS else 10 * seconds, lambda: done.value >= wanted)  # noqa: B023
        span_s = time.monotonic() - since_s
        share, found = 100 * (screen.cpu_s() - cpu_s) / span_s, [*found, screen.rss_mb()]
        cells = (time.monotonic() - began_s, done.value, done.value * STEPS, path.stat().st_size / 1e6)
        print("".join(f"{cell:14,.0f}" for cell in (*cells, found[-1], share)), flush=True)
    return found


if __name__ == "__main__":
    main()
