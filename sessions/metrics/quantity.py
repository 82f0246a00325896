"""Quantity of a case: a row of the catalogue, the data that its value is read from, and how it is read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from benchtui.sessions.payloads import FIELD_NAMES
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep.options import BY_NAME

if TYPE_CHECKING:
    from benchtui.sessions.stats.case_metrics import Metrics
    from benchtui.sessions.stats.results import Result
    from benchtui.sessions.stats.verdicts import Ratio

Text = str | None
Amount = int | None
Figure = float | None
NO_UNIT = ""
"""Unit of counts, ratios and words."""

UNITS = {
    "samples_per_s": "samples/s",
    "tokens_per_s": "tokens/s",
    "mb_per_s": "MB/s",
    "per_sample_j": "J/sample",
    "per_sample_mb": "MB/sample",
    "ms": "ms",
    "s": "s",
    "mb": "MB",
    "mhz": "MHz",
    "percent": "%",
    "w": "W",
    "j": "J",
    "c": "°C",
    "db": "dB",
}
"""Units by the end of a key, the longest ends first."""

Format = Literal[
    "significant",
    "whole",
    "nonzero",
    "percent",
    "half width",
    "memory",
    "memory with unit",
    "loss",
    "nats",
    "share",
    "4 decimals",
    "span",
    "words",
]
"""Format of a value; ``sessions/text/quantities.py`` has the function of each."""
FORMATS: dict[str, Format] = {"MB": "memory", "%": "percent", "MHz": "whole", "°C": "whole"}
"""Format of most figures with this unit; of any other, ``significant``."""
Better = Literal["higher", "lower"]
BETTER: dict[str, Better] = {
    **dict.fromkeys(("ms", "MB", "MB/sample", "J/sample"), "lower"),
    **dict.fromkeys(("samples/s", "tokens/s"), "higher"),
}
"""Better direction of most figures with this unit."""


class CaseData(msgspec.Struct, frozen=True):
    """A case and what is known about it, from which the quantities are read."""

    case: CaseState
    metrics: Metrics | None = None
    """None for a case without measured steps or reported metrics."""
    result: Result | None = None
    baseline: Result | None = None
    """Result that the case is compared with."""
    ratio: Ratio | None = None
    """Throughput of the case relative to the baseline's."""

    @classmethod
    def of(cls, result: Result) -> CaseData:
        """Return the data of a result that is compared with nothing."""
        return cls(result.case, result.metrics, result)


class Reading(NamedTuple):
    """Source of a value, and the function that reads it from a case."""

    source: str
    """Event and field of the session file, such as ``case_finished.memory.peak_rss_mb``."""
    value: Callable[[CaseData], object]
    """Returns None if the value is unknown."""


class Quantity(msgspec.Struct, frozen=True):
    """A row of the catalogue."""

    key: str
    """Name of the exported column. It ends in the unit and is a contract with other programs."""
    title: str
    """Title that is clear without context, such as ``Time to first token, p50``."""
    unit: str
    """Unit after the title; ``NO_UNIT`` if there is none."""
    help: str
    """One sentence: the description of the exported column."""
    reading: Reading
    kind: object = Figure
    """Type of the value."""
    short: str = ""
    """Title for tables and gauges without much room; the same as ``title`` if empty."""
    format: Format = "significant"
    better: Better | None = None
    """Which direction is better; None for conditions and counts."""
    interval: tuple[str, str] | None = None
    """Keys of the lower and upper end of its 95% interval."""
    subject: str = ""
    """Group that it belongs to, a key of ``catalogue.SUBJECTS``; views select by it."""
    tasks: tuple[str, ...] = ()
    """Tasks that have it; empty for all tasks."""
    charted: str = ""
    """Name on charts and heatmaps; empty if they don't offer it."""
    exported: bool = True
    """Whether it is a column of exports; False for figures that follow from exported ones."""

    @property
    def is_number(self) -> bool:
        """Whether it has numbers, which are aligned right."""
        return self.format != "words"

    def read(self, data: CaseData) -> object:
        """Return the value for a case; without steps, that of the export that it was imported from."""
        exported = data.case.finished.exported if data.case.finished else {}
        if self.key in exported and not data.case.steps_measured:
            with suppress(msgspec.ValidationError):
                return msgspec.convert(exported[self.key], self.kind, strict=False)
        return self.reading.value(data)

    def figure(self, data: CaseData) -> float | None:
        """Return the value of a numeric quantity for a case; None if it is unknown."""
        value = self.read(data)
        return value if isinstance(value, (int, float)) else None

    def heading(self, *, short: bool = False) -> str:
        """Return the title with the unit in parentheses, unless it ends in the unit, as ``Samples/s`` does."""
        title = (self.short if short else "") or self.title
        in_title = not self.unit or f" {title}".casefold().endswith(f" {self.unit}".casefold())
        return title if in_title else f"{title} ({self.unit})"


def unit_of(key: str) -> str:
    """Return the unit at the end of a key, or before ``_low`` and ``_high``; none for a count or ratio."""
    name = f"_{key}".replace("_low", "").replace("_high", "")
    return next((unit for end, unit in UNITS.items() if name.endswith(f"_{end}")), NO_UNIT)


def figure(key: str, title: str, meaning: str, reading: Reading, short: str = "", **more: Any) -> Quantity:  # noqa: ANN401
    """Return the row of a measured figure. Unit, format and the better direction follow from its key."""
    unit = more.pop("unit", unit_of(key))
    usual = {"format": FORMATS.get(unit, "significant"), "better": BETTER.get(unit)}
    return Quantity(key, title, unit, meaning, reading, short=short, **(usual | more))


def ends(key: str, title: str, meaning: str, read: Callable[[str], Reading]) -> tuple[Quantity, Quantity]:
    """Return the rows of both ends of a 95% interval. ``key`` has braces in place of low and high."""
    title = f"{title}, {{}} end of the 95% interval"
    return (
        figure(key.format("low"), title.format("lower"), meaning, read("low")),
        figure(key.format("high"), title.format("upper"), "Upper end of that interval.", read("high")),
    )


def amount(
    key: str,
    title: str,
    meaning: str,
    reading: Reading,
    kind: object = Amount,
    **more: Any,  # noqa: ANN401
) -> Quantity:
    """Return the row of a count."""
    return Quantity(key, title, NO_UNIT, meaning, reading, kind, format="whole", **more)


def words(
    key: str, title: str, meaning: str, reading: Reading, kind: object = Text, *, exported: bool = True
) -> Quantity:
    """Return the row of a text."""
    return Quantity(key, title, NO_UNIT, meaning, reading, kind, format="words", exported=exported)


STEPS = "steps.wall_ms"


def recorded(source: str, path: str) -> Reading:
    """Read a field of the data of a case, such as ``metrics.latency_ms.p99``; None if a record before it is."""

    def value(data: CaseData) -> object:
        record: object = data
        for name in path.split("."):
            record = getattr(record, name, None)
        return record

    return Reading(source, value)


def of_case(source: str, field: str) -> Reading:
    """Read a field of the case."""
    return recorded(source, f"case.{field}")


def requested(name: str) -> Reading:
    """Read a requested option; None if another tool's label covers it and doesn't name its value.

    Of several models, each is known.
    """
    option = BY_NAME[name]

    def value(data: CaseData) -> object:
        config, requested = data.case.config, getattr(data.case.config, name)
        named = f"{option.prefix}{requested}" in config.label.split() or (name == "model" and config.model)
        return None if config.label and option.label_covers and not named else requested

    return Reading("session_started.plan", value)


def finished(path: str) -> Reading:
    """Read a field at the end of the case, such as ``memory.peak_rss_mb``."""
    return recorded(f"case_finished.{path}", f"case.finished.{path}")


def environment(field: str) -> Reading:
    """Read a condition on the machine while the case was measured, by its name in the file."""
    path = f"case.finished.environment.{FIELD_NAMES.get(field, field)}"
    return recorded(f"case_finished.environment.{field}", path)


def applied(field: str) -> Reading:
    """Read an option that was applied, as read back by the worker."""
    return recorded(f"case_prepared.effective.{field}", f"case.effective.{field}")


def actual(name: str) -> Reading:
    """Read an applied option that has no field of its own."""
    return changed(applied("others"), lambda others: others.get(name))


def measured(path: str, source: str = STEPS) -> Reading:
    """Read a metric of the case, or a statistic of one, such as ``latency_ms.p99``."""
    return recorded(source, f"metrics.{path}")


def of_requests(path: str) -> Reading:
    """Read a high percentile of the times of requests; None for a task that doesn't time them one by one."""
    of_all = measured(path, "steps.requests")

    def value(data: CaseData) -> object:
        timed = data.metrics is not None and data.metrics.task.sample == "requests"
        return of_all.value(data) if timed else None

    return Reading(of_all.source, value)


def result(path: str, source: str = STEPS) -> Reading:
    """Read a property of the result."""
    return recorded(source, f"result.{path}")


def ratio(field: str) -> Reading:
    """Read a property of the ratio to the baseline."""
    return recorded(STEPS, f"ratio.{field}")


def answer(field: str) -> Reading:
    """Read the comparison of the case's answer with its baseline's."""
    return recorded(f"answered.comparisons.{field}", f"case.comparison.{field}")


def changed(reading: Reading, change: Callable[[Any], object]) -> Reading:
    """Return a reading whose values are changed; unknown ones stay unknown."""

    def value(data: CaseData) -> object:
        before = reading.value(data)
        return None if before is None else change(before)

    return Reading(reading.source, value)


def in_percent(share: Reading) -> Reading:
    """Convert a share of 1 to percent."""
    return changed(share, lambda fraction: 100 * fraction)


def inverse(rate: Reading, scale: float = 1) -> Reading:
    """Convert a rate to the time, or whatever else, per unit: ``scale`` over the rate; None for a rate of 0."""
    return changed(rate, lambda value: scale / value if value else None)


def as_text(words: Reading) -> Reading:
    """Convert a member of an enumeration to its text."""
    return changed(words, lambda member: str(member) or None)
