"""Case summary as styled lines and as Markdown, without steps and readings. Independent of Textual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from benchtui.sessions.metrics.quantity import CaseData, Quantity
from benchtui.sessions.metrics.views import ON_CASE_PAGE, View
from benchtui.sessions.payloads import Compiling, Environment
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import UNKNOWN
from benchtui.sessions.text.answers import answer_facts
from benchtui.sessions.text.formatting import in_sentence, loss, memory, number
from benchtui.sessions.text.marks import remedies
from benchtui.sessions.text.quantities import cell
from benchtui.themes.symbols import Symbols
from benchtui.tui.case.actual_options import actual_options
from benchtui.tui.case.distribution import percentiles
from benchtui.tui.drawing import format
from benchtui.tui.drawing.listing import heading, pipe_table
from benchtui.tui.drawing.styled_text import BLANK, Line, Span, crop, labeled, line
from benchtui.tui.model.case_rows import parts_of
from benchtui.tui.panels.case_panel import part_table
from benchtui.tui.table.case_names import case_name

if TYPE_CHECKING:
    from benchtui.sessions.analysis.roofline import Limit
    from benchtui.sessions.stats.case_metrics import Metrics
    from benchtui.sessions.stats.distribution import Distribution
    from benchtui.sessions.stats.sampling import Bounds

Facts = list[tuple[str, str]]
Sections = Sequence[tuple[str, list[Line]]]


def detail_lines(
    case: CaseState, metrics: Metrics | None, width: int, symbols: Symbols, step_ms: Bounds | None = None
) -> list[Line]:
    """Render metrics, step parts, outcome, requested and actual options, rounds, model, and dataset."""
    parts = part_table(parts_of(metrics), width - 4, symbols)
    return _join_sections(
        [
            ("Figures", _table(_figures(metrics, step_ms, symbols), width)),
            ("Step breakdown, ms", [line(("  ", "plain"), *row) for row in parts]),
            ("End", _table(_outcome(case), width)),
            ("Options", _options(case, width, symbols)),
            ("Rounds", _table(_rounds(case), width)),
            ("Model and text", _table(_model(case), width)),
        ]
    )


def machine_lines(
    case: CaseState, metrics: Metrics | None, reached: Limit | None, width: int, symbols: Symbols
) -> list[Line]:
    """Render limits, memory, energy, environment, and compiler statistics."""
    sections = [
        (title, _table(facts, width))
        for title, facts in _machine(CaseData(case, metrics), reached, symbols).items()
    ]
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


def case_markdown(
    case: CaseState,
    metrics: Metrics | None,
    reached: Limit | None,
    symbols: Symbols,
    step_ms: Bounds | None = None,
) -> str:
    """Return the same facts as Markdown tables."""
    options = [(option.name, option.requested, option.actual, option.word) for option in actual_options(case)]
    tables = [heading(f"{case_name(case)}: {case.state}")]
    tables += [pipe_table(("option", "requested", "actual", "applied"), options)] if options else []
    parts = [(part.name, format.significant(part.mean_ms)) for part in parts_of(metrics)]
    facts = {"figures": _figures(metrics, step_ms, symbols), "step breakdown, ms": parts, "end": _outcome(case)}
    facts |= {
        **_machine(CaseData(case, metrics), reached, symbols),
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
    return labeled([(format.clean(label), format.clean(value)) for label, value in facts], width)


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
    repeated = [f"{repetition.reason} (round {repetition.round + 1})" for repetition in case.repeated]
    facts = _non_empty(
        ("marks", ", ".join(case.marks)),
        ("remedy", " ".join(remedies(case))),
        ("repeated", ", ".join(repeated)),
    )
    if finished is None:
        return facts
    return [
        *_non_empty(
            ("outcome", finished.outcome),
            ("node", case.node),
            ("reason", finished.reason),
            ("last round stopped by" if case.rounds else "stopped by", finished.stop),
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
    rounds = [(round_.round, round_.stop, round_.marks) for round_ in case.rounds]
    if case.finished is not None:
        rounds.append((rounds[-1][0] + 1, case.finished.stop, ()))
    return [
        (f"round {number + 1}", ", ".join(word for word in (stop or "", *marks) if word) or "ended")
        for number, stop, marks in rounds
    ]


def _figures(metrics: Metrics | None, step_ms: Bounds | None, symbols: Symbols) -> Facts:
    if metrics is None:
        return []
    latency, amount = metrics.latency_ms, metrics.samples_per_step
    sample = metrics.task.one_sample if amount == 1 else metrics.task.sample
    samples = f", {amount:,} {sample} each" if amount else ""
    times = [(name, f"{format.significant(value, symbols)} ms") for name, value in percentiles(latency).items()]
    rounds = len(metrics.rounds_ms)
    interval = _interval(latency, latency.interval_percent, "p50", symbols)
    if step_ms is not None:
        times.insert(0, ("step", f"{format.significant(step_ms.value, symbols)} ms"))
        interval = _interval(step_ms, step_ms.half_width_percent, "the step", symbols)
    return [
        *times[:1],
        *_rates(metrics, symbols),
        ("interval", interval),
        *times[1:],
        ("steps", f"{latency.n:,}{samples}{f', in {rounds} rounds' if rounds > 1 else ''}"),
        *_spread("to first token", metrics.time_to_first_token_ms, symbols),
        *_spread("per output token", metrics.time_per_output_token_ms, symbols),
        *_spread("per request", metrics.request_ms, symbols),
        *_non_empty(
            ("host", _host(metrics, symbols)),
            ("first step", _ms(metrics.first_step_ms, symbols)),
            ("cold cost", _ms(metrics.cold_cost_ms, symbols)),
            ("loss", loss(metrics.loss)),
        ),
    ]


def _host(metrics: Metrics, symbols: Symbols) -> str | None:
    """Describe how long the host takes to enqueue a step, and how long it then waits for the device."""
    host, wait = (
        _ms(metrics.host_ms.mean if metrics.host_ms else None, symbols),
        _ms(metrics.wait_mean_ms, symbols),
    )
    return host and f"{host} to launch a step, then waits {wait} (means)"


def _interval(ends: Bounds | Distribution, percent: float | None, of: str, symbols: Symbols) -> str:
    low, high = (format.significant(bound, symbols) for bound in (ends.low, ends.high))
    return f"{low} to {high} ms, {format.half_width(percent, symbols)}: 95 % interval of {of}"


def _rates(metrics: Metrics, symbols: Symbols) -> Facts:
    rates = {
        metrics.task.unit: metrics.samples_per_s,
        "tokens/s": metrics.tokens_per_s,
        "with padding": metrics.padded_tokens_per_s,
        "new tokens/s": metrics.new_tokens_per_s,
    }
    return [(name, format.significant(value, symbols)) for name, value in rates.items() if value is not None]


def _spread(name: str, spread: Distribution | None, symbols: Symbols) -> Facts:
    return [(name, f"{format.significant(spread.median, symbols)} ms")] if spread else []


def _ms(value: float | None, symbols: Symbols) -> str | None:
    return None if value is None else f"{format.significant(value, symbols)} ms"


def _machine(data: CaseData, reached: Limit | None, symbols: Symbols) -> dict[str, Facts]:
    case, finished = data.case, data.case.finished
    if finished is None:
        return {}
    unseen = case.config.uses_cuda_graphs and finished.memory and finished.memory.peak_allocated_mb is None
    compiling = finished.compiling
    own = {
        "tensors": ("allocated", "not measurable with CUDA graphs" if unseen else None),
        "quota": ("stopped by the CPU quota", _stopped(case.environment)),
        "clock": ("clock", _clock(case.environment)),
        "recorded": ("CUDA graphs", _cuda_graphs(compiling) if compiling else None),
        "unsteady": ("unsteady steps", ", ".join(map(str, compiling.unsteady)) if compiling else None),
    }
    return {
        "Limits": _limits(reached, symbols),
        "Answer": [(label, format.clean(value)) for label, value in answer_facts(case)],
        **{title: _facts(view, data, own) for title, view in ON_CASE_PAGE.items()},
    }


def _facts(view: View, data: CaseData, own: Mapping[str, tuple[str, str | None]]) -> Facts:
    """Return the label and the value of each known quantity of a view, and the view's own facts."""
    rows = (
        own[row] if isinstance(row, str) else (in_sentence(row.short or row.title), _value(row, data))
        for row in view.rows(own)
    )
    return [(label, value) for label, value in rows if value]


def _value(row: Quantity, data: CaseData) -> str | None:
    """Format a value with its unit. Sizes choose theirs."""
    if row.format == "memory":
        return memory(row.figure(data))
    value = cell(row, data)
    return value and f"{value} {row.unit}".rstrip()


def _clock(around: Environment) -> str | None:
    """Return the mean GPU clock beside those it could have had."""
    default = "highest" if around.graphics_clock_default_is_highest else "default"
    clocks = {
        "mean": around.graphics_clock_mhz,
        "least": around.graphics_clock_least_mhz,
        default: around.graphics_clock_default_mhz,
        "best in the session": around.graphics_clock_best_mhz,
    }
    return ", ".join(f"{name} {mhz:,.0f} MHz" for name, mhz in clocks.items() if mhz is not None) or None


def _stopped(around: Environment) -> str | None:
    """Return how often, and for how long, the CPU quota stopped the case. None if it never did."""
    if not around.quota_stopped_periods:
        return None
    share = f"in {around.quota_stopped_periods:,} of {around.quota_periods or 0:,} periods"
    return f"{share}, {around.quota_stopped_s or 0:,.1f} s summed over the processors"


def _cuda_graphs(compiling: Compiling) -> str | None:
    skips = compiling.cuda_graph_skips
    recorded = "unknown" if compiling.cuda_graphs is None else f"{compiling.cuda_graphs:,}"
    return None if skips is None else f"{recorded} ({skips:,} skipped)"


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
