"""Machine gauges, built from the readings of a session."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache, partial

from msgspec.structs import replace

from benchtui.sessions.payloads import Gpu, GpuReadings, Host, is_hardware_throttle
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.columns import Trace
from benchtui.sessions.state.machine import MachineState, NodeState
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Config
from benchtui.sessions.text.formatting import count
from benchtui.themes.gauges import HOT_C, MEMORY_CRITICAL, MEMORY_WARNING, POWER_CAPPED
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing import format
from benchtui.tui.drawing.bars import buckets, severity
from benchtui.tui.drawing.styled_text import Span
from benchtui.tui.model.gpu_use import GpuUse, gpu_use
from benchtui.tui.model.noise_light import is_noisy_now, others_cpu_percent
from benchtui.tui.panels.gauges import Machines
from benchtui.tui.panels.machine_rows import Gauge, Machine, Past

SLOWDOWN_C = 90.0
"""Throttling temperature assumed for a GPU whose driver doesn't report one."""

THROTTLE_WORDS = {
    "hw_thermal": "HW thermal slowdown",
    "hw_slowdown": "HW slowdown",
    "sw_thermal": "SW thermal slowdown",
    "hw_power_brake": "HW power brake",
    "sw_power_cap": "power cap",
    "app_clocks": "application clocks",
    "display_clocks": "display clocks",
}
ACTIVITY = {"SM": "compute_active_percent", "tensor": "tensor_active_percent", "DRAM": "dram_active_percent"}
"""Readings of hardware counters that have a gauge, by its label."""
BOARD_WORDS = re.compile(
    r"\b(NVIDIA|AMD|Tesla|GeForce|Quadro|Instinct|PCIe|SXM\d*|HBM\d*e?|NVL|OAM|Generation|\d+ ?GB)\b"
)
"""Words of a GPU's name that don't identify its model."""
FOREIGN = ("used by other processes", "other processes")
"""Notes on a GPU that only other processes use, the shorter one for narrow panels."""
SHARED = ("shared with other processes", "shared")
"""Notes on a GPU that a case shares with other processes."""


def machines_of(
    session: Session,
    symbols: Symbols,
    name: Callable[[Config], str],
    node: str | None = None,
    *,
    shown: Sequence[CaseState] = (),
    live: bool = True,
) -> Machines:
    """Return a machine's devices and host, or why there is no device.

    On a cluster without a selected ``node``, each node is one device. ``name`` formats the cases running on it.
    The GPUs of the ``shown`` cases are marked. Readings that aren't ``live`` get the time of the last one.
    """
    as_of = None if live else _time_of_day(session)
    use = partial(gpu_use, session, shown=shown)
    if node in session.nodes:
        machine = session.nodes[node]
        return _one_machine(machine, machine.host, use(machine), symbols, node, as_of)
    if not session.nodes:
        return _one_machine(session.machine, session.start.host, use(session.machine), symbols, "host", as_of)
    running_cases = defaultdict[str | None, list[str]](list)
    for case in session.running:
        running_cases[case.node].append(format.clean(name(case.config)))
    nodes = list(session.nodes.values())
    own = frozenset(
        place
        for place, node_state in enumerate(nodes)
        if any(case.node == node_state.joined.node for case in shown)
    )
    return Machines(
        len(nodes),
        cache(lambda place: _node(nodes[place], running_cases, symbols, place in own)),
        None,
        noun="node",
        own=own,
        as_of=as_of,
    )


def _time_of_day(session: Session) -> str:
    """Return the local time of the newest reading; empty if the session has no start time."""
    newest_s = max(machine.newest_s for machine in session.machines)
    began = [(0.0, session.start.created), *((resume.t, resume.created) for resume in session.resumed)]
    at_s, created = next((start for start in reversed(began) if start[0] <= newest_s), began[0])
    try:
        moment = datetime.fromisoformat(created) + timedelta(seconds=newest_s - at_s)
        return f"{moment.astimezone():%H:%M}"
    except (ValueError, OverflowError):
        return ""


def _one_machine(
    machine: MachineState, host: Host, use: GpuUse, symbols: Symbols, title: str, as_of: str | None
) -> Machines:
    gpus = _gpus(machine, host)
    reason = format.clean(host.absent.get("gpu", "none found"))
    used = machine.runtime is not None and bool(machine.runtime.cuda_devices)
    prefix = "GPU not read" if used else "no GPU"
    return Machines(
        len(gpus),
        cache(lambda place: _gpu(machine, gpus[place], use, symbols)),
        _host(machine, host, symbols, title),
        "" if gpus else reason if reason.startswith("no ") else f"{prefix}: {reason}",
        own=frozenset(place for place, gpu in enumerate(gpus) if gpu.index in use.own),
        as_of=as_of,
    )


def _gpus(machine: MachineState, host: Host) -> list[Gpu]:
    """Return the GPUs of a machine, including those known only from readings."""
    described = {gpu.index: gpu for gpu in host.gpus}
    indices = sorted({*machine.gpus, *described})
    return [described.get(index) or Gpu(index=index, name="") for index in indices]


def _node(
    node: NodeState, running_cases: Mapping[str | None, list[str]], symbols: Symbols, own: bool
) -> Machine:
    """Summarize a node: load, memory and power of its GPUs, or its host's gauges."""
    gpus = _gpus(node, node.host)
    lost = f"lost: {format.clean(node.lost.reason)}" if node.lost else ""
    remarks = ((gpu.index, *_remark(_readings(node, gpu.index))) for gpu in gpus)
    alarms = _alarm_notes({index: notes for index, notes, alarming in remarks if alarming}, len(gpus))
    working = "; ".join((*alarms[:1], *running_cases[node.joined.node])) or "idle"
    cpu, _, _, rss = _host(node, node.host, symbols, "").gauges
    return Machine(
        title=format.clean(node.joined.node),
        name=f"{len(gpus)} x {_model(node.joined.kind)}" if len(gpus) > 1 else _model(node.joined.kind),
        gauges=() if node.lost else _gpu_gauges(node, gpus, symbols) if node.gpus else (cpu, rss),
        notes=(lost,) if lost else tuple(dict.fromkeys((working, *alarms))),
        alarming=bool(lost or alarms),
        standing="own" if own else "plain",
    )


def _alarm_notes(alarms: Mapping[int, tuple[str, ...]], gpus: int) -> tuple[str, ...]:
    """Return the alarms of a node's GPUs, longest wording first: of each GPU, counted, then without numbers."""
    if not alarms or gpus == 1:
        return next(iter(alarms.values()), ())
    whole, brief, briefest = ([notes[place] for notes in alarms.values()] for place in (0, 1, -1))
    return (
        "; ".join(f"GPU {index} {note}" for index, note in zip(alarms, whole, strict=True)),
        *(
            ", ".join(f"{count(amount, 'GPU')} {note}" for note, amount in Counter(notes).items())
            for notes in (brief, briefest)
        ),
        ", ".join(dict.fromkeys(briefest)),
    )


def _gpu(machine: MachineState, gpu: Gpu, use: GpuUse, symbols: Symbols) -> Machine:
    notes, alarming = _remark(_readings(machine, gpu.index))
    standing = use.standing(gpu.index)
    if not alarming and standing in ("foreign", "shared"):
        notes = FOREIGN if standing == "foreign" else SHARED
    gauges = _gpu_gauges(machine, [gpu], symbols)
    return Machine(
        title=f"{gpu.index}",
        name=_model(gpu.name),
        gauges=gauges,
        notes=notes,
        alarming=alarming,
        standing=standing,
        trend=next((gauge.label for gauge in (gauges[2], gauges[0]) if gauge.past is not None), "power"),
    )


def _model(name: str) -> str:
    """Shorten the name of a GPU to its model, such as ``H100``."""
    words = BOARD_WORDS.sub(" ", format.clean(name).replace("-", " ")).split()
    return " ".join(words) or format.clean(name)


def _readings(machine: MachineState, index: int) -> GpuReadings:
    return machine.gpu_readings.get(index, GpuReadings(index=index))


def _absent(readings: GpuReadings) -> dict[str, str]:
    return {name: format.clean(reason) for name, reason in readings.reasons.items()}


def _remark(readings: GpuReadings) -> tuple[tuple[str, ...], bool]:
    """Return the remark on a GPU in several wordings, and whether it is an alarm."""
    gone = readings.absent.get("gpu")
    return throttle_notes(readings.throttle) if gone is None else ((format.clean(gone), "lost"), True)


def throttle_notes(throttle: Sequence[str | None]) -> tuple[tuple[str, ...], bool]:
    """Return the latest throttle reasons, longest wording first, and whether they make metrics doubtful."""
    newest = next((reasons for reasons in reversed(throttle) if reasons is not None), "")
    reasons = [reason for reason in newest.split("+") if reason]
    alarming = [reason for reason in reasons if is_hardware_throttle(reason)]
    words = ", ".join(
        THROTTLE_WORDS.get(shown_reason, format.clean(shown_reason).replace("_", " "))
        for shown_reason in alarming or reasons
    )
    if not alarming:
        return ((words,) if words else ()), False
    return (f"THROTTLED: {words}", f"THROTTLED: {words.removesuffix(' slowdown')}", "THROTTLED"), True


def _gpu_gauges(machine: MachineState, gpus: Sequence[Gpu], symbols: Symbols) -> tuple[Gauge, ...]:
    """Return the gauges of a GPU, or of all GPUs of a node together: mean load, total memory and power.

    The temperature is that of the hottest GPU. The clock is shown only for a single GPU.
    """
    newest = [(_readings(machine, gpu.index), gpu) for gpu in gpus]
    traces = [machine.gpus.get(gpu.index, Trace()) for gpu in gpus]
    watts = _sum(read.power_limit_w or gpu.power_limit_w for read, gpu in newest)
    megabytes = _sum(read.memory_total_mb or gpu.memory_mb for read, gpu in newest)
    absent = {name: reason for read, _ in reversed(newest) for name, reason in _absent(read).items()}
    if "gpu" in absent:
        absent = {}  # the note says so
    make = partial(_gauge, traces=traces, absent=absent, symbols=symbols)
    gauges = (
        make(
            "utilization",
            "utilization_percent",
            limit=100.0 * len(gpus),
            write=partial(_mean_percent, len(gpus)),
        ),
        make("memory", "memory_used_mb", limit=megabytes, write=_gibibytes, judge=_memory_role),
        make("power", "power_w", limit=watts, write=_watts, judge=_power_role),
        _temperature(newest, traces, absent, symbols),
    )
    if len(gpus) > 1:
        return gauges
    return (*gauges, _clock(gpus[0], traces[0], absent, symbols), *_activity(traces, symbols))


def _temperature(
    newest: Sequence[tuple[GpuReadings, Gpu]],
    traces: Sequence[Trace],
    absent: Mapping[str, str],
    symbols: Symbols,
) -> Gauge:
    """Build the gauge of the GPU nearest to its slowdown temperature."""
    read = [
        (value - (gpu.slowdown_c or SLOWDOWN_C), value)
        for (_, gpu), trace in zip(newest, traces, strict=True)
        if (value := trace.latest("temperature_c")) is not None
    ]
    margin, value = max(read, default=(None, None))
    role = severity(margin, -HOT_C, 0.0) if margin is not None else "plain"
    text = symbols.absent if value is None else f"{value:.0f}{symbols.degree}"
    reason = absent.get("temperature_c", "") if value is None else ""
    return Gauge("temp", text, role=role, widest=3 + len(symbols.degree), barred=False, absent=reason)


def _clock(gpu: Gpu, trace: Trace, absent: Mapping[str, str], symbols: Symbols) -> Gauge:
    """Build the graphics clock, with its maximum if the driver reports that and there is room."""
    value = trace.latest("graphics_clock_mhz")
    most = f"/{gpu.graphics_clock_mhz:.0f}" if gpu.graphics_clock_is_highest and gpu.graphics_clock_mhz else ""
    text, short = (f"{value:.0f}{most} MHz", f"{value:.0f} MHz") if value is not None else (symbols.absent,) * 2
    reason = absent.get("graphics_clock_mhz", "") if value is None else ""
    return Gauge("clock", text, widest=8 + len(most), barred=False, absent=reason, short=f"{short:>8}")


def _activity(traces: Sequence[Trace], symbols: Symbols) -> Iterator[Gauge]:
    """Yield how busy the units of a GPU are, if its counters can be read."""
    for label, name in ACTIVITY.items():
        if traces[0].columns.get(name):
            gauge = _gauge(label, name, traces=traces, limit=100.0, write=_percent, absent={}, symbols=symbols)
            yield replace(gauge, barred=False, optional=True)


def _host(machine: MachineState, host: Host, symbols: Symbols, title: str) -> Machine:
    trace = machine.trace
    percent = 100.0 * host.cpu_count if host.cpu_count else None
    make = partial(_gauge, traces=[trace], absent={}, symbols=symbols)
    return Machine(
        title=format.clean(title),
        name="",
        gauges=(
            make("CPU", "cpu_percent", limit=percent, write=_of_cores),
            make("memory", "memory_used_mb", limit=host.memory_mb, write=_gibibytes, judge=_memory_role),
            make("worker CPU", "worker_cpu_percent", limit=percent, write=_percent),
            make("worker RSS", "worker_rss_mb", limit=host.memory_mb, write=_rss, judge=_memory_role),
        ),
        readings=_cpu_readings(machine, host, symbols),
    )


def _cpu_readings(machine: MachineState, host: Host, symbols: Symbols) -> tuple[Span, ...]:
    """Format the CPU time of the engine and of other processes. 100% is one logical CPU."""
    others, engine = others_cpu_percent(machine.trace), machine.trace.latest("engine_cpu_percent")
    if others is None:
        return ()
    disturbing = is_noisy_now(others, machine, host)
    flag = f"{symbols.flag} " if disturbing else ""
    return (
        (f"{flag}other processes {others:,.0f}% CPU", "warning" if disturbing else "muted"),
        (f"engine {format.whole(engine, symbols)}% CPU", "muted"),
    )


def _gauge(
    label: str,
    name: str,
    *,
    traces: Sequence[Trace],
    limit: float | None,
    write: Callable[[float | None, float | None, Symbols], str],
    judge: Callable[[float | None], str] = lambda fraction: "accent",
    absent: Mapping[str, str],
    symbols: Symbols,
) -> Gauge:
    """Build a gauge of a reading summed over devices. No value if one of them has none."""
    value = _sum(trace.latest(name) for trace in traces)
    fraction = value / limit if value is not None and limit else None
    reason = absent.get(name, "") if value is None else ""
    return Gauge(
        label,
        write(value, limit, symbols),
        fraction,
        judge(fraction),
        widest=max(len(write(value, limit, symbols)) for value in (limit, limit / 10)) if limit else 0,
        past=_past(name, traces, limit) if all(trace.columns.get(name) for trace in traces) else None,
        absent=reason,
        known=value is not None,
    )


def _past(name: str, traces: Sequence[Trace], limit: float | None) -> Past:
    """Return the history of a reading summed over devices, as fractions of its limit or maximum."""

    def past(count: int, bucket_s: float) -> Sequence[float]:
        histories = [buckets(trace.at_s, trace.columns[name], count, bucket_s) for trace in traces]
        sums = [sum(values) for values in zip(*histories, strict=True)]
        most = limit or max((value for value in sums if value == value), default=0.0)
        return [value / most for value in sums] if most else ()

    return past


def _sum(values: Iterable[float | None]) -> float | None:
    """Sum the values; None if one is unknown."""
    numbers = list(values)
    return None if None in numbers else sum(value for value in numbers if value is not None)


def _memory_role(fraction: float | None) -> str:
    return severity(fraction, MEMORY_WARNING, MEMORY_CRITICAL)


def _power_role(fraction: float | None) -> str:
    """Return the role of a power draw. The limit is normal operation, so it is never critical."""
    return severity(fraction, POWER_CAPPED, float("inf"))


def _mean_percent(count: int, value: float | None, limit: float | None, symbols: Symbols) -> str:
    return symbols.absent if value is None else f"{value / count:.0f}%"


def _percent(value: float | None, limit: float | None, symbols: Symbols) -> str:
    return symbols.absent if value is None else f"{value:,.0f}%"


def _of_cores(value: float | None, limit: float | None, symbols: Symbols) -> str:
    whole = f" of {count(round(limit / 100), 'core')}" if limit else ""
    return _percent(value, limit, symbols) + whole


def _watts(value: float | None, limit: float | None, symbols: Symbols) -> str:
    """Format power with its limit, such as ``659/700W``."""
    if value is None:
        return symbols.absent
    return f"{value:,.0f}/{limit:,.0f}W" if limit else f"{value:,.0f}W"


def _gibibytes(value: float | None, limit: float | None, symbols: Symbols) -> str:
    """Format memory with its total in units of 2**30 bytes, such as ``41/80GiB``."""
    if value is None:
        return symbols.absent
    used_gib, total_gib = format.gibibytes(value), format.gibibytes(limit or 0.0)
    decimals = 1 if max(used_gib, total_gib) < 9.95 else 0
    total = f"/{total_gib:,.{decimals}f}" if limit else ""
    return f"{used_gib:,.{decimals}f}{total}GiB"


def _rss(value: float | None, limit: float | None, symbols: Symbols) -> str:
    return format.memory(value, symbols)
