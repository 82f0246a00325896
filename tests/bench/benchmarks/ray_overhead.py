"""What a Ray cluster costs a case, and whether steps on it take as long as without: local and Ray in turns.

The same sweep runs on this machine and on a Ray cluster of one node on it. Per case: sessions of 10 short
cases, one after the other, from the start of the first case to the end of the last. Per step: two long sweeps
in turns of two seconds, one stopped while the other runs; a step in which it was stopped is left out. A step is
a row of matrix products that a processor's own cache holds, and both sweeps keep to one processor: steps of two
equal networks differ by more than what is sought, by where their memory lies, and two processors by whom they
are shared with. The same of two local sweeps says how far equal ones differ.
"""

import signal
import statistics
import tempfile
import time
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import click
import lab
import psutil
import turns

from benchtui.engine import client
from benchtui.sessions.permissions.needed import keys, needed_permissions
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Axes, Measure, Run, Sweep
from benchtui.sessions.sweep.toml_reader import parse_sweep

MODEL = """
model = "distilbert-base-uncased-finetuned-sst-2-english"
weights = "random"
axes.sequence_length = 32
measure.peaks = false
measure.warmup = 2
"""
CASES = 10
OWN = """
import torch

class Products:
    samples = 1

    def __init__(self):
        torch.set_num_threads(1)
        self.left, self.right, self.result = torch.randn(96, 96), torch.randn(96, 96), torch.empty(96, 96)

    def step(self):
        for _ in range(1000):
            torch.mm(self.left, self.right, out=self.result)

def make(case):
    return Products()
"""


def sweep(address: str | None, *overrides: str) -> Sweep:
    """The sweep, on a cluster or here."""
    where = () if address is None else ("executor=ray", f"address={address}")
    return parse_sweep(MODEL, "overhead", (*where, *overrides), "overhead")


def per_case_ms(path: Path, address: str | None) -> float:
    """Time from one case to the next, steps included."""
    wanted = sweep(address, f"batch_size=1..{CASES}", "iterations=2")
    engine = client.start(wanted, path, keys(needed_permissions(wanted)))
    lab.EngineUsage(engine).wait_until_ended()
    cases = Session.load(path).cases
    begun = min(case.started.t for case in cases if case.started)
    ended = max(case.finished.t for case in cases if case.finished)
    return 1000 * (ended - begun) / len(cases)


def steps_ms(folder: Path, addresses: Iterable[str | None], seconds: float) -> list[list[float]]:
    """Steps of two sweeps that ran in turns, each on a cluster or here."""
    own = folder / "own.py"
    own.write_text(OWN)
    engines, sides = [], []
    for number, address in enumerate(addresses):
        wanted = products(own, address, 9 * seconds)
        engine = client.start(wanted, folder / f"{number}.json", keys(needed_permissions(wanted)))
        while b'"phase":"measure"' not in engine.path.read_bytes():
            time.sleep(0.1)
        here = psutil.Process(engine.pid)
        engines.append(engine)
        sides.append(lab.node_agents() if address else [here, *here.children(recursive=True)])
        for process in sides[-1]:
            process.cpu_affinity(process.cpu_affinity()[-1:])
    for _ in range(round(seconds / turns.TURN_S)):
        for running, waiting in (sides, sides[::-1]):
            turns.send(waiting, signal.SIGSTOP)
            turns.send(running, signal.SIGCONT)
            time.sleep(turns.TURN_S)
    turns.send([*sides[0], *sides[1]], signal.SIGCONT)
    for engine in engines:
        engine.stop()
        lab.EngineUsage(engine).wait_until_ended()
    return [list(Session.load(engine.path).cases[0].measured.wall_ms) for engine in engines]


def products(own: Path, address: str | None, seconds: float) -> Sweep:
    """One case, which goes on until it is stopped, or for so many seconds."""
    return Sweep(
        name="products",
        model="none",
        task=f"{own}:make",
        axes=Axes(batch_size=(1,), device=("cpu",)),
        measure=Measure(warmup=2, iterations=1_000_000, max_time_s=seconds, timeout_s=3600, peaks=False),
        run=Run() if address is None else Run(executor="ray", address=address),
    )


@click.command()
@click.option("--runs", default=3, show_default=True)
@click.option("--seconds", default=12.0, show_default=True, help="How long each of the long sweeps runs.")
def main(runs: int, seconds: float) -> None:
    """Print both."""
    with (
        tempfile.TemporaryDirectory(prefix="benchtui-ray-", dir="/tmp") as folder,
        lab.ray_cluster(1) as address,
    ):
        lab.isolate(folder)
        more: list[float] = []
        ratios: dict[str, list[float]] = {"Ray": [], "again": []}
        for run in range(runs):
            local, ray = (
                per_case_ms(Path(folder) / f"{run}-{name}.json", where)
                for name, where in (("local", None), ("ray", address))
            )
            more.append(ray - local)
            print(f"case  run {run + 1}/{runs}  local {local:7.1f} ms  Ray {ray:7.1f} ms  {more[-1]:+7.1f} ms")
        print(f"case  more on Ray: median {statistics.median(more):+.1f} ms, of {runs} runs", flush=True)
        for number, name in product(range(runs), ("Ray", "again")):
            found = Path(folder) / f"steps-{number}-{name}"
            found.mkdir()
            local_ms, other_ms = steps_ms(found, (None, address if name == "Ray" else None), seconds)
            ratio, words = turns.ratio(other_ms, local_ms, (name, "local"))
            print(f"step  run {number + 1}/{runs}  {words}  ratio {ratio:.3f}", flush=True)
            ratios[name].append(ratio)
        for name, found_ratios in ratios.items():
            print(f"step  {name} over local: median {statistics.median(found_ratios):.3f}", flush=True)


if __name__ == "__main__":
    main()
