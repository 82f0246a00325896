"""Machine gauges, built from the readings of a session."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial

from benchtui.sessions.payloads import HARDWARE_THROTTLE_REASONS, Gpu, GpuReadings, Host
from benchtui.sessions.state.columns import Trace
from benchtui.sessions.state.machine import MachineState, NodeState
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Config
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing import format
from benchtui.tui.drawing.bars import buckets
from benchtui.tui.panels.gauges import Gauge, Machine, Machines, shares

MAX_HISTORY_BUCKETS = 80
"""Maximum number of history buckets per gauge, one per cell."""
BUCKET_S = 1.0

UNGAUGED_READINGS = ("utilisation_percent", "sm_clock_mhz", "temperature_c")
"""GPU readings shown without a gauge."""
Reading = tuple[str, str, Callable[[float | None, Symbols], str]]
"""A reading with a gauge: label, column, and a formatter that adds the unit."""
ALARMING = frozenset(HARDWARE_THROTTLE_REASONS)
"""Throttle reasons that make a measurement doubtful. A power or clock cap is a setting instead."""


def machines_of(
    session: Session, symbols: Symbols, name: Callable[[Config], str], node: str | None = None
) -> Machines:
    """Return a machine's devices and host, or why there is no device.

    On a cluster without a selected ``node``, each node is one device. ``name`` formats the cases running on it.
    """
    if node in session.nodes:
        machine = session.nodes[node]
        return _one_machine(machine, machine.host, symbols, node)
    if session.nodes:
        running_cases = defaultdict[str | None, list[str]](list)
        for case in session.running:
            running_cases[case.node].append(format.clean(name(case.config)))
        nodes = list(session.nodes.values())
        return Machines(len(nodes), cache(lambda place: _node(nodes[place], running_cases, symbols)), None)
    return _one_machine(session.machine, session.start.host, symbols, "host")


def _one_machine(machine: MachineState, host: Host, symbols: Symbols, title: str) -> Machines:
    gpus = _gpus(machine, host)
    return Machines(
        len(gpus),
        cache(lambda place: _gpu(machine, gpus[place], symbols)),
        _host(machine.trace, host, symbols, title, alone=not gpus),
        format.clean(host.absent.get("gpu", "no GPU found")) if not gpus else "",
    )


def _gpus(machine: MachineState, host: Host) -> list[Gpu]:
    """Return the GPUs of a machine, including those known only from readings."""
    described = {gpu.index: gpu for gpu in host.gpus}
    indices = sorted({*machine.gpus, *described})
    return [described.get(index) or Gpu(index=index, name="") for index in indices]


def _node(node: NodeState, running_cases: Mapping[str | None, list[str]], symbols: Symbols) -> Machine:
    """Summarize a node: total power and memory of its GPUs, or its host's gauges."""
    gpus = _gpus(node, node.host)
    lost = f"lost: {format.clean(node.lost.reason)}" if node.lost else ""
    remarks_by_gpu = [(gpu.index, *_remark(_readings(node, gpu.index))) for gpu in gpus]
    remarks = [
        f"GPU {index} {remark}" if len(gpus) > 1 else remark
        for index, remark, alarming in remarks_by_gpu
        if alarming
    ]
    if node.gpus:
        gauges = _gpu_gauges(node, gpus, symbols)
    else:
        gauges = _host(node.trace, node.host, symbols, "", alone=False).gauges
    return Machine(
        title=format.clean(node.joined.node),
        name=format.clean(node.joined.kind) + (f", {len(gpus)} GPUs" if len(gpus) > 1 else ""),
        gauges=() if node.lost else gauges,
        remark=lost or "; ".join((*remarks, *running_cases[node.joined.node])) or "idle",
        alarming=bool(lost or remarks),
    )


def _gpu(machine: MachineState, gpu: Gpu, symbols: Symbols) -> Machine:
    readings = _readings(machine, gpu.index)
    remark, alarming = _remark(readings)
    return Machine(
        title=f"GPU {gpu.index}",
        name=format.clean(gpu.name),
        gauges=_gpu_gauges(machine, [gpu], symbols),
        readings=_gpu_readings(machine.gpus.get(gpu.index, Trace()), _absent(readings), symbols),
        remark=remark,
        alarming=alarming,
    )


def _readings(machine: MachineState, index: int) -> GpuReadings:
    """Return the newest readings of a GPU."""
    return machine.gpu_readings.get(index, GpuReadings(index=index))


def _absent(readings: GpuReadings) -> dict[str, str]:
    return {name: format.clean(reason) for name, reason in readings.absent.items()}


def _remark(readings: GpuReadings) -> tuple[str, bool]:
    """Return the remark on a GPU, and whether it is an alarm."""
    gone = readings.absent.get("gpu")
    return throttle_text(readings.throttle) if gone is None else (format.clean(gone), True)


def _gpu_gauges(machine: MachineState, gpus: Sequence[Gpu], symbols: Symbols) -> tuple[Gauge, ...]:
    """Return the power and memory gauges of several GPUs, summed."""
    newest = [(_readings(machine, gpu.index), gpu) for gpu in gpus]
    traces = [machine.gpus.get(gpu.index, Trace()) for gpu in gpus]
    watts = _sum(read.power_limit_w or gpu.power_limit_w for read, gpu in newest)
    megabytes = _sum(read.memory_total_mb or gpu.memory_mb for read, gpu in newest)
    absent = {name: reason for read, _ in reversed(newest) for name, reason in _absent(read).items()}
    return (
        _gauge(POWER, traces, watts, absent, symbols),
        _gauge(VRAM, traces, megabytes, absent, symbols),
    )


def _gpu_readings(trace: Trace, absent: dict[str, str], symbols: Symbols) -> tuple[tuple[str, str], ...]:
    """Format utilization, clock, and temperature; each reason for a missing value appears once."""
    use, clock, heat = (trace.latest(name) for name in UNGAUGED_READINGS)
    formatted = (
        ("use", f"{format.whole(use, symbols):>3} %"),
        ("clock", f"{_digits(clock, symbols):>4} MHz"),
        ("", f"{format.whole(heat, symbols):>3} {symbols.degree}"),
    )
    reasons = dict.fromkeys(absent[name] for name in UNGAUGED_READINGS if name in absent)
    return (*formatted, *((f"{symbols.absent} {reason}", "") for reason in reasons))


def throttle_text(throttle: Sequence[str | None]) -> tuple[str, bool]:
    """Return the latest known throttle reasons, and whether they make metrics doubtful."""
    newest = next((reasons for reasons in reversed(throttle) if reasons is not None), "")
    reasons = [reason for reason in newest.split("+") if reason]
    words = format.clean(f"clock limited by {', '.join(reasons).replace('_', ' ')}") if reasons else ""
    return words, not ALARMING.isdisjoint(reasons)


def _host(trace: Trace, host: Host, symbols: Symbols, title: str, alone: bool) -> Machine:
    most = 100.0 * host.cpu_count if host.cpu_count else None
    shown = [(CPU, most), (RSS, host.memory_mb)]
    if alone:
        shown += [(WORKER, most), (MEMORY, host.memory_mb)]
    gauges = tuple(_gauge(reading, [trace], limit, {}, symbols) for reading, limit in shown)
    cores = f"{host.cpu_count} processors" if host.cpu_count else ""
    return Machine(
        format.clean(title), format.clean(host.processor or cores), gauges, _shares(trace, alone, symbols)
    )


def _shares(trace: Trace, alone: bool, symbols: Symbols) -> tuple[tuple[str, str], ...]:
    """Format the CPU time of worker, engine, and all others. 100% is one logical processor."""
    every, worker, engine = (
        trace.latest(name) for name in ("cpu_percent", "worker_cpu_percent", "engine_cpu_percent")
    )
    if every is None:
        return ()
    others = max(0.0, every - (worker or 0.0) - (engine or 0.0))
    known = [("worker", worker)] if not alone else []
    return tuple(
        (label, f"{format.whole(value, symbols):>3} %")
        for label, value in (*known, ("engine", engine), ("others", others))
    )


def _gauge(
    reading: Reading,
    traces: Sequence[Trace],
    limit: float | None,
    absent: Mapping[str, str],
    symbols: Symbols,
) -> Gauge:
    """Build a gauge of a reading summed over devices. No value if one of them has none."""
    label, name, write = reading
    value = _sum(trace.latest(name) for trace in traces)
    reason = absent.get(name, "") if value is None else ""

    def past() -> Sequence[float]:
        each = [buckets(trace.at_s, trace.columns[name], MAX_HISTORY_BUCKETS, BUCKET_S) for trace in traces]
        return shares([sum(values) for values in zip(*each, strict=True)], limit)

    read = all(trace.columns.get(name) for trace in traces)
    return Gauge(
        label,
        write(value, symbols),
        value / limit if value is not None and limit else None,
        write(limit, symbols) if limit else "",
        past if read and not reason else None,
        reason,
    )


def _sum(values: Iterable[float | None]) -> float | None:
    """Sum the values; None if one is unknown."""
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


def _unit(unit: str, value: float | None, symbols: Symbols) -> str:
    return symbols.absent if value is None else f"{value:,.0f} {unit}"


POWER: Reading = ("power", "power_w", partial(_unit, "W"))
VRAM: Reading = ("VRAM", "memory_used_mb", format.megabytes)
CPU: Reading = ("CPU", "cpu_percent", partial(_unit, "%"))
RSS: Reading = ("RSS", "worker_rss_mb", format.megabytes)
WORKER: Reading = ("worker", "worker_cpu_percent", partial(_unit, "%"))
MEMORY: Reading = ("memory", "memory_used_mb", format.megabytes)


def _digits(value: float | None, symbols: Symbols) -> str:
    return symbols.absent if value is None else f"{value:.0f}"
