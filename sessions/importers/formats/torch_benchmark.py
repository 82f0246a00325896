"""Importer for measurements of ``torch.utils.benchmark`` written as JSON: one case per measurement.

PyTorch itself writes pickles, which can execute arbitrary code and are never read here. A ``Measurement`` is a
dataclass, so this writes it as JSON::

    json.dump([dataclasses.asdict(each) for each in measurements], file)

``raw_times`` are the seconds of ``number_per_run`` runs of the statement, so a step here is their mean.
PyTorch's ``Compare`` compares measurements with the same label and sub-label.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from benchtui.sessions.importers.decode import (
    NotNegative,
    convert,
    ignored_fields_note,
    object_keys,
    parse_json,
    unknown_fields,
)
from benchtui.sessions.importers.imported import Imported, Measurement, labeled_case, loops_note
from benchtui.sessions.sweep import LARGEST, MOST_THREADS

REQUIRED = ("number_per_run", "raw_times", "task_spec")
"""Required keys of a measurement."""


class _Task(msgspec.Struct):
    stmt: str
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: Annotated[int, msgspec.Meta(ge=1, le=MOST_THREADS)] = 1

    @property
    def group(self) -> str:
        """Label, or else the statement, and sub-label. ``Compare`` compares measurements that share them."""
        return _joined(self.label or self.stmt, self.sub_label)


class _Measurement(msgspec.Struct):
    number_per_run: Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
    raw_times: Annotated[list[NotNegative], msgspec.Meta(min_length=1)]
    task_spec: _Task


def keys(value: object) -> set[str]:
    """Return the keys of the first measurement, or of the only one."""
    return object_keys(value[0] if isinstance(value, list) and value else value)


def parse(text: str, path: Path) -> Imported:
    """Parse every measurement. Raises BenchtuiError naming the place of an invalid value."""
    value = parse_json(text, str(path))
    values = value if isinstance(value, list) else [value]
    measurements = convert(values, list[_Measurement], str(path))
    several = len({measurement.task_spec.num_threads for measurement in measurements}) > 1
    return Imported(
        kind="torch-benchmark",
        measurements=tuple(_measurement(measurement, several) for measurement in measurements),
        notes=(
            *_threads_note(measurements, several),
            *loops_note(measurement.number_per_run for measurement in measurements),
            *ignored_fields_note(_ignored_fields(values)),
        ),
    )


def _measurement(measurement: _Measurement, several_threads: bool) -> Measurement:
    task = measurement.task_spec
    threads = f"threads={task.num_threads}" if several_threads else None
    return Measurement(
        config=labeled_case(
            _joined(task.group, task.description, task.env, threads),
            group=task.group,
            threads=task.num_threads,
        ),
        wall_ms=[1000 * time_s / measurement.number_per_run for time_s in measurement.raw_times],
        samples_per_step=0,
    )


def _joined(*parts: str | None) -> str:
    """Join the non-empty parts, with a multi-line statement on one line."""
    return " ".join(" ".join(part.split()) for part in parts if part)


def _threads_note(measurements: Sequence[_Measurement], several: bool) -> Iterator[str]:
    if measurements and not several:
        yield f"threads of all measurements: {measurements[0].task_spec.num_threads}"


def _ignored_fields(values: Sequence[object]) -> Iterator[str]:
    """Yield the names of ignored fields. A setup of ``pass`` does nothing."""
    for value in values:
        task = value.get("task_spec") if isinstance(value, dict) else None
        empty = isinstance(task, dict) and task.get("setup") == "pass"
        yield from (
            place for place in unknown_fields(value, _Measurement) if not (empty and place == "task_spec.setup")
        )
