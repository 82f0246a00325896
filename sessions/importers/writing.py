"""What an importer found, as a session file: a case that was measured several times has rounds."""

import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import structs

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import (
    AnyEvent,
    CaseFinished,
    CasePrepared,
    CaseStarted,
    Message,
    RoundFinished,
    Runtime,
    SessionFinished,
    SessionStarted,
    Steps,
)
from benchtui.sessions.facts import Energy, Memory, Model, Reported
from benchtui.sessions.importers.found import Found, Measurement
from benchtui.sessions.journal import Journal
from benchtui.sessions.sweep import AXES, MOST_CASES, UNKNOWN, Axes, Baseline, Config, Measure, Sweep, cases

HOLE = "not measured: the file has no such row"


def write(found: Found, path: Path) -> None:
    """Write the session; raises BenchtuiError where the file exists already or has too many cases."""
    events = list(_events(found, path))
    journal = Journal(path)
    try:
        for event in events:
            journal.append(event)
    finally:
        journal.close()


def _events(found: Found, path: Path) -> Iterator[AnyEvent]:
    sweep = _sweep(found, path.stem)
    plan = tuple(case.config for case in cases(sweep)) if found.grid else found.cases
    when = f"; measured on {found.measured}" if found.measured else "; when it was measured isn't said"
    yield SessionStarted(
        t=0.0,
        id=uuid.uuid4().hex,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        sweep=sweep,
        plan=plan,
        host=found.host,
        source=found.kind,
    )
    if found.torch:
        yield Runtime(t=0.0, torch=found.torch)
    yield Message(t=0.0, level="info", text=f"imported from {found.kind}{when}")
    rows: dict[Config, list[Measurement]] = {}
    for each in found.measurements:
        rows.setdefault(each.config, []).append(each)
    for case, config in enumerate(plan):
        yield from _case(case, config, rows.get(config, []))
    yield SessionFinished(t=0.0, outcome="completed")


def _sweep(found: Found, name: str) -> Sweep:
    axes = msgspec.convert({axis: tuple(_values(found.cases, axis)) for axis in AXES}, Axes)
    if found.grid and axes.count > MOST_CASES:
        raise BenchtuiError(
            f"{found.kind}: the options combine to {axes.count:,} cases; at most {MOST_CASES:,} are allowed"
        )
    return Sweep(
        name=name,
        model=found.model,
        task=found.task,
        dataset=UNKNOWN,
        axes=axes,
        measure=Measure(warmup=0, iterations=_most_steps(found.measurements), baseline=_baseline(found.cases)),
    )


def _most_steps(rows: Sequence[Measurement]) -> int:
    """The steps of the longest measurement, at least one."""
    reported = [row.reported.steps or 0 for row in rows if row.reported]
    return max(1, *reported, *(len(row.wall_ms) for row in rows))


def _values(configs: Sequence[Config], axis: str) -> list[object]:
    """The distinct values of an axis: sizes from the smallest on, others as they come."""
    values = list(dict.fromkeys(getattr(config, axis) for config in configs))
    return sorted(values) if axis in ("batch_size", "sequence_length", "threads") else values


def _baseline(configs: Sequence[Config]) -> Baseline | None:
    """The plainest case: of those that aren't compiled, where there are any, the smallest batch."""
    plain = [config for config in configs if config.compile == "off"]
    if any(config.label for config in configs) or not configs:
        return None
    smallest = min(config.batch_size for config in plain or configs)
    return Baseline(compile="off" if plain else None, batch_size=smallest)


def _case(case: int, config: Config, rows: Sequence[Measurement]) -> Iterator[AnyEvent]:
    if not rows:
        yield CaseFinished(t=0.0, case=case, outcome="skipped", reason=HOLE)
        return
    for turn, row in enumerate(rows):
        yield CaseStarted(t=0.0, case=case, round=turn, config=config)
        if turn == 0:
            yield _prepared(case, row)
        yield from _steps(case, turn, row)
        if turn < len(rows) - 1:
            yield RoundFinished(t=0.0, case=case, round=turn, memory=row.memory, energy=row.energy)
    yield CaseFinished(
        t=0.0,
        case=case,
        outcome="ok",
        memory=_peaks([row.memory for row in rows if row.memory]),
        energy=_total([row.energy for row in rows if row.energy]),
        marks=tuple(dict.fromkeys(mark for row in rows for mark in row.marks)),
        reported=_pooled([row.reported for row in rows if row.reported]),
    )


def _prepared(case: int, row: Measurement) -> CasePrepared:
    return CasePrepared(
        t=0.0,
        case=case,
        model=row.model or Model(name=UNKNOWN),
        samples_per_step=row.samples_per_step,
        new_tokens=row.new_tokens,
    )


def _steps(case: int, turn: int, row: Measurement) -> Iterator[Steps]:
    if row.warmup_ms:
        yield Steps(t=0.0, case=case, phase="warmup", round=turn, wall_ms=row.warmup_ms)
    if row.wall_ms:
        tokens = None if row.tokens is None else [row.tokens] * len(row.wall_ms)
        yield Steps(
            t=0.0,
            case=case,
            phase="measure",
            round=turn,
            wall_ms=row.wall_ms,
            parts_ms=row.parts_ms,
            tokens=tokens,
        )


def _peaks(peaks: Sequence[Memory]) -> Memory | None:
    """The highest of each peak."""
    if not peaks:
        return None
    columns = {name: [getattr(each, name) for each in peaks] for name in Memory.__struct_fields__}
    known = {name: [value for value in values if value is not None] for name, values in columns.items()}
    return Memory(**{name: max(values, default=None) for name, values in known.items()})


def _total(energies: Sequence[Energy]) -> Energy | None:
    joules = [energy.energy_j for energy in energies if energy.energy_j is not None]
    return Energy(energy_j=sum(joules)) if joules else None


def _pooled(rows: Sequence[Reported]) -> Reported | None:
    """The figures of several repeats as one: times over all steps, rates as totals over totals."""
    if len(rows) < 2:
        return rows[0] if rows else None
    steps = [row.steps for row in rows]
    weights = [float(amount or 1) for amount in steps] if all(steps) else [1.0] * len(rows)
    means = [row.latency_mean_ms or 0.0 for row in rows]
    spans = [weight * mean for weight, mean in zip(weights, means, strict=True)]
    pooled = {name: _rate([getattr(row, name) for row in rows], spans) for name in _RATES}
    return structs.replace(
        rows[0],
        **pooled,
        steps=sum(amount or 0 for amount in steps) if all(steps) else None,
        latency_mean_ms=sum(spans) / sum(weights),
        repeats_mean_ms=tuple(means),
    )


_RATES = ("samples_per_s", "tokens_per_s", "padded_tokens_per_s", "mean_power_w")


def _rate(rates: Sequence[float | None], spans: Sequence[float]) -> float | None:
    """The rate over all spans of time together; None where one of them has none."""
    known = [rate for rate in rates if rate is not None]
    if len(known) < len(rates):
        return None
    return sum(rate * span for rate, span in zip(known, spans, strict=True)) / sum(spans)
