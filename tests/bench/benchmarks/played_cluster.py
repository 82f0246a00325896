"""An engine with a cluster whose nodes are played: each says as much as a station on 8 GPUs ever says.

``python played_cluster.py NODES SECONDS PACE --id ID PATH < sweep.json`` is the engine; a case takes so many
seconds. With ``--station SECONDS PACE`` it is a node: while a case runs, so many steps a second, in events as
often as the engine wants them, and the readings.
"""

import sys
import time
from collections.abc import Sequence
from functools import partial

import msgspec

from benchtui.engine import __main__ as engine_main
from benchtui.engine.executor import Node
from benchtui.engine.executors.cluster import ClusterExecutor
from benchtui.engine.executors.stdio_relay import AgentProcess, PullTransport
from benchtui.engine.job import REPORT_S, Job
from benchtui.engine.node import protocol
from benchtui.engine.telemetry.sampler import BATCH, PERIOD_S
from benchtui.sessions.events import CaseFinished, CasePrepared, Runtime, Steps, Telemetry
from benchtui.sessions.payloads import Gpu, GpuReadings, Host, HostReadings, Model
from benchtui.sessions.sweep import Sweep
from benchtui.sessions.version import VERSION

TICK_HZ, GPUS = 10, 8
CARDS = tuple(
    Gpu(index=index, name="NVIDIA H200", memory_mb=143771.0, power_limit_w=700.0) for index in range(GPUS)
)
HOST = Host(hostname="played", memory_mb=1e6, gpus=CARDS)


def send(*reports: protocol.NodeEvent) -> None:
    """Send messages at once."""
    sys.stdout.buffer.write(b"".join(msgspec.json.encode(each) + b"\n" for each in reports))
    sys.stdout.buffer.flush()


def play(job: Job, seconds: float, pace: int, opened: protocol.OpenNode) -> None:
    """All that a case of so many steps a second says, as often as the engine wants to hear of them."""
    send(CasePrepared(t=0.0, case=job.case, model=Model(name="m")))
    every = round(opened.report_s * TICK_HZ)
    read_every = max(every, round(BATCH * PERIOD_S * TICK_HZ))
    steps = steps_of(job.case, pace, pace * every // TICK_HZ)
    due_s = time.monotonic()
    for tick in range(1, round(seconds * TICK_HZ) + 1):
        due_s += 1 / TICK_HZ
        time.sleep(max(0.0, due_s - time.monotonic()))
        if tick % every == 0:
            send(steps)
        if tick % read_every == 0:
            send(
                readings(opened.node, time.monotonic() - opened.zero_s, round(read_every / TICK_HZ / PERIOD_S))
            )
    send(CaseFinished(t=0.0, case=job.case, outcome="ok"))


def steps_of(case: int, pace: int, count: int) -> Steps:
    """An event of so many steps, of which a second has ``pace``."""
    ms = [round((980 + place % 40) / pace, 4) for place in range(count)]
    parts = {"transfer": [round(each / 4, 4) for each in ms], "forward": [round(each * 0.75, 4) for each in ms]}
    tokens = [1024] * count
    return Steps(t=0.0, case=case, phase="measure", wall_ms=ms, device_ms=ms, parts_ms=parts, tokens=tokens)


def readings(node: str, now_s: float, count: int) -> Telemetry:
    """So many samples of everything, the newest one of now."""
    gpu = GpuReadings(
        index=0,
        power_w=[312.5] * count,
        memory_used_mb=[45012.1] * count,
        utilization_percent=[99.0] * count,
        temperature_c=[61.0] * count,
        graphics_clock_mhz=[1755.0] * count,
        throttle=[""] * count,
        energy_j=[round(300 * (now_s - PERIOD_S * back), 1) for back in reversed(range(count))],
    )
    return Telemetry(
        t=0.0,
        at_s=[round(now_s - PERIOD_S * back, 4) for back in reversed(range(count))],
        gpus=tuple(msgspec.structs.replace(gpu, index=index) for index in range(GPUS)),
        host=HostReadings(
            cpu_percent=[90.0] * count, memory_used_mb=[9000.0] * count, worker_rss_mb=[3000.0] * count
        ),
        node=node,
    )


def runner(seconds: float, pace: int) -> int:
    """Answer orders until nobody gives any more."""
    send(protocol.Hello(version=VERSION, host=HOST))
    opened = protocol.OpenNode(zero_s=0.0, dataset="", node="", folder="", report_s=REPORT_S)
    for line in sys.stdin.buffer:
        match protocol.command_decoder.decode(line):
            case protocol.Ping(at_s=at_s):
                send(protocol.Pong(at_s=at_s, here_s=time.monotonic()))
            case protocol.OpenNode() as opened:
                pass
            case protocol.Prepare():
                send(Runtime(t=0.0, torch="2.13", node=opened.node), protocol.TaskDone())
            case protocol.Start(job=job):
                play(job, seconds, pace, opened)
    return 0


def cluster(nodes: int, pace: Sequence[str], sweep: Sweep) -> ClusterExecutor:
    """So many played nodes."""
    names = [f"n{number}" for number in range(nodes)]
    relays = {name: AgentProcess((sys.executable, "-P", __file__, "--station", *pace)) for name in names}
    wires = {name: PullTransport(relay.read, relay.write, relay.close) for name, relay in relays.items()}
    return ClusterExecutor(wires, {name: Node(name, kind="cpu") for name in names}, lambda: None)


def main() -> int:
    """Be an engine, or a node."""
    if sys.argv[1] == "--station":
        return runner(float(sys.argv[2]), int(sys.argv[3]))
    nodes, *pace = sys.argv[1:4]
    engine_main._executor = partial(cluster, int(nodes), pace)
    sys.argv[1:4] = []
    return engine_main.main()


if __name__ == "__main__":
    sys.exit(main())
