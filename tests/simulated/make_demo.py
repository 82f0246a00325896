"""Writes the session that `benchtui demo` plays: a simulated sweep on a server with four H100 GPUs.

    PYTHONPATH=tests python -m simulated.make_demo

Nothing is measured: every screen and export of it says SIMULATED. The same seed writes the same file. Tests
make servers with other numbers of GPUs.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from simulated import llama
from simulated.box import CPUS, GPU_NAME, Box
from simulated.case_run import CaseRun, Simulation
from simulated.incidents import incident
from simulated.llama import MODEL, PEAK_BYTES_PER_S, PEAK_FLOPS_PER_S
from simulated.step_profile import profile

from benchtui.engine.node.energy import idle_power_w
from benchtui.engine.supervisor.rounds.policy import Rounds
from benchtui.sessions.events import (
    AnyEvent,
    CaseFinished,
    CaseRepeated,
    Explained,
    Idle,
    Message,
    Peaks,
    Runtime,
    SessionFinished,
    SessionStarted,
)
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.library.paths import demo_path
from benchtui.sessions.sweep import Axes, Baseline, Exclusion, Measure, Sweep
from benchtui.sessions.sweep.plan import included_configs

SEED = 7
GPUS = 4
SIMULATED_BY = "a roofline model of Llama 3.2 1B on NVIDIA H100 GPUs"
SWEEP = Sweep(
    name="llama-1b-sweep",
    model=MODEL.name,
    weights="random",
    task="lm-forward",
    dataset="documents.jsonl",
    axes=Axes(
        device=("cuda:0",),
        precision=("fp32", "bf16"),
        attention=("sdpa", "eager"),
        compile=("off", "default"),
        sequence_length=(512, 2048),
        batch_size=(1, 4, 16, 64),
    ),
    measure=Measure(
        warmup=3,
        min_warmup_s=0.5,
        iterations=20,
        min_time_s=None,
        max_time_s=8.0,
        rounds=2,
        retries=1,
        answers=False,  # no model computes any
        baseline=Baseline(precision="bf16", attention="sdpa", compile="off", batch_size=1),
    ),
    exclude=(
        Exclusion(precision="fp32", attention="eager"),
        Exclusion(precision="fp32", compile="default"),
        Exclusion(attention="eager", compile="default"),
    ),
)
EXPLAINED = Baseline(precision="bf16", attention="sdpa")
"""Cases with a profile: small and large batches, with and without the compiler."""
CREATED = "2026-11-23T09:00:00Z"
SUSTAINED, BURST = {"bf16": 0.70, "fp32": 0.82, "bytes": 0.88}, {"bf16": 0.76, "fp32": 0.84, "bytes": 0.91}
"""Measured peaks as shares of the data sheet's."""


def write_demo(path: Path, *, gpus: int = GPUS, seed: int = SEED, sweep: Sweep = SWEEP) -> None:
    """Write a simulated session; raises BenchtuiError if the file exists."""
    journal = Journal(path)
    try:
        for event in events(gpus=gpus, seed=seed, sweep=sweep):
            journal.append(event)
    finally:
        journal.close()


def events(*, gpus: int = GPUS, seed: int = SEED, sweep: Sweep = SWEEP) -> list[AnyEvent]:
    """Simulate a sweep on a server with so many GPUs."""
    found: list[AnyEvent] = []
    random = Random(seed)
    box = Box(gpus, random, found.append)
    simulation = Simulation(box, sweep, tuple(included_configs(sweep)), random, found.append)
    found.append(_session_started(simulation, f"simulated-{seed}-{gpus}"))
    _prepare(simulation)
    rounds, ended = Rounds(sweep.measure), set[int]()
    for round_index in range(sweep.measure.rounds):
        cases = range(len(simulation.configs))
        for case in cases if round_index % 2 == 0 else reversed(cases):
            if case not in ended:
                end = rounds.ended(_run_round(simulation, case, round_index, rounds), round_index)
                found.append(end)
                ended |= {case} if isinstance(end, CaseFinished) else set()
                box.advance(0.05)
    box.advance(0.5)
    box.flush()
    if sweep.task == "lm-forward":
        found += _explained(simulation)
    found.append(SessionFinished(t=round(box.now_s, 4), outcome="completed"))
    return found


def _session_started(simulation: Simulation, name: str) -> SessionStarted:
    return SessionStarted(
        t=0.0,
        id=name,
        created=CREATED,
        sweep=simulation.sweep,
        plan=simulation.configs,
        host=simulation.box.describe(),
        simulated=SIMULATED_BY,
    )


def _prepare(simulation: Simulation) -> None:
    """Record what a sweep finds out before its first case."""
    box, emit = simulation.box, simulation.emit
    emit(Message(t=0.0, level="warning", text=f"simulated: computed by {SIMULATED_BY}; nothing was measured"))
    box.advance(1.3)
    box.flush()
    idle = idle_power_w(box.window, box.describe().gpus, 0.0, box.now_s)
    emit(Idle(t=round(box.now_s, 4), window_s=1.3, power_w=idle))
    box.advance(1.7)
    names = (GPU_NAME,) * len(box.gpus)
    emit(Runtime(t=round(box.now_s, 4), torch="simulated", threads=CPUS // 2, cuda_devices=names))
    for precision in dict.fromkeys(config.precision for config in simulation.configs):
        box.advance(1.1)
        emit(_peaks(round(box.now_s, 4), precision))


def _peaks(t: float, precision: str) -> Peaks:
    flops, copied = PEAK_FLOPS_PER_S[precision], PEAK_BYTES_PER_S
    return Peaks(
        t=t,
        device="cuda:0",
        precision=precision,
        flops_per_s=SUSTAINED[precision] * flops,
        bytes_per_s=SUSTAINED["bytes"] * copied,
        flops_burst_per_s=BURST[precision] * flops,
        bytes_burst_per_s=BURST["bytes"] * copied,
        how=dict.fromkeys(("flops", "bytes"), "simulated: a share of the data sheet's peak"),
    )


def _explained(simulation: Simulation) -> Iterator[Explained]:
    """Yield the profiles of the cases that have one."""
    t = round(simulation.box.now_s, 4)
    for case, config in enumerate(simulation.configs):
        if EXPLAINED.matches(config):
            yield Explained(t=t, case=case, created=CREATED, profile=profile(config, llama.step(config)))


def _run_round(simulation: Simulation, case: int, round_index: int, rounds: Rounds) -> CaseFinished:
    """Run a round, again if it was disturbed, as the engine does."""
    box, config, emit = simulation.box, simulation.configs[case], simulation.emit
    attempt = 0
    while True:
        trouble = incident(config, round_index, attempt)
        end = CaseRun(simulation, case, round_index, trouble).run()
        retry = rounds.retry(end, attempt)
        if retry is None:
            return end
        text = f"{config.name}: {retry.reason}; remeasuring in {retry.pause_s:g} s"
        emit(Message(t=round(box.now_s, 4), level="info", text=text))
        box.advance(retry.pause_s)
        t, attempt = round(box.now_s, 4), attempt + 1
        emit(CaseRepeated(t=t, case=case, round=round_index, reason=retry.reason, pause_s=retry.pause_s))


def main() -> None:
    path = demo_path()
    path.unlink(missing_ok=True)
    write_demo(path)
    path.chmod(0o644)  # a session is its owner's alone; this one is packaged


if __name__ == "__main__":
    main()
