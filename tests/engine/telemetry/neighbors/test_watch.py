"""Watch of the machine: what it emits, and that it ends."""

import queue
from typing import Any

from benchtui.engine.telemetry.neighbors import watch
from benchtui.engine.telemetry.neighbors.watch import MachineWatch
from benchtui.sessions.events import Telemetry
from benchtui.sessions.payloads import Host, MachineUsers

PATIENCE_S = 60.0


def test_description_comes_first_then_readings_and_users(monkeypatch: Any) -> None:
    monkeypatch.setattr(watch, "SAMPLE_S", 0.02)
    monkeypatch.setattr(watch, "USERS_S", 0.05)
    readings: queue.Queue[Any] = queue.Queue()
    machine = MachineWatch(readings.put)
    first = readings.get(timeout=PATIENCE_S)
    assert isinstance(first, Host) and first.memory_mb
    seen: set[type] = set()
    while seen != {Telemetry, MachineUsers}:
        reading = readings.get(timeout=PATIENCE_S)
        seen.add(type(reading))
        if isinstance(reading, Telemetry):
            assert reading.host.memory_used_mb[0] and len(reading.at_s) == 1
    machine.stop()
    machine._thread.join(PATIENCE_S)
    assert not machine._thread.is_alive()
