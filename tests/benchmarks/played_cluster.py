"""An engine with a cluster whose nodes are played: each says as much as a station on 8 GPUs ever says.

``python played_cluster.py NODES SECONDS STEPS --id ID PATH < sweep.json`` is the engine; a case takes so many
seconds. With ``--station SECONDS STEPS`` it is a node: while a case runs, 10 events of so many steps and 2 of
readings a second.
"""

import sys
import time
from collections.abc import Sequence
from functools import partial
from importlib import metadata

import msgspec

from benchtui.engine import __main__ as engine_main
from benchtui.engine import talk
from benchtui.engine.executors.cluster import Cluster, Member
from benchtui.engine.executors.relay import Pump, Relay
from benchtui.sessions.events import CaseFinished, CasePrepared, Runtime, Steps, Telemetry
from benchtui.sessions.facts import Gpu, GpuReadings, Host, HostReadings, Model
from benchtui.sessions.sweep import Run

STEPS_HZ, READINGS_HZ, GPUS = 10, 2, 8
READING = GpuReadings(
    index=0,
    power_w=[312.5, 311.2],
    memory_used_mb=[45012.1] * 2,
    utilisation_percent=[99.0] * 2,
    temperature_c=[61.0] * 2,
    sm_clock_mhz=[1755.0] * 2,
    throttle=["", ""],
    energy_j=[123456.7, 123534.8],
)


CARDS = tuple(
    Gpu(index=index, name="NVIDIA H200", memory_mb=143771.0, power_limit_w=700.0) for index in range(GPUS)
)
HOST = Host(hostname="played", memory_mb=1e6, gpus=CARDS)


def say(*reports: talk.Report) -> None:
    """Send messages at once."""
    sys.stdout.buffer.write(b"".join(msgspec.json.encode(each) + b"\n" for each in reports))
    sys.stdout.buffer.flush()


def play(case: int, seconds: float, count: int, node: str) -> None:
    """All that a case says, at the pace at which it would."""
    say(CasePrepared(t=0.0, case=case, model=Model(name="m")))
    gpus = tuple(msgspec.structs.replace(READING, index=index) for index in range(GPUS))
    host = HostReadings(cpu_percent=[90.0] * 2, memory_used_mb=[9000.0] * 2, worker_rss_mb=[3000.0] * 2)
    readings = Telemetry(t=0.0, at_s=[1.0, 1.25], gpus=gpus, host=host, node=node)
    ms = [(98 + place / 40) / count for place in range(count)]
    parts = {"transfer": ms, "forward": ms}
    steps = Steps(
        t=0.0, case=case, phase="measure", wall_ms=ms, device_ms=ms, parts_ms=parts, tokens=[1024] * count
    )
    due_s = time.monotonic()
    for tick in range(round(seconds * STEPS_HZ)):
        due_s += 1 / STEPS_HZ
        time.sleep(max(0.0, due_s - time.monotonic()))
        say(steps, *([readings] if tick % (STEPS_HZ // READINGS_HZ) == 0 else []))
    say(CaseFinished(t=0.0, case=case, outcome="ok"))


def station(seconds: float, count: int) -> int:
    """Answer orders until nobody gives any more."""
    say(talk.Hello(version=metadata.version("benchtui"), host=HOST))
    node = ""
    for line in sys.stdin.buffer:
        match talk.orders.decode(line):
            case talk.Ping(at_s=at_s):
                say(talk.Pong(at_s=at_s, here_s=time.monotonic()))
            case talk.Open(node=name):
                node = name
            case talk.Prepare():
                say(Runtime(t=0.0, torch="2.13", node=node), talk.Done())
            case talk.Start(job=job):
                play(job.case, seconds, count, node)
    return 0


def cluster(nodes: int, pace: Sequence[str], run: Run) -> Cluster:
    """So many played nodes."""
    names = [f"n{number}" for number in range(nodes)]
    relays = {name: Relay((sys.executable, "-P", __file__, "--station", *pace)) for name in names}
    wires = {name: Pump(relay.read, relay.write, relay.close) for name, relay in relays.items()}
    return Cluster(wires, [Member(name, "cpu") for name in names], lambda: None)


def main() -> int:
    """Be an engine, or a node."""
    if sys.argv[1] == "--station":
        return station(float(sys.argv[2]), int(sys.argv[3]))
    nodes, *pace = sys.argv[1:4]
    engine_main._executor = partial(cluster, int(nodes), pace)
    sys.argv[1:4] = []
    return engine_main.main()


if __name__ == "__main__":
    sys.exit(main())
