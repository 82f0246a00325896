"""Readings of ``nvidia-smi``, the driver's own program, which shares no code with benchtui."""

import csv
import io
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

PERIOD_MS = 200
"""Time between readings. Each of them holds a lock of the driver for a while."""
FIELDS = {
    "timestamp": "timestamp",
    "power_w": "power.draw.instant",
    "sm_clock_mhz": "clocks.sm",
    "memory_clock_mhz": "clocks.mem",
    "temperature_c": "temperature.gpu",
    "memory_used_mb": "memory.used",
    "power_limit_w": "enforced.power.limit",
}
"""Columns by the name that a session has for the reading."""
MIB_MB = 1.048576
WORDS = {
    "app_clocks": "applications_clocks_setting",
    "sw_power_cap": "sw_power_cap",
    "hw_slowdown": "hw_slowdown",
    "hw_thermal": "hw_thermal_slowdown",
    "hw_power_brake": "hw_power_brake_slowdown",
    "sw_thermal": "sw_thermal_slowdown",
    "sync_boost": "sync_boost",
}
"""Columns of the reasons for a reduced clock, by benchtui's word."""
COLUMNS = (*FIELDS.values(), *(f"clocks_event_reasons.{name}" for name in WORDS.values()))


@dataclass(frozen=True, slots=True)
class Row:
    """Readings at one moment of the wall clock; a reading that the GPU lacks is missing."""

    at_s: float
    readings: dict[str, float]
    reasons: frozenset[str]


def parse(text: str) -> list[Row]:
    """Read lines of ``--format=csv,noheader,nounits``. Messages, and a line that was cut, are left out."""
    lines = csv.reader(io.StringIO(text), skipinitialspace=True)
    return [_row(cells) for cells in lines if len(cells) == len(COLUMNS) and cells[0][:2] == "20"]


def _row(cells: Sequence[str]) -> Row:
    named = dict(zip(FIELDS, cells, strict=False))
    local = datetime.strptime(named.pop("timestamp"), "%Y/%m/%d %H:%M:%S.%f")  # noqa: DTZ007  (local time)
    numbers = {name: value for name, cell in named.items() if (value := _number(cell)) is not None}
    if "memory_used_mb" in numbers:
        numbers["memory_used_mb"] *= MIB_MB
    active = zip(WORDS, cells[len(FIELDS) :], strict=True)
    return Row(local.timestamp(), numbers, frozenset(word for word, cell in active if cell == "Active"))


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:  # [N/A], [Not Supported]
        return None


def column(rows: Iterable[Row], name: str) -> list[tuple[float, float]]:
    """Return time and value of each reading."""
    return [(row.at_s, row.readings[name]) for row in rows if name in row.readings]


def reason_shares(rows: Sequence[Row]) -> dict[str, float]:
    """Return the share of the rows that name each reason."""
    found = {word: sum(word in row.reasons for row in rows) for word in WORDS}
    return {word: count / len(rows) for word, count in found.items() if count}


class SmiLog:
    """A running ``nvidia-smi`` that writes its readings to a file while work runs in the context."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rows: list[Row] = []
        """Readings, once the context has ended."""
        self.said = ""
        """First line of the output, which names what the program refused."""

    @staticmethod
    def absent() -> str | None:
        """Return why there is no log here; None if the program is there."""
        return None if shutil.which("nvidia-smi") else "there is no program nvidia-smi on PATH"

    def __enter__(self) -> "SmiLog":
        command = ["nvidia-smi", "-i", "0", f"--query-gpu={','.join(COLUMNS)}", f"--loop-ms={PERIOD_MS}"]
        with self._path.open("w") as file:
            self._process = subprocess.Popen(
                [*command, "--format=csv,noheader,nounits"], stdout=file, stderr=subprocess.STDOUT
            )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        text = self._path.read_text("utf-8", "replace")
        self.rows, self.said = parse(text), text.partition("\n")[0]
