"""Case summary as styled lines and as Markdown, without steps and readings. Independent of Textual."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from benchtui.sessions.payloads import (
    CLOCK_LIMITS,
    GPU_ACTIVITY,
    HOST_ACTIVITY,
    Compiling,
    Environment,
)
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.disturbance import names_of
from benchtui.sessions.sweep import UNKNOWN
from benchtui.sessions.text.answers import answer_facts
from benchtui.sessions.text.formatting import clock_limits, loss, memory, number, performance_states
from benchtui.themes.symbols import Symbols
from benchtui.tui.case.actual_options import actual_options
from benchtui.tui.case.distribution import percentiles
from benchtui.tui.drawing import format
from benchtui.tui.drawing.markdown_table import heading, pipe_table
from benchtui.tui.drawing.styled_text import BLANK, Line, Span, crop, line
from benchtui.tui.panels.case_panel import Part, part_table
from benchtui.tui.table.case_names import case_name

if TYPE_CHECKING:
    from benchtui.sessions.analysis.roofline import Limit
    from benchtui.sessions.stats.case_metrics import Distribution, Metrics

Facts = list[tuple[str, str]]
Sections = Sequence[tuple[str, list[Line]]]


def detail_lines(case: CaseState, known: Metrics | None, width: int, symbols: Symbols) -> list[Line]:
    """Render outcome, requested and actual options, metrics, step parts, rounds, model, and dataset."""
    return _join_sections(
        [
            ("End", _table(_outcome(case), width)),
            ("Options", _options(case, width, symbols)),
            ("Figures", _table(_figures(known, symbols), width)),
            ("Step breakdown, ms", _indented(part_table(_parts(known), width - 4, symbols))),
            ("Rounds", _table(_rounds(case), width)),
            ("Model and text", _table(_model(case), width)),
        ]
    )


def machine_lines(case: CaseState, reached: Limit | None, width: int, symbols: Symbols) -> list[Line]:
    """Render limits, memory, energy, environment, and compiler statistics."""
    sections = [(title, _table(facts, width)) for title, facts in _machine(case, reached, symbols).items()]
    why = f"none recorded: {_why_unmeasured(case)}" if case.finished else "available once the case has ended"
    return _join_sections(sections) or [crop([(why, "muted")], width, symbols)]


def error_lines(case: CaseState, width: int, symbols: Symbols) -> list[Line]:
    """Render the full reason for a case's outcome."""
    facts = _table(_error(case), width)
    if not facts:
        word = "the case has not ended" if case.finished is None else "no error"
        return [line((f"{word}: {case.state}", "muted"))]
    return facts


def without_steps(case: CaseState) -> str:
    """Return why a case has no measured steps, if it has ended."""
    return f"no measured steps: {_why_unmeasured(case)}" if case.finished else "no measured steps yet"


def _why_unmeasured(case: CaseState) -> str:
    reason = case.finished.reason if case.finished else None
    return format.clean(": ".join(filter(None, (case.state, reason))))


def case_markdown(case: CaseState, known: Metrics | None, reached: Limit | None, symbols: Symbols) -> str:
    """Return the same facts as Markdown tables."""
    options = [(each.name, each.requested, each.actual, each.word) for each in actual_options(case)]
    tables = [heading(f"{case_name(case)}: {case.state}")]
    tables += [pipe_table(("option", "requested", "actual", "applied"), options)] if options else []
    parts = [(part.name, format.significant(part.mean_ms)) for part in _parts(known)]
    facts = {"figures": _figures(known, symbols), "step breakdown, ms": parts, "end": _outcome(case)}
    facts |= {
        **_machine(case, reached, symbols),
        "error": _error(case),
        "rounds": _rounds(case),
        "model and text": _model(case),
    }
    tables += [pipe_table((title.lower(), ""), rows) for title, rows in facts.items() if rows]
    return "\n\n".join(tables) + "\n"


def _join_sections(sections: Sections) -> list[Line]:
    lines: list[Line] = []
    for title, body in sections:
        if body:
            lines += [*([BLANK] if lines else []), line((title, "strong")), *body]
    return lines


def _table(facts: Facts, width: int) -> list[Line]:
    """Render labels and values, one per row. Long values are wrapped, never truncated."""
    size = max((len(label) for label, _ in facts), default=0)
    lines: list[Line] = []
    for label, value in facts:
        rows = wrap(format.clean(value), max(width - size - 5, 20), break_on_hyphens=False) or [""]
        for place, row in enumerate(rows):
            name = format.clean(label) if place == 0 else ""
            lines.append(line((f"  {name:<{size}}   ", "muted"), (row, "plain")))
    return lines


def _indented(lines: list[Line]) -> list[Line]:
    return [line(("  ", "plain"), *pieces) for pieces in lines]


def _non_empty(*facts: tuple[str, object]) -> Facts:
    return [(label, str(value)) for label, value in facts if value not in (None, "", ())]


def _options(case: CaseState, width: int, symbols: Symbols) -> list[Line]:
    """Render requested next to actual options. A mismatch has a symbol, a word, and a color."""
    signs = {True: (symbols.ok, "good"), False: (symbols.failed, "bad"), None: (symbols.absent, "muted")}
    options = actual_options(case)
    lines = [crop([(f"  {'':<17} {'requested':<18} actual", "muted")], width, symbols)] if options else []
    for option in options:
        sign, role = signs[option.applied] if option.word else (" ", "plain")
        pieces: list[Span] = [(f"  {option.name:<17} ", "muted"), (f"{option.requested:<18} ", "plain")]
        if option.applied is None and not option.actual:
            pieces.append((f"{sign} {option.word}", "muted"))
        else:
            more = f"   {option.word}" if option.applied is False else ""
            pieces += [(f"{sign} ", role), (option.actual, "plain"), (more, role)]
        lines.append(crop(pieces, width, symbols))
    return lines


def _outcome(case: CaseState) -> Facts:
    finished = case.finished
    repeated = [f"{each.reason} (round {each.round + 1})" for each in case.repeated]
    facts = _non_empty(("marks", ", ".join(case.marks)), ("repeated", ", ".join(repeated)))
    if finished is None:
        return facts
    return [
        *_non_empty(
            ("outcome", finished.outcome),
            ("node", case.node),
            ("reason", finished.reason),
            ("stopped by", finished.stop),
            ("warm-up until", finished.warmup_stop),
        ),
        *facts,
    ]


def _error(case: CaseState) -> Facts:
    finished = case.finished
    if finished is None or finished.outcome == "ok":
        return []
    return _non_empty(
        ("outcome", finished.outcome),
        ("reason", finished.reason),
        ("signal", finished.signal),
        ("exit code", finished.exit_code),
        ("last stderr line", finished.stderr_line),
    )


def _rounds(case: CaseState) -> Facts:
    if not case.rounds:
        return []
    rounds = [(each.round, each.stop, each.marks) for each in case.rounds]
    if case.finished is not None:
        rounds.append((rounds[-1][0] + 1, case.finished.stop, ()))
    return [
        (f"round {number + 1}", ", ".join(word for word in (stop or "", *marks) if word) or "ended")
        for number, stop, marks in rounds
    ]


def _figures(known: Metrics | None, symbols: Symbols) -> Facts:
    if known is None:
        return []
    latency, amount = known.latency_ms, known.samples_per_step
    sample = known.task.one_sample if amount == 1 else known.task.sample
    samples = f", {amount:,} {sample} each" if amount else ""
    return [
        ("steps", f"{latency.n:,}{samples}"),
        *((name, f"{format.significant(value, symbols)} ms") for name, value in percentiles(latency).items()),
        ("interval", _interval(latency, symbols)),
        *_rates(known, symbols),
        *_spread("to first token", known.time_to_first_token_ms, symbols),
        *_spread("per output token", known.time_per_output_token_ms, symbols),
        *_spread("per request", known.request_ms, symbols),
        *_non_empty(
            ("host", _host(known, symbols)),
            ("first step", _ms(known.first_step_ms, symbols)),
            ("cold cost", _ms(known.cold_cost_ms, symbols)),
            ("loss", loss(known.loss)),
        ),
    ]


def _host(known: Metrics, symbols: Symbols) -> str | None:
    """Describe how long the host takes to enqueue a step, and how long it then waits for the device."""
    host, wait = _ms(known.host_ms.mean if known.host_ms else None, symbols), _ms(known.wait_mean_ms, symbols)
    return host and f"{host} to launch a step, then waits {wait} (means)"


def _interval(latency: Distribution, symbols: Symbols) -> str:
    low, high = (format.significant(bound, symbols) for bound in (latency.low, latency.high))
    return f"{low} to {high} ms, {format.half_width(latency.interval_percent, symbols)}: 95 % interval of p50"


def _rates(known: Metrics, symbols: Symbols) -> Facts:
    rates = {
        known.task.unit: known.samples_per_s,
        "tokens/s": known.tokens_per_s,
        "with padding": known.padded_tokens_per_s,
        "new tokens/s": known.new_tokens_per_s,
    }
    return [(name, format.significant(value, symbols)) for name, value in rates.items() if value is not None]


def _spread(name: str, spread: Distribution | None, symbols: Symbols) -> Facts:
    return [(name, f"{format.significant(spread.median, symbols)} ms")] if spread else []


def _ms(value: float | None, symbols: Symbols) -> str | None:
    return None if value is None else f"{format.significant(value, symbols)} ms"


def _parts(known: Metrics | None) -> tuple[Part, ...]:
    whole = known.latency_ms.mean if known else 0.0
    if known is None or not whole:
        return ()
    return tuple(
        Part(format.clean(name), spread.mean, spread.mean / whole) for name, spread in known.parts_ms.items()
    )


def _machine(case: CaseState, reached: Limit | None, symbols: Symbols) -> dict[str, Facts]:
    finished = case.finished
    if finished is None:
        return {}
    return {
        "Limits": _limits(reached, symbols),
        "Answer": [(label, format.clean(value)) for label, value in answer_facts(case)],
        "Memory, peaks while measured": _memory(case),
        "Energy": _energy(case),
        "Environment": _environment(case, symbols),
        "Compiler": _compiling(case),
    }


def _memory(case: CaseState) -> Facts:
    peak = case.finished.memory if case.finished else None
    if peak is None:
        return []
    sizes = {
        "allocated by tensors": peak.peak_allocated_mb,
        "reserved by torch": peak.peak_reserved_mb,
        "on the device": peak.peak_device_mb,
        "RSS of the worker": peak.peak_rss_mb,
        "keys and values": peak.kv_cache_mb,
    }
    unseen = case.config.uses_cuda_graphs and peak.peak_allocated_mb is None
    graphs = [("allocated by tensors", "not measurable with CUDA graphs")] if unseen else []
    return [*graphs, *((label, str(memory(mb))) for label, mb in sizes.items() if mb is not None)]


def _energy(case: CaseState) -> Facts:
    energy = case.finished.energy if case.finished else None
    if energy is None:
        return []
    return _non_empty(
        ("mean power", _unit(energy.mean_power_w, "W")),
        ("energy", _unit(energy.energy_j, "J")),
        ("source", energy.source),
        ("memory modules", _unit(energy.dram_j, "J")),
        ("not measured", energy.absent),
    )


def _environment(case: CaseState, symbols: Symbols) -> Facts:
    around = case.finished.environment if case.finished else None
    if around is None:
        return []
    default = "highest" if around.sm_clock_default_is_highest else "default"
    clock = {
        "mean": around.sm_clock_mhz,
        "least": around.sm_clock_least_mhz,
        default: around.sm_clock_default_mhz,
        "best in the session": around.sm_clock_best_mhz,
    }
    of_all = f", of {100 * around.processors:,} %" if around.processors else ""
    memory_clock = {"mean": around.memory_clock_mhz, "highest": around.memory_clock_highest_mhz}
    slowing = [reason for reason in around.throttle if reason not in CLOCK_LIMITS]
    return _non_empty(
        ("worker CPU", _unit(around.worker_cpu and 100 * around.worker_cpu, "%", 0)),
        ("user time of a step", _unit(around.user_ms, "ms")),
        ("system time of a step", _unit(around.system_ms, "ms")),
        ("involuntary context switches", _unit(around.involuntary_switches, "", 0)),
        ("waited for a processor", _unit(around.run_delay_s, "s, summed over threads")),
        ("CPU affinity", around.affinity),
        ("other processes", _unit(around.others_cpu_percent, f"% CPU{of_all}", 0)),
        ("stopped by the CPU quota", _stopped(around)),
        ("load average", _unit(around.load_average, "")),
        ("processor clock", _unit(around.processor_mhz, "MHz, mean of the busy processors", 0)),
        ("processor throttled by heat", _unit(around.processor_throttled, "times", 0)),
        ("clock", _clocks(clock)),
        ("memory clock", _clocks(memory_clock)),
        ("performance state", performance_states(around.performance_states)),
        ("throttled by", ", ".join(slowing).replace("_", " ")),
        ("clock limited by", clock_limits(around.throttle)),
        ("temperature, highest", _unit(around.temperature_c, symbols.degree, 0)),
        ("power limit", _unit(around.power_limit_w, "W", 0)),
        ("other GPU processes", _unit(around.gpu_processes, "", 0)),
        ("neighbors", format.clean(names_of(around.neighbors)) or None),
        *_counters(around),
    )


def _counters(around: Environment) -> Iterator[tuple[str, str | None]]:
    """Yield the hardware counters, with None for those that weren't read."""
    for name, (label, unit) in (GPU_ACTIVITY | HOST_ACTIVITY).items():
        yield label, _unit(getattr(around, name), unit, 1 if unit else 2)


def _clocks(known: Mapping[str, float | None]) -> str:
    return ", ".join(f"{name} {mhz:,.0f} MHz" for name, mhz in known.items() if mhz is not None)


def _stopped(around: Environment) -> str | None:
    """Return how often, and for how long, the CPU quota stopped the case. None if it never did."""
    if not around.quota_stopped_periods:
        return None
    share = f"in {around.quota_stopped_periods:,} of {around.quota_periods or 0:,} periods"
    return f"{share}, {around.quota_stopped_s or 0:,.1f} s summed over the processors"


def _compiling(case: CaseState) -> Facts:
    compiling = case.finished.compiling if case.finished else None
    if compiling is None:
        return []
    return _non_empty(
        ("graphs", compiling.graphs),
        ("graph breaks", compiling.graph_breaks),
        ("recompiles", compiling.recompiles),
        ("CUDA graphs", _cuda_graphs(compiling)),
        ("unsteady steps", ", ".join(map(str, compiling.unsteady))),
    )


def _cuda_graphs(compiling: Compiling) -> str | None:
    skips = compiling.cuda_graph_skips
    recorded = "unknown" if compiling.cuda_graphs is None else f"{compiling.cuda_graphs:,}"
    return None if skips is None else f"{recorded} ({skips:,} skipped)"


def _unit(value: float | None, unit: str, digits: int | None = None) -> str | None:
    return None if value is None else f"{number(value, digits)} {unit}".rstrip()


def _limits(limit: Limit | None, symbols: Symbols) -> Facts:
    """Return the work of a step, its share of the device's peaks, and what limits it."""
    if limit is None:
        return []
    work, peaks, shares = limit.work, limit.peaks, limit.shares
    flops = _share_of_peak(limit.flops_per_s, peaks.flops_per_s if peaks else None, "GFLOP/s", symbols)
    moved = _share_of_peak(limit.bytes_per_s, peaks.bytes_per_s if peaks else None, "GB/s", symbols)
    return _non_empty(
        ("per step", None if work.flops is None else f"{_giga(work.flops)} GFLOP"),
        ("arithmetic", flops),
        ("moves", None if work.bytes_moved is None else f"up to {_giga(work.bytes_moved)} GB"),
        ("memory", moved and f"up to {moved}"),
        ("device", None if shares.busy is None else f"busy for {100 * shares.busy:.0f} % of a step"),
        ("attention kernel", format.clean(" + ".join(work.attention)) or None),
        ("limited by", limit.bound),
        ("unknown because", limit.reason),
    )


def _share_of_peak(rate: float | None, peak: float | None, unit: str, symbols: Symbols) -> str | None:
    if rate is None:
        return None
    percent = format.percent(100 * rate / peak, symbols) if peak else ""
    share = f", {percent} % of the measured peak, {_giga(peak)}" if peak else ""
    return f"{_giga(rate)} {unit}{share}"


def _giga(amount: float) -> str:
    return format.significant(amount / 1e9)


def _model(case: CaseState) -> Facts:
    prepared = case.prepared
    if prepared is None:
        return []
    model, data = prepared.model, prepared.data
    parameters = None if model.parameters is None else f"{model.parameters:,}"
    return _non_empty(
        ("model", None if model.name == UNKNOWN else model.name),
        ("architecture", model.architecture),
        ("parameters", parameters),
        ("weights", model.weights),
        ("source", model.source),
        ("loaded in", None if prepared.load_s is None else f"{number(prepared.load_s)} s"),
        ("text", f"{data.dataset}, {data.samples:,} samples" if data else None),
        ("tokenizer", data.tokenizer if data else None),
    )
