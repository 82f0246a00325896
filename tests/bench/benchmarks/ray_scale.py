"""Many cases on a Ray cluster, and the events of many nodes into one engine: wall time against the ideal.

The cases sleep, so that nodes of one machine don't take each other's processors: 20 steps of 20 ms. Every one
is a fresh process all the same, and all nodes share the processors of this machine for that. The events are
those of 64 nodes of 8 GPUs in mid-case, which played stations send: 100 or 1,000 steps a second, and the
readings, in events as often as the engine asks for them. The engine's processor time is a share of one
processor, its memory the most that was resident; the screen's are those of an app that watches.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import lab
import msgspec

from benchtui.engine import client
from benchtui.engine.client import Engine
from benchtui.engine.control import StartOptions
from benchtui.sessions.permissions.needed import keys, needed_permissions
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.sweep import Axes, Measure, Run, Sweep
from benchtui.sessions.sweep_secrets import to_send

HERE = Path(__file__).parent
STEP_S, STEPS = 0.02, 20
OWN = f"""
import time

class Sleeper:
    samples = 1

    def step(self):
        time.sleep({STEP_S})

def make(case):
    return Sleeper()
"""
COLUMNS = (
    *("nodes", "steps/s", "cases", "wall s", "ideal s", "over ideal"),
    *("engine %", "engine MB", "file MB", "events/s"),
    *("screen %", "screen kB/s", "screen MB"),
)


def main_row(what: str, nodes: int, pace: int, ideal_s: float, engine: Engine) -> str:
    """A line of the table, once the sweep has ended, which a screen has watched."""
    usage, screen = lab.EngineUsage(engine), lab.Screen(engine)
    usage.wait_until_ended()
    watched, path = screen.usage(), engine.path
    wall_s = measured_s(path)
    session = Session.load(path, metrics)
    bad = [case for case in session.cases if case.state != "ok"]
    if bad:
        raise click.ClickException(f"case {bad[0].index}: {bad[0].finished}")
    events = path.read_bytes().count(b"\n")
    size_mb = path.stat().st_size / 1e6
    over, used = wall_s / ideal_s, 100 * usage.cpu_s / wall_s
    engine_took = (used, usage.rss_mb, size_mb, events / wall_s)
    figures = (nodes, pace, len(session.cases), wall_s, ideal_s, over, *engine_took, *watched)
    return f"{what:<8}" + "".join(
        f"{figure:>{len(column) + 2}.{1 + (column == 'over ideal') if isinstance(figure, float) else 0}f}"
        for column, figure in zip(COLUMNS, figures, strict=True)
    )


def sweep(cases: int, task: str, address: str = "auto") -> Sweep:
    """So many cases, shared."""
    return Sweep(
        name="scale",
        model="none",
        task=task,
        axes=Axes(batch_size=tuple(range(1, cases + 1))),
        measure=Measure(warmup=0, iterations=STEPS, peaks=False),
        run=Run(executor="ray", address=address, repeat_on_each=False),
    )


def on_ray(folder: Path, nodes: int, cases: int) -> str:
    """The cases on a real cluster."""
    own = folder / "own.py"
    own.write_text(OWN)
    with lab.ray_cluster(nodes) as address:
        wanted = sweep(cases, f"{own}:make", address)
        engine = client.start(wanted, folder / "ray.json", keys(needed_permissions(wanted)))
        return main_row("Ray", nodes, round(1 / STEP_S), cases * STEP_S * STEPS / nodes, engine)


def played(folder: Path, nodes: int, pace: int, rounds: int, seconds: float) -> str:
    """The events of so many nodes of so many steps a second, each through some cases of so many seconds."""
    name = f"played{nodes}x{pace}"
    path = folder / f"{name}.json"
    command = [sys.executable, "-P", str(HERE / "played_cluster.py"), str(nodes), str(seconds), str(pace)]
    process = subprocess.Popen(
        [*command, "--id", name, str(path)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    with process, process.stdin or sys.exit() as pipe:
        pipe.write(msgspec.json.encode(StartOptions(sweep=to_send(sweep(nodes * rounds, "classify")))))
        pipe.close()
        while not path.exists():
            time.sleep(0.05)
        return main_row("played", nodes, pace, rounds * seconds, Engine(name, path, process.pid))


def measured_s(path: Path) -> float:
    """From the start of the first case to the end of the last."""
    cases = Session.load(path, metrics).cases
    begun = min(case.started.t for case in cases if case.started)
    return max(case.finished.t for case in cases if case.finished) - begun


@click.command()
@click.option("--cases", default=1000, show_default=True)
@click.option("--nodes", default=8, show_default=True, help="Of the Ray cluster.")
@click.option("--played", "many", default=64, show_default=True, help="Nodes that are played.")
@click.option("--seconds", default=10.0, show_default=True, help="Of a played case.")
def main(cases: int, nodes: int, many: int, seconds: float) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(prefix="benchtui-scale-", dir="/tmp") as folder:
        lab.isolate(folder)
        print(" " * 8 + "".join(f"  {column}" for column in COLUMNS), flush=True)
        for count, pace in ((1, 1000), (nodes, 1000), (many, 100), (many, 1000)):
            print(played(Path(folder), count, pace, 2, seconds), flush=True)
        if cases:
            print(on_ray(Path(folder), nodes, cases), flush=True)


if __name__ == "__main__":
    main()
