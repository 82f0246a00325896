"""Tables of single cases: performance, scaling, parts of a step, and all planned cases."""

from collections.abc import Callable, Sequence

from benchtui.sessions.analysis.scaling import Scaling, Step, scaling
from benchtui.sessions.report.sections.gains import Block
from benchtui.sessions.state.case import CaseState, outcome
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.evidence import outliers_of
from benchtui.sessions.stats.results import Result, series, series_key, task_of
from benchtui.sessions.text.formatting import (
    clock_limits,
    count,
    half_width,
    number,
    percent,
    percentage,
    performance_states,
    ratio_text,
    time_ms,
)
from benchtui.sessions.text.intervals import rate_interval
from benchtui.sessions.text.labels import series_title
from benchtui.sessions.text.tables import Column, Table, in_unit, table
from benchtui.sessions.text.wording import verdict_cell

LEAST_SHARE = 0.00005
"""Minimum share of a step. A smaller share would be shown as zero."""


def performance(session: Session, results: Sequence[Result], varying: Sequence[str]) -> list[Block]:
    """Return a block for each series. Its lead lists the planned batch sizes without a row, with the reason.

    Cases named by another tool share a block, because their batch sizes are unknown.
    """
    columns = in_unit(_PERFORMANCE, task_of(results))
    if any(result.config.label for result in results):
        named = table((_CASE, *columns[1:]), results)
        return [Block("Cases", None, named)] if named else []
    shown = ((each, table(columns, each.results)) for each in series(results))
    missing: dict[tuple[object, ...], list[CaseState]] = {}
    for case in session.cases:
        if case.state != "ok":
            missing.setdefault(series_key(case.config), []).append(case)
    return [
        Block(series_title(each.config, varying), _unmeasured(missing.get(series_key(each.config), [])), found)
        for each, found in shown
        if found
    ]


def scalings(results: Sequence[Result], varying: Sequence[str]) -> list[Block]:
    """Return a block for each series with at least two batch sizes."""
    found = [scaled for each in series(results) if (scaled := scaling(each))]
    columns = in_unit(_SCALING, task_of(results))
    shown = ((each, table(columns, each.steps)) for each in found)
    return [
        Block(series_title(each.series.config, varying), _summary(each), rows) for each, rows in shown if rows
    ]


def parts(results: Sequence[Result]) -> Table | None:
    """Return the mean time and share of each part of a step. None if no case has parts."""
    rows = [result for result in results if result.metrics.parts_ms]
    names = dict.fromkeys(name for result in rows for name in result.metrics.parts_ms)
    return table((_CASE, *(column for name in names for column in _part(name))), rows)


def every_case(session: Session) -> Table | None:
    """Return one row for each planned case, regardless of its outcome. Marks of every case are left out."""
    shared = set.intersection(*(set(case.marks) for case in session.cases)) if len(session.cases) > 1 else set()

    def marks(case: CaseState) -> str | None:
        return ", ".join(mark for mark in case.marks if mark not in shared) or None

    return table((*_ALL_CASES, Column("Markers", marks, right=False)), session.cases)


def _unmeasured(missing: Sequence[CaseState]) -> str | None:
    sizes = [f"{case.config.batch_size:,} ({outcome(case)})" for case in missing]
    return f"Not measured: batch size {', '.join(sizes)}." if sizes else None


def _summary(found: Scaling) -> str:
    first, last, peak = found.steps[0], found.steps[-1], found.peak
    return (
        f"Batch size {_size(first.result)} to {_size(last.result)}: {number(last.against_linear)} × "
        f"the throughput, {number(last.per_item_relative)} × the throughput per item; "
        f"highest throughput at batch size {_size(peak.result)}."
    )


def _size(result: Result) -> str:
    return f"{result.config.batch_size:,}"


def _part(name: str) -> tuple[Column[Result], Column[Result]]:
    def mean(result: Result) -> float | None:
        found = result.metrics.parts_ms.get(name)
        return found.mean if found else None

    def share(result: Result) -> float | None:
        time, whole = mean(result), result.metrics.latency_ms.mean
        found = time / whole if time is not None and whole > 0 else 0.0
        return found if found >= LEAST_SHARE else None

    return (
        Column(f"{name} (ms)", lambda result: time_ms(mean(result))),
        Column(f"{name} (%)", lambda result: percent(share(result))),
    )


def _tokens(result: Result, rate: float | None) -> str | None:
    """Format a rate of tokens. None for generation, which counts prompt and new tokens separately."""
    return None if result.metrics.new_tokens_per_s is not None else number(rate)


def _memory(field: str) -> "Column[Result]":
    titles = {
        "peak_rss_mb": "CPU memory, peak RSS (MB)",
        "peak_allocated_mb": "GPU memory, peak allocated (MB)",
        "peak_reserved_mb": "GPU memory, peak reserved (MB)",
        "peak_device_mb": "GPU memory, peak used on the device (MB)",
    }

    def cell(result: Result) -> str | None:
        memory = result.case.finished.memory if result.case.finished else None
        return number(getattr(memory, field)) if memory else None

    return Column(titles[field], cell)


def _stop_rule(case: CaseState) -> str | None:
    return case.finished.stop if case.finished else None


def _finish_column(field: str) -> "Column[CaseState]":
    titles = {"reason": "Reason", "signal": "Signal", "stderr_line": "Last line on stderr"}

    def cell(case: CaseState) -> str | None:
        value = getattr(case.finished, field) if case.finished else None
        return value or None

    return Column(titles[field], cell, right=False)


def _exit_code(case: CaseState) -> str | None:
    code = case.finished.exit_code if case.finished else None
    return None if code is None else str(code)


def _outliers(case: CaseState) -> str | None:
    return number(len(outliers_of(case)) or None, 0)


def _environment_cell(field: str) -> Callable[[CaseState], str | None]:
    def cell(case: CaseState) -> str | None:
        environment = case.finished.environment if case.finished else None
        return number(getattr(environment, field), 0) if environment else None

    return cell


def _reported_cell(field: str) -> Callable[[CaseState], str | None]:
    def cell(case: CaseState) -> str | None:
        reported = case.finished.reported if case.finished else None
        return number(getattr(reported, field)) if reported else None

    return cell


def _performance_states(case: CaseState) -> str | None:
    environment = case.finished.environment if case.finished else None
    return performance_states(environment.performance_states) if environment else None


def _clock_limits(case: CaseState) -> str | None:
    environment = case.finished.environment if case.finished else None
    return clock_limits(environment.throttle) if environment else None


def _graphs(case: CaseState) -> str | None:
    """Format the number of compiled graphs, with graph breaks and recompiles."""
    found = case.finished.compiling if case.finished else None
    if found is None:
        return None
    more = (
        (found.graph_breaks, "graph break"),
        (found.recompiles, "recompile"),
        (found.cuda_graphs, "CUDA graph"),
        (found.cuda_graph_skips, "skipped CUDA graph"),
    )
    return ", ".join([f"{found.graphs:,}", *(count(amount, noun) for amount, noun in more if amount)])


def _steps(case: CaseState) -> str | None:
    reported = case.finished.reported if case.finished else None
    amount = case.steps_measured or (reported.steps if reported else None)
    return number(amount, 0)


_CASE: Column[Result] = Column("Case", lambda result: result.name, right=False)
_PERFORMANCE: tuple[Column[Result], ...] = (
    Column("Batch size", _size),
    Column("n", lambda result: number(result.metrics.latency_ms.n or None, 0)),
    Column("Latency, mean (ms)", lambda result: time_ms(result.metrics.latency_ms.mean)),
    Column("p50 (ms)", lambda result: time_ms(result.metrics.latency_ms.median)),
    Column("± 95% interval (%)", lambda result: half_width(result.metrics.latency_ms.interval_percent)),
    Column("p90 (ms)", lambda result: time_ms(result.metrics.latency_ms.p90)),
    Column("p99 (ms)", lambda result: time_ms(result.metrics.latency_ms.p99)),
    Column("Std (ms)", lambda result: time_ms(result.metrics.latency_ms.std)),
    Column("Jitter, std/mean (%)", lambda result: percentage(result.metrics.latency_ms.jitter_percent)),
    Column("Throughput (samples/s)", lambda result: number(result.metrics.samples_per_s)),
    Column("95% interval (samples/s)", rate_interval),
    Column("Real tokens/s", lambda result: _tokens(result, result.metrics.tokens_per_s)),
    Column("With padding (tokens/s)", lambda result: _tokens(result, result.metrics.padded_tokens_per_s)),
    Column("New tokens/s", lambda result: number(result.metrics.new_tokens_per_s)),
    _memory("peak_rss_mb"),
    _memory("peak_allocated_mb"),
    _memory("peak_reserved_mb"),
    _memory("peak_device_mb"),
    Column("Mean power (W)", lambda result: number(result.metrics.mean_power_w)),
    Column("Energy (J/sample)", lambda result: number(result.metrics.energy_per_sample_j)),
)
_SCALING: tuple[Column[Step], ...] = (
    Column("Batch size", lambda step: _size(step.result)),
    Column("Throughput (samples/s)", lambda step: number(step.result.metrics.samples_per_s)),
    Column("Throughput per item (samples/s)", lambda step: number(step.per_item)),
    Column("Per item, relative to first batch size", lambda step: number(step.per_item_relative)),
    Column("Throughput relative to linear scaling", lambda step: ratio_text(step.against_linear)),
    Column("Gain per doubling (%)", lambda step: percent(step.gain_per_doubling)),
    Column("Relative to the previous size", lambda step: verdict_cell(step.gain), right=False),
)
_ALL_CASES: tuple[Column[CaseState], ...] = (
    Column("No.", lambda case: str(case.index + 1)),
    Column("Case", lambda case: case.name, right=False),
    Column("Node", lambda case: case.node, right=False),
    Column("Outcome", outcome, right=False),
    Column("Steps", _steps),
    _finish_column("reason"),
    _finish_column("signal"),
    Column("Exit code", _exit_code),
    _finish_column("stderr_line"),
    Column("Ended by", _stop_rule, right=False),
    Column("Outliers", _outliers),
    Column("CPU use of other processes (%)", lambda case: number(case.others_cpu_percent, 0)),
    Column("Lowest SM clock (MHz)", _environment_cell("graphics_clock_least_mhz")),
    Column("Clock limited by", _clock_limits, right=False),
    Column("Memory clock (MHz)", _environment_cell("memory_clock_mhz")),
    Column("Performance state", _performance_states),
    Column("Processor clock (MHz)", _environment_cell("processor_mhz")),
    Column("Highest temperature (°C)", _environment_cell("temperature_c")),
    Column("Repeated", lambda case: number(len(case.repeated) or None, 0)),
    Column("Graphs", _graphs),
    Column("GPU utilization, as imported (%)", _reported_cell("gpu_utilization_percent")),
    Column("Call of torch.compile, before it compiles (s)", _reported_cell("compile_call_s")),
)
