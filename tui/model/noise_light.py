"""Noise light of the header: whether other processes disturb the machine now."""

from math import fsum

from benchtui.sessions.payloads import Host
from benchtui.sessions.state.columns import Trace
from benchtui.sessions.state.machine import MachineState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.disturbance import is_noisy
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Span

SPAN_S = 5.0
"""Length of the span, up to the newest reading, over which the use of the processors is averaged."""
OURS = ("worker_cpu_percent", "engine_cpu_percent")


def noise_light(session: Session, symbols: Symbols) -> tuple[Span, ...]:
    """Return the light of the machine that runs the cases in several wordings, longest first.

    Empty on a cluster, or without readings.
    """
    others = None if session.nodes else others_cpu_percent(session.machine.trace)
    if others is None:
        return ()
    if is_noisy_now(others, session.machine, session.start.host):
        words = (f" noisy: other processes use {others:.0f}% CPU", f" noisy {others:.0f}%", " noisy", "")
        return tuple((symbols.flag + wording, "warning") for wording in words)
    return tuple((symbols.quiet + wording, "good") for wording in (" quiet machine", " quiet", ""))


def is_noisy_now(others_percent: float, machine: MachineState, host: Host) -> bool:
    """Return whether the use of the processors by others would disturb a case."""
    idle_percent = machine.idle.others_cpu_percent if machine.idle else None
    return is_noisy(others_percent, host.cpu_count, idle_percent)


def others_cpu_percent(trace: Trace) -> float | None:
    """Return the mean CPU use of other processes over the newest ``SPAN_S`` seconds; 100 is one processor."""
    if not trace.at_s:
        return None
    span = trace.at_s[-1] - SPAN_S, trace.at_s[-1]
    if recorded := trace.between("others_cpu_percent", *span):
        return _mean(recorded)
    used, *ours = (trace.between(name, *span) for name in ("cpu_percent", *OURS))
    return max(0.0, _mean(used) - sum(map(_mean, ours))) if used else None


def _mean(values: list[float]) -> float:
    return fsum(values) / len(values) if values else 0.0
