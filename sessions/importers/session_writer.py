"""Writer of imported results to a session file. Repeated measurements of a case become rounds."""

import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
from msgspec.structs import replace

from benchtui.sessions import events
from benchtui.sessions.errors import BenchtuiError, os_error_text
from benchtui.sessions.events import AnyEvent
from benchtui.sessions.importers.imported import MOST_NAMED, Imported, Measurement, named
from benchtui.sessions.importers.quantities import RATES
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import Energy, Failures, Reported, highest_peaks
from benchtui.sessions.sanitize import LONGEST_VALUE, shortened, visible
from benchtui.sessions.sweep import MOST_CASES, Axes, Baseline, Measure, Sweep
from benchtui.sessions.sweep.options import AXES, NUMERIC
from benchtui.sessions.sweep_secrets import Secrets
from benchtui.sessions.timestamps import utc_now

CONTRADICTION = "throughput doesn't agree with batch size over latency"
AGREES_WITHIN = 0.1
"""Allowed relative difference. The last batch may be short, and a mean of rates is biased upward."""
MAX_NAMED_SERIES, MAX_NAMED_SIZES = 6, 8
"""Maximum number of series with missing combinations to name, and of batch sizes each."""


def write(imported: Imported, path: Path) -> None:
    """Write the session file, which can always be read back.

    Raises BenchtuiError if it exists or can't be written completely, which leaves none, for too many cases, and
    for values out of range.
    """
    masked = map(msgspec.json.encode, map(Secrets().masked_record, _events(imported, path)))
    try:
        validated = list(map(msgspec.json.Decoder(AnyEvent).decode, masked))
    except msgspec.ValidationError as error:
        why = shortened(str(error))
        raise BenchtuiError(f"{imported.kind}: value out of range for a session: {why}") from error
    journal = Journal(path, sync_cases=False)
    try:
        for event in validated:
            journal.append(event)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise BenchtuiError(f"{path}: can't be written: {os_error_text(error)}") from error
    finally:
        journal.close()


def notes(imported: Imported) -> tuple[str, ...]:
    """Return the caveats about the file as a whole: ignored fields, repeats, and combinations without a row."""
    return (*imported.notes, *_repeats(imported), *_missing_combinations(imported))


def _events(imported: Imported, path: Path) -> Iterator[AnyEvent]:
    measured = visible(imported.measured, LONGEST_VALUE) if imported.measured else None
    yield events.SessionStarted(
        t=0.0,
        id=uuid.uuid4().hex,
        created=utc_now(),
        sweep=_sweep(imported, visible(path.stem)),
        plan=imported.cases,
        host=imported.host,
        source=imported.kind,
        source_file=visible(imported.file, LONGEST_VALUE) or None,
        measured=measured,
    )
    if imported.runtime:
        yield imported.runtime
    when = f"; measured on {measured}" if measured else "; measurement time unknown"
    yield events.Message(t=0.0, level="info", text=f"imported from {imported.kind}{when}")
    for note in notes(imported):
        yield events.Message(t=0.0, level="info", text=note)
    for case, rows in enumerate(imported.rows_by_case.values()):
        yield from _case(case, rows)
    yield events.SessionFinished(t=0.0, outcome="completed")


def _repeats(imported: Imported) -> Iterator[str]:
    """Yield a note on cases with several mean step times in the file, and the range of those times."""
    apart = []
    for config, rows in imported.rows_by_case.items():
        reported = (row.finished.reported for row in rows)
        known_ms = [center_ms for of_row in reported if of_row and (center_ms := of_row.center_ms)]
        if len(known_ms) > 1:
            name, percent = visible(config.name, LONGEST_VALUE), 100 * (max(known_ms) / min(known_ms) - 1)
            shown = f"{percent:.2g}" if percent < 99.5 else f"{percent:,.0f}"
            apart.append(f"{len(known_ms)} rows of {name} with mean steps {shown} % apart")
    if apart:
        cases = named(apart, MOST_NAMED, "; ")
        yield f"repeats: {cases}: imported as rounds of one case, which estimate the noise between runs"


def _missing_combinations(imported: Imported) -> Iterator[str]:
    """Yield a note on batch sizes that one series has and another lacks. The file doesn't say why."""
    if not imported.grid:
        return
    pairs = dict.fromkeys((config.family, config.batch_size) for config in imported.cases)
    sizes = sorted({size for _, size in pairs})
    series = []
    for family in dict.fromkeys(family for family, _ in pairs):
        lacking = [f"{size:,}" for size in sizes if (family, size) not in pairs]
        if lacking:
            series.append(f"{family} at batch size {named(lacking, MAX_NAMED_SIZES)}")
    if series:
        yield f"not in the file: {named(series, MAX_NAMED_SERIES, '; ')}"


def _sweep(imported: Imported, name: str) -> Sweep:
    """Return the sweep of the cases, with numbers ascending and other values in the order of the file."""
    if len(imported.measurements) > MOST_CASES:
        amounts = f"{len(imported.measurements):,} measurements; at most {MOST_CASES:,} are allowed"
        raise BenchtuiError(f"{imported.kind}: {amounts}: split the file")
    distinct = {axis: dict.fromkeys(getattr(config, axis) for config in imported.cases) for axis in AXES}
    axes = {axis: (*(sorted(of) if axis in NUMERIC else of),) for axis, of in distinct.items()}
    ends = ((row.finished.reported, row.wall_ms) for row in imported.measurements)
    steps = (reported.steps if reported else len(wall_ms) for reported, wall_ms in ends)
    return Sweep(
        name=name,
        model=imported.model,
        task=imported.task,
        dataset=imported.dataset,
        axes=Axes(**axes),
        measure=Measure(
            warmup=imported.warmup,
            iterations=max(1, *(amount or 0 for amount in steps)),
            baseline=_baseline(imported),
        ),
    )


def _baseline(imported: Imported) -> Baseline | None:
    """Return what stated baselines share, or the smallest batch, uncompiled if any is. None for labels."""
    configs = imported.cases
    stated = [Baseline.like(config) for number, config in enumerate(configs) if number in imported.baselines]
    if stated:
        values = {name: {getattr(one, name) for one in stated} for name in Baseline.__struct_fields__}
        return Baseline(**{name: first for name, (first, *others) in values.items() if not others})
    plain = [config for config in configs if config.compile == "off"]
    if any(config.label for config in configs) or not configs:
        return None
    smallest = min(config.batch_size for config in plain or configs)
    return Baseline(compile="off" if plain else None, batch_size=smallest)


def _case(case: int, rows: Sequence[Measurement]) -> Iterator[AnyEvent]:
    """Yield a round for each measurement. Failed ones are left out if others succeeded."""
    sound = [row for row in rows if row.finished.outcome == "ok"]
    failures = _failures(rows, sound)
    marks = [*dict.fromkeys(mark for row in rows for mark in (*row.finished.marks, *_contradictions(row)))]
    rounds = sound or list(rows)
    ends = [row.finished for row in rounds]
    last = ends[-1]
    joules = [end.energy.energy_j for end in ends if end.energy and end.energy.energy_j is not None]
    for number, row in enumerate(rounds if last.outcome != "skipped" else ()):
        yield events.CaseStarted(t=0.0, case=case, round=number, config=row.config)
        if number == 0:
            yield replace(row.prepared, case=case)
        yield from (replace(steps, case=case, round=number) for steps in row.steps)
        if number < len(rounds) - 1:
            end = row.finished
            yield events.RoundFinished(t=0.0, case=case, round=number, memory=end.memory, energy=end.energy)
    yield replace(
        last,
        case=case,
        memory=highest_peaks([end.memory for end in ends if end.memory]),
        energy=Energy(energy_j=sum(joules)) if joules else None,
        marks=(*marks, *([failures.mark] if failures else [])),
        failures=failures,
        reported=_pooled([end.reported for end in ends if end.reported]),
    )


def _failures(rows: Sequence[Measurement], sound: Sequence[Measurement]) -> Failures | None:
    """Return what failed of a case with sound rounds: runs or requests of all of them, or whole rounds."""
    within = [failures for row in sound if (failures := row.finished.failures)]
    if within:
        failed, total = sum(one.failed for one in within), sum(one.total for one in within)
        return Failures(failed=failed, total=total, of=within[0].of)
    failed_rounds = len(rows) - len(sound)
    return Failures(failed=failed_rounds, total=len(rows), of="rounds") if sound and failed_rounds else None


def _contradictions(row: Measurement) -> Iterator[str]:
    """Yield a mark if a reported rate contradicts the samples, or maximum tokens, per step over step time."""
    reported, samples = row.finished.reported, row.prepared.samples_per_step
    samples = row.config.batch_size if samples is None else samples
    if reported is None or not reported.latency_mean_ms or reported.samples_per_s is None or not samples:
        return
    if abs(reported.samples_per_s * reported.latency_mean_ms / (1000 * samples) - 1) > AGREES_WITHIN:
        yield CONTRADICTION
    # the length is unknown, or tokens follow it
    unlimited = row.config.label or row.prepared.new_tokens or reported.new_tokens_per_s
    most = 0 if unlimited else samples * row.config.sequence_length
    per_step = (reported.padded_tokens_per_s or 0.0) * reported.latency_mean_ms / 1000
    if 0 < most * (1 + AGREES_WITHIN) < per_step:
        yield CONTRADICTION


def _pooled(rows: Sequence[Reported]) -> Reported | None:
    """Combine the statistics of several repeats: times over all steps, rates as totals over totals.

    A rate that one of them lacks is unknown.
    """
    if len(rows) < 2:
        return rows[0] if rows else None
    steps = [row.steps for row in rows]
    weights = [float(amount or 1) for amount in steps] if all(steps) else [1.0] * len(rows)
    means = [row.center_ms or 0.0 for row in rows]
    spans = [weight * mean for weight, mean in zip(weights, means, strict=True)]
    names = (*RATES, "mean_power_w", "gpu_utilization_percent", "compile_call_s")
    rates = {name: [getattr(row, name) for row in rows] for name in names}
    complete = {name: values for name, values in rates.items() if None not in values}
    figures: dict[str, Any] = {name: fmean(values, spans) for name, values in complete.items()}
    stated = [row.latency_mean_ms for row in rows if row.latency_mean_ms is not None]
    figures["latency_mean_ms" if stated else "latency_median_ms"] = sum(spans) / sum(weights)
    return Reported(
        **figures,
        steps=sum(amount or 0 for amount in steps) if all(steps) else None,
        repeats_mean_ms=tuple(means),
    )
