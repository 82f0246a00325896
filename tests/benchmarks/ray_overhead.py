"""What a Ray cluster costs a case, and whether steps on it take as long as without: local and Ray in turns.

The same sweep runs on this machine and on a Ray cluster of one node on it. Per case: sessions of 10 short
cases, one after the other, from the start of the first case to the end of the last. Per step: two long sweeps
in turns of two seconds, one stopped while the other runs; a step in which it was stopped is left out.
"""

import signal
import statistics
import tempfile
import time
from pathlib import Path

import click
import lab
import psutil
import turns

from benchtui.engine import client
from benchtui.sessions.session import Session
from benchtui.sessions.sweep import Sweep
from benchtui.sessions.sweep_file import parse_sweep

MODEL = """
model = "distilbert-base-uncased-finetuned-sst-2-english"
weights = "random"
axes.sequence_length = 32
measure.peaks = false
measure.warmup = 2
"""
CASES = 10


def sweep(address: str | None, *overrides: str) -> Sweep:
    """The sweep, on a cluster or here."""
    where = () if address is None else ("executor=ray", f"address={address}")
    return parse_sweep(MODEL, "overhead", (*where, *overrides), "overhead")


def per_case_ms(path: Path, address: str | None) -> float:
    """Time from one case to the next, steps included."""
    engine = client.start(sweep(address, f"batch_size=1..{CASES}", "iterations=2"), path)
    lab.Taken(engine).until_ended()
    cases = Session.load(path).cases
    begun = min(case.started.t for case in cases if case.started)
    ended = max(case.finished.t for case in cases if case.finished)
    return 1000 * (ended - begun) / len(cases)


def steps_ms(folder: Path, address: str, seconds: float) -> tuple[list[float], list[float]]:
    """Steps of the two sweeps, local first, that ran in turns."""
    overrides = ("iterations=1000000", f"max_time={9 * seconds:g}s", "timeout=1h")
    engines = [
        client.start(sweep(where, *overrides), folder / f"{name}.json")
        for name, where in (("local", None), ("ray", address))
    ]
    for engine in engines:
        while b'"phase":"measure"' not in engine.path.read_bytes():
            time.sleep(0.1)
    here = psutil.Process(engines[0].pid)
    sides = [[here, *here.children(recursive=True)], lab.stations()]
    for _ in range(round(seconds / turns.TURN_S)):
        for running, waiting in (sides, sides[::-1]):
            turns.send(waiting, signal.SIGSTOP)
            turns.send(running, signal.SIGCONT)
            time.sleep(turns.TURN_S)
    turns.send([*sides[0], *sides[1]], signal.SIGCONT)
    for engine in engines:
        engine.stop()
        lab.Taken(engine).until_ended()
    local, ray = (list(Session.load(engine.path).cases[0].measured.wall_ms) for engine in engines)
    return local, ray


@click.command()
@click.option("--runs", default=5, show_default=True)
@click.option("--seconds", default=20.0, show_default=True, help="How long each of the long sweeps runs.")
def main(runs: int, seconds: float) -> None:
    """Print both."""
    with (
        tempfile.TemporaryDirectory(prefix="benchtui-ray-", dir="/tmp") as folder,
        lab.ray_cluster(1) as address,
    ):
        lab.isolate(folder)
        more = []
        for run in range(runs):
            local, ray = (
                per_case_ms(Path(folder) / f"{run}-{name}.json", where)
                for name, where in (("local", None), ("ray", address))
            )
            more.append(ray - local)
            print(f"case  run {run + 1}/{runs}  local {local:7.1f} ms  Ray {ray:7.1f} ms  {more[-1]:+7.1f} ms")
        print(f"case  more on Ray: median {statistics.median(more):+.1f} ms, of {runs} runs", flush=True)
        for run in range(runs):
            found = Path(folder) / f"steps-{run}"
            found.mkdir()
            local_ms, ray_ms = steps_ms(found, address, seconds)
            ratio, words = turns.ratio(ray_ms, local_ms, ("Ray", "local"))
            print(f"step  run {run + 1}/{runs}  {words}  ratio {ratio:.3f}", flush=True)


if __name__ == "__main__":
    main()
