"""Machine on Home: its gauges, as in the Monitor, and who uses it. Independent of Textual."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from benchtui.sessions.events import SessionStarted, Telemetry
from benchtui.sessions.payloads import Host, MachineUsers, Neighbor
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Sweep
from benchtui.sessions.text.formatting import count
from benchtui.themes.symbols import UNICODE, Symbols
from benchtui.tui.drawing.format import clean, gibibytes
from benchtui.tui.drawing.styled_text import Line, Span, crop, line, wrap_facts
from benchtui.tui.model.machines import machines_of
from benchtui.tui.model.noise_light import noise_light
from benchtui.tui.panels.gauges import Machines, gauge_height, gauge_lines
from benchtui.tui.panels.machine_rows import Machine

LEAST, MOST_CHARTS = 7, 16
"""Lines that the machine may have from a usual terminal on, and the most for charts of its history."""
OTHER_LINES = 18
"""Lines of everything but the machine's panel and the rows of models."""
KEPT_S = 300.0
"""Seconds of readings that are kept."""
PACKAGES = ("torch", "transformers")
"""Packages whose versions are shown."""
UNREAD = {"rapl": "energy", "processor clock": "clock", "processor throttling": "throttling"}
"""Readings of the processor that are named if they are missing. The gauges say so of GPUs."""

Reading = Host | Telemetry | MachineUsers


class MachineView(msgspec.Struct, frozen=True):
    """Snapshot of the machine."""

    machines: Machines | None = None
    """None until it has been read."""
    facts: tuple[Span, ...] = ()
    """What the machine is, and what it lacks."""
    users: tuple[str, ...] = ()
    """Processes that use the processors, the busiest first."""
    free: int = 0
    """Number of GPUs that nobody uses."""
    light: tuple[Span, ...] = ()
    listed: int = 0
    """Number of models below, which need their lines first."""


class ThisMachine:
    """Readings of this machine, folded as those of a session without cases."""

    def __init__(self) -> None:
        self._session = Session()
        self._users = MachineUsers()

    def apply(self, reading: Reading) -> None:
        """Apply a description of the machine, readings or users. The first description counts."""
        if isinstance(reading, MachineUsers):
            self._users = reading
        elif isinstance(reading, Telemetry):
            self._session.apply(reading)
            self._session.machine.drop_before(self._session.machine.newest_s - KEPT_S)
        elif self._session.started is None:
            nothing = Sweep(name="", model="")
            self._session.apply(SessionStarted(t=0.0, id="", created="", sweep=nothing, plan=(), host=reading))

    def free_mb(self, device: str) -> float | None:
        """Return the free memory of the GPU with most of it, or of the machine for ``cpu``; None if unknown."""
        if self._session.started is None:
            return None
        machine, host = self._session.machine, self._session.start.host
        if device == "cpu":
            used, total = machine.trace.latest("memory_used_mb"), host.memory_mb
            return None if used is None or total is None else total - used
        totals = {gpu.index: gpu.memory_mb for gpu in host.gpus}
        free = (
            total - used
            for index, trace in machine.gpus.items()
            if (total := totals.get(index)) and (used := trace.latest("memory_used_mb")) is not None
        )
        return max(free, default=None)

    def view(self, symbols: Symbols) -> MachineView:
        """Return the snapshot to draw."""
        if self._session.started is None:
            return MachineView()
        seen = machines_of(self._session, symbols, lambda config: config.name)
        devices = [_brief(self._with_users(seen.device(place))) for place in range(seen.count)]
        host = seen.host and replace(
            seen.host,
            gauges=tuple(gauge for gauge in seen.host.gauges if not gauge.label.startswith("worker")),
            readings=(),
        )
        return MachineView(
            machines=replace(seen, device=devices.__getitem__, host=host),
            facts=tuple(_facts(self._session.start.host)),
            users=tuple(map(_busy, self._users.busiest)),
            free=sum(device.notes[:1] == FREE for device in devices),
            light=noise_light(self._session, symbols),
        )

    def _with_users(self, gpu: Machine) -> Machine:
        """Say who uses a GPU, unless its note is an alarm."""
        users = self._users.gpus.get(int(gpu.title))
        if gpu.alarming:
            return gpu
        if users:
            names = ", ".join(map(_name, users))
            more = f"{_name(users[0])} and {len(users) - 1} more" if len(users) > 1 else names
            return replace(gpu, notes=(names, more, clean(users[0].user or users[0].name)), standing="foreign")
        free = gpu.standing != "foreign" and any(gauge.past for gauge in gpu.gauges)
        return replace(gpu, notes=FREE) if free and not gpu.notes else gpu


def _brief(gpu: Machine) -> Machine:
    """Return a GPU whose clock makes room for its history and users."""
    gauges = (replace(gauge, optional=True) if gauge.label == "clock" else gauge for gauge in gpu.gauges)
    return replace(gpu, gauges=tuple(gauges))


FREE = ("free",)


def machine_title(view: MachineView) -> tuple[list[Span], list[Span]]:
    """Return the title: how many GPUs are free, and whether the machine is quiet."""
    total = view.machines.count if view.machines else 0
    free = f": {view.free} of {count(total, 'GPU')} free" if total else ""
    light = [
        (text.partition(":")[0], role) for text, role in view.light[:1]
    ]  # its number would redraw the frame
    return [("this machine", "strong"), (free, "muted")], light


def machine_height(view: MachineView, width: int, terminal: int) -> int:
    """Return the height of the machine's panel in a terminal: at most two fifths, or what the models leave."""
    least = max(min(LEAST, terminal // 3 - 1), terminal * 2 // 5 - 3)
    room = terminal - OTHER_LINES - view.listed
    if view.machines is None:
        return min(LEAST, least)
    needed = gauge_height(view.machines, width) + len(_below(view, width))
    most = max(min(needed, least), min(room, needed + MOST_CHARTS))
    return len(machine_lines(view, width, most, UNICODE))  # charts may not fit, or not fill their lines


def machine_lines(view: MachineView, width: int, height: int, symbols: Symbols) -> Sequence[Line]:
    """Render the gauges, and below them what the machine is and who uses its processors."""
    if view.machines is None:
        return [line(("reading the machine", "muted"))]
    below = _below(view, width)
    room = max(height - len(below), min(height, gauge_height(view.machines, width)))
    gauges = gauge_lines(view.machines, width, room, symbols)
    return [*gauges, *(crop(drawn, width, symbols) for drawn in below)][:height]


def _below(view: MachineView, width: int) -> list[Line]:
    busiest = [(f"busiest: {user}" if not at else user, "muted") for at, user in enumerate(view.users)]
    facts = [[fact] for fact in (*view.facts, *busiest)]
    return [line((" ", "plain"), *drawn) for drawn in wrap_facts(facts, width - 1)] if facts else []


def _facts(host: Host) -> list[Span]:
    memory = f"{gibibytes(host.memory_mb):,.0f} GiB" if host.memory_mb else ""
    sizes = (count(host.cpu_count, "core") if host.cpu_count else "", memory)
    versions = " ".join(f"{name} {host.packages[name]}" for name in PACKAGES if name in host.packages)
    missing = [words for name, words in UNREAD.items() if name in host.absent]
    lacks = f"processor: no {', '.join(missing)} (benchtui doctor)" if missing else ""
    facts = (
        (", ".join(filter(None, sizes)), "plain"),
        (clean(versions) or "torch isn't installed", "muted"),
        (lacks, "muted"),
    )
    return [fact for fact in facts if fact[0]]


def _name(user: Neighbor) -> str:
    """Format a process with its user, such as ``alice: vllm``."""
    return clean(f"{user.user}: {user.name}" if user.user else user.name)


def _busy(user: Neighbor) -> str:
    return f"{_name(user)} {user.cpu_percent or 0:.0f}%"
