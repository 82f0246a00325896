"""Result of an importer: measurements of cases, and facts about their source."""

from collections.abc import Sequence

import msgspec
from msgspec import structs

from benchtui.sessions.events import Outcome, Runtime
from benchtui.sessions.payloads import Energy, Environment, Failures, Host, Memory, Model, Reported
from benchtui.sessions.sanitize import LONGEST_VALUE, visible
from benchtui.sessions.sweep import UNKNOWN, Config

LONGEST_LABEL = 300
"""Maximum length of a case's label in characters."""
MAX_NAMED_REPEATS = 3
"""Maximum number of repeated cases to name. Others are counted."""
ROUNDS_WITHIN = 3.0
"""Largest factor between the mean steps of rows that are taken for rounds of a case. With more, they differ in
something that the file doesn't state."""


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement of a case. A case that occurs several times in a file has several."""

    config: Config
    task: str | None = None
    """Task that names the case's samples; None for plain samples."""
    wall_ms: list[float] = msgspec.field(default_factory=list)
    """Measured steps in milliseconds, if the source kept them."""
    warmup_ms: list[float] = msgspec.field(default_factory=list)
    parts_ms: dict[str, list[float]] = msgspec.field(default_factory=dict)
    step_columns: dict[str, list[float]] = {}
    """Further columns of ``Steps``, by name."""
    reported: Reported | None = None
    """Statistics reported by the source, if it kept no steps."""
    memory: Memory | None = None
    energy: Energy | None = None
    model: Model | None = None
    environment: Environment | None = None
    samples_per_step: int | None = None
    """None means the batch size; 0 means no samples per step, or an unknown number."""
    new_tokens: int | None = None
    marks: tuple[str, ...] = ()
    failures: Failures | None = None
    """Runs or requests that failed in a case that succeeded; None if none did."""
    failure: str | None = None
    """Why the case failed. None if it succeeded."""
    outcome: Outcome = "failed"
    """Outcome of a case that didn't succeed."""
    failed_in_source: bool = False
    """Whether the source says that it failed, rather than stating no step time."""
    exit_code: int | None = None
    """Exit code of a failure, if every run had the same."""
    round: str = ""
    """Round that the source states; two rounds with the same figures aren't copies."""
    measured: str = ""
    """When it was measured, if its row says so; rows of two times aren't copies, either."""
    exported: dict[str, str | float | bool | tuple[float, ...] | None] = {}
    """Columns of the export of benchtui that the case comes from."""

    @property
    def mean_ms(self) -> float | None:
        """Mean step in milliseconds; None if it is unknown."""
        if self.wall_ms:
            return sum(self.wall_ms) / len(self.wall_ms)
        return self.reported.center_ms if self.reported else None


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
    apart = dict.fromkeys(config for config, rows in imported.rows_by_case.items() if _are_apart(rows))
    numbers: dict[Config, int] = {}
    checked = []
    for row in imported.measurements:
        if row.config in apart:
            numbers[row.config] = numbers.get(row.config, 0) + 1
            name = f"{row.config.name} #{numbers[row.config]}"[:LONGEST_LABEL]
            row = structs.replace(row, config=structs.replace(row.config, label=name, group=name))
        checked.append(row)
    notes = [*imported.notes]
    if copies:
        plural = "row equals an earlier one" if copies == 1 else "rows equal earlier ones"
        notes.append(f"{copies:,} {plural} to the last digit: dropped as copies, which aren't repeats")
    if apart:
        names = named([visible(config.name, LONGEST_VALUE) for config in apart], MAX_NAMED_REPEATS)
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
