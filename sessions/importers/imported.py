"""Result of an importer: measurements of cases, and facts about their source."""

from collections.abc import Sequence
from itertools import count
from typing import Any

import msgspec
from msgspec import structs

from benchtui.sessions.events import CaseFinished, CasePrepared, Runtime, Steps
from benchtui.sessions.payloads import Host, Model
from benchtui.sessions.sanitize import LONGEST_VALUE, visible
from benchtui.sessions.sweep import UNKNOWN, Config

LONGEST_LABEL = 300
"""Maximum length of a case's label in characters."""
MOST_NAMED = 3
"""Maximum number of cases, rows or cells to name in a note. Others are counted."""
ROUNDS_WITHIN = 3.0
"""Largest factor between the mean steps of rows that are taken for rounds of a case. With more, they differ in
something that the file doesn't state."""

OF_CASE: dict[str, Any] = {"t": 0.0, "case": 0}
"""Fields of every event of a measurement; the writer numbers its case."""


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement of a case, in the events of a session. A case that a file repeats has several."""

    config: Config
    prepared: CasePrepared = CasePrepared(**OF_CASE, model=Model(name=UNKNOWN))
    steps: tuple[Steps, ...] = ()
    """Steps of the warm-up and measured ones, if the source kept them."""
    finished: CaseFinished
    """Outcome, and the statistics that the source reported if it kept no steps."""
    failed_in_source: bool = False
    """Whether the source says that it failed, rather than stating no step time."""
    round: str = ""
    """Round that the source states; two rounds with the same figures aren't copies."""
    measured: str = ""
    """When it was measured, if its row says so; rows of two times aren't copies, either."""

    @property
    def wall_ms(self) -> list[float]:
        """Measured steps in milliseconds; empty if the source kept none."""
        return next((steps.wall_ms for steps in self.steps if steps.phase == "measure"), [])

    @property
    def mean_ms(self) -> float | None:
        """Mean step in milliseconds; None if it is unknown."""
        if self.wall_ms:
            return sum(self.wall_ms) / len(self.wall_ms)
        return self.finished.reported.center_ms if self.finished.reported else None


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """Content of an imported file."""

    kind: str
    file: str = ""
    """Name of the file; the registry fills it in."""
    model: str = UNKNOWN
    task: str = UNKNOWN
    dataset: str = UNKNOWN
    """In the syntax of a sweep, such as ``repository:configuration:split``."""
    warmup: int = 0
    """Warm-up steps of a case; 0 also if unknown."""
    measurements: tuple[Measurement, ...]
    host: Host = msgspec.field(default_factory=Host)
    runtime: Runtime | None = None
    measured: str | None = None
    """When it was measured, as the source writes it; the earliest of several times. None if unknown."""
    baselines: frozenset[int] = frozenset()
    """Numbers of the cases that others are compared with, if the file states them."""
    grid: bool = False
    """Whether the file is a table over options, so that missing combinations are worth reporting."""
    notes: tuple[str, ...] = ()
    """Ignored fields, and other caveats about the file as a whole."""

    @property
    def cases(self) -> tuple[Config, ...]:
        """Distinct cases, in the order of the file."""
        return tuple(self.rows_by_case)

    @property
    def rows_by_case(self) -> dict[Config, list[Measurement]]:
        """Measurements of each case, in the order of the file."""
        rows: dict[Config, list[Measurement]] = {}
        for measurement in self.measurements:
            rows.setdefault(measurement.config, []).append(measurement)
        return rows


def with_checked_repeats(imported: Imported) -> Imported:
    """Return the results without rows that are copies, and with rows too far apart to be rounds as cases.

    A row that equals an earlier one to the last digit was written twice.
    """
    distinct = {msgspec.msgpack.encode(row): row for row in imported.measurements}
    copies = len(imported.measurements) - len(distinct)
    imported = structs.replace(imported, measurements=tuple(distinct.values()))
    apart = {config: count(1) for config, rows in imported.rows_by_case.items() if _are_apart(rows)}
    checked = []
    for row in imported.measurements:
        if row.config in apart:
            name = f"{row.config.name} #{next(apart[row.config])}"[:LONGEST_LABEL]
            row = structs.replace(row, config=structs.replace(row.config, label=name, group=name))
        checked.append(row)
    notes = [*imported.notes]
    if copies:
        plural = "row equals an earlier one" if copies == 1 else "rows equal earlier ones"
        notes.append(f"{copies:,} {plural} to the last digit: dropped as copies, which aren't repeats")
    if apart:
        names = named([visible(config.name, LONGEST_VALUE) for config in apart], MOST_NAMED)
        notes.append(
            f"rows of {names} are more than {ROUNDS_WITHIN:g} times apart: imported as separate cases, which"
            " differ in something that the file doesn't state"
        )
    return structs.replace(imported, measurements=tuple(checked), notes=tuple(notes))


def _are_apart(rows: list[Measurement]) -> bool:
    """Return whether the mean steps of rows that no round tells apart are too far apart for repeats."""
    means_ms = [mean_ms for row in rows if not row.round and (mean_ms := row.mean_ms)]
    return len(means_ms) > 1 and max(means_ms) > ROUNDS_WITHIN * min(means_ms)


def named(items: Sequence[str], most: int, separator: str = ", ") -> str:
    """List the first items, and say how many more there are."""
    more = [f"{len(items) - most:,} more"] if len(items) > most else []
    return separator.join([*items[:most], *more])


def counted(amount: int, noun: str) -> str:
    """Format an amount with its noun, such as ``2 rows``."""
    return f"{amount:,} {noun}" if amount == 1 else f"{amount:,} {noun}s"


def joint_model(names: Sequence[str]) -> str:
    """Return the only one of several models' names, or their number."""
    return names[0] if len(names) == 1 else f"{len(names)} models" if names else UNKNOWN
