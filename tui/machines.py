"""Gauges out of the readings of a session."""

from collections.abc import Sequence

from benchtui.sessions.columns import Trace
from benchtui.sessions.disturbance import THROTTLES
from benchtui.sessions.facts import Gpu, GpuReadings, Host
from benchtui.sessions.machine_state import MachineState, NodeState
from benchtui.sessions.session import Session
from benchtui.themes import Symbols
from benchtui.tui import text
from benchtui.tui.widgets.bars import buckets
from benchtui.tui.widgets.gauges import Gauge, Machine, Machines, shares

LONGEST_PAST = 80
"""Spans of history that are kept ready, at most as many as a gauge has cells."""
BUCKET_S = 1.0

FIGURES = ("utilisation_percent", "sm_clock_mhz", "temperature_c")
"""Readings of a GPU that have no gauge."""
ALARMING = frozenset(THROTTLES)
"""Reasons for a low clock that make a measurement doubtful; a cap on power or clock is a setting."""


def machines_of(session: Session, symbols: Symbols, node: str | None = None) -> Machines:
    """All devices of a machine with readings, and its host; without a device, why there is none.

    Where cases run on the nodes of a cluster and none of them is meant, each node is one of the devices.
    """
    if node in session.nodes:
        machine = session.nodes[node]
        return _whole(machine, machine.host, symbols, node)
    if session.nodes:
        return Machines(tuple(_node(session, machine, symbols) for machine in session.nodes.values()), None)
    return _whole(session.machine, session.start.host, symbols, "host")


def _whole(machine: MachineState, host: Host, symbols: Symbols, title: str) -> Machines:
    described = {gpu.index: gpu for gpu in host.gpus}
    indices = sorted({*machine.gpus, *described})
    devices = tuple(_gpu(machine, index, described.get(index), symbols) for index in indices)
    why = text.clean(host.absent.get("gpu", "no GPU seen")) if not devices else ""
    return Machines(devices, _host(machine.trace, host, symbols, title, alone=not devices), why)


def _node(session: Session, node: NodeState, symbols: Symbols) -> Machine:
    """A node in short: what its GPUs draw and hold, or what its processors do."""
    name, gpus = node.joined.node, node.host.gpus
    at_work = [text.clean(case.config.name) for case in session.running if case.node == name]
    lost = f"lost: {text.clean(node.lost.reason)}" if node.lost else ""
    if node.gpus:
        devices = [_gpu(node, gpu.index, gpu, symbols) for gpu in gpus]
        gauges = tuple(gauge for device in devices for gauge in device.gauges)
        remarks = [device.remark for device in devices if device.alarming]
    else:
        gauges, remarks = _host(node.trace, node.host, symbols, "", alone=False).gauges, []
    return Machine(
        title=text.clean(name),
        name=text.clean(node.joined.kind),
        gauges=() if node.lost else gauges,
        remark=lost or "; ".join((*remarks, *at_work)) or "waits",
        alarming=bool(lost or remarks),
    )


def _gpu(machine: MachineState, index: int, gpu: Gpu | None, symbols: Symbols) -> Machine:
    trace = machine.gpus.get(index, Trace())
    readings = machine.gpu_readings.get(index, GpuReadings(index=index))
    limit_w = readings.power_limit_w or (gpu.power_limit_w if gpu else None)
    total_mb = readings.memory_total_mb or (gpu.memory_mb if gpu else None)
    watts = trace.latest("power_w")
    power = _gauge("power", watts, _unit(watts, "W", symbols), (limit_w, _unit(limit_w, "W", symbols)))
    used_mb = trace.latest("memory_used_mb")
    vram = _gauge(
        "VRAM", used_mb, text.megabytes(used_mb, symbols), (total_mb, text.megabytes(total_mb, symbols))
    )
    absent = {name: text.clean(reason) for name, reason in readings.absent.items()}
    held, alarming = held_down(readings.throttle)
    return Machine(
        title=f"GPU {index}",
        name=text.clean(gpu.name) if gpu else "",
        gauges=(
            _with_past(power, trace, "power_w", limit_w, absent),
            _with_past(vram, trace, "memory_used_mb", total_mb, absent),
        ),
        readings=_gpu_figures(trace, absent, symbols),
        remark=absent.get("gpu", held),
        alarming=alarming or "gpu" in absent,
    )


def _gpu_figures(trace: Trace, absent: dict[str, str], symbols: Symbols) -> tuple[tuple[str, str], ...]:
    """Utilisation, clock and temperature; where one can't be read, the reason once for all of them."""
    use, clock, heat = (trace.latest(name) for name in FIGURES)
    figures = (
        ("use", f"{text.whole(use, symbols):>3} %"),
        ("clock", f"{_digits(clock, symbols):>4} MHz"),
        ("", f"{text.whole(heat, symbols):>3} {symbols.degree}"),
    )
    reasons = dict.fromkeys(absent[name] for name in FIGURES if name in absent)
    return (*figures, *((f"{symbols.absent} {reason}", "") for reason in reasons))


def held_down(throttle: Sequence[str | None]) -> tuple[str, bool]:
    """Why the clock is held down, by the newest sample that says, and whether that makes figures doubtful."""
    newest = next((reasons for reasons in reversed(throttle) if reasons is not None), "")
    reasons = [reason for reason in newest.split("+") if reason]
    words = text.clean(f"clock held by {', '.join(reasons).replace('_', ' ')}") if reasons else ""
    return words, not ALARMING.isdisjoint(reasons)


def _host(trace: Trace, host: Host, symbols: Symbols, title: str, alone: bool) -> Machine:
    most = 100.0 * host.cpu_count if host.cpu_count else None
    rows = [
        ("CPU", "cpu_percent", most, _unit(most, "%", symbols)),
        ("RSS", "worker_rss_mb", host.memory_mb, text.megabytes(host.memory_mb, symbols)),
    ]
    if alone:
        rows.append(("worker", "worker_cpu_percent", most, _unit(most, "%", symbols)))
        rows.append(("memory", "memory_used_mb", host.memory_mb, text.megabytes(host.memory_mb, symbols)))
    gauges = []
    for label, name, limit, limit_text in rows:
        value = trace.latest(name)
        shown = text.megabytes(value, symbols) if name.endswith("_mb") else _unit(value, "%", symbols)
        gauges.append(_with_past(_gauge(label, value, shown, (limit, limit_text)), trace, name, limit, {}))
    cores = f"{host.cpu_count} processors" if host.cpu_count else ""
    return Machine(
        text.clean(title), text.clean(host.processor or cores), tuple(gauges), _shares(trace, alone, symbols)
    )


def _shares(trace: Trace, alone: bool, symbols: Symbols) -> tuple[tuple[str, str], ...]:
    """Processor time of worker, engine and all others; 100 is one whole processor."""
    every, worker, engine = (
        trace.latest(name) for name in ("cpu_percent", "worker_cpu_percent", "engine_cpu_percent")
    )
    if every is None:
        return ()
    others = max(0.0, every - (worker or 0.0) - (engine or 0.0))
    known = [("worker", worker)] if not alone else []
    return tuple(
        (label, f"{text.whole(value, symbols):>3} %")
        for label, value in (*known, ("engine", engine), ("others", others))
    )


def _gauge(label: str, value: float | None, shown: str, limit: tuple[float | None, str]) -> Gauge:
    most, most_text = limit
    fraction = value / most if value is not None and most else None
    return Gauge(label, shown, fraction, most_text if most else "")


def _with_past(gauge: Gauge, trace: Trace, name: str, limit: float | None, absent: dict[str, str]) -> Gauge:
    past = buckets(trace.at_s, trace.columns.get(name, ()), LONGEST_PAST, BUCKET_S)
    reason = absent.get(name, "") if trace.latest(name) is None else ""
    return Gauge(gauge.label, gauge.value, gauge.fraction, gauge.limit, shares(past, limit), reason)


def _unit(value: float | None, unit: str, symbols: Symbols) -> str:
    return symbols.absent if value is None else f"{value:.0f} {unit}"


def _digits(value: float | None, symbols: Symbols) -> str:
    return symbols.absent if value is None else f"{value:.0f}"
