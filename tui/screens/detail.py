"""All that a session knows of one case, as lines; knows no Textual."""

from benchtui.sessions.session import CaseState
from benchtui.themes import Symbols
from benchtui.tui import text
from benchtui.tui.cases import ROLES, CaseBook
from benchtui.tui.widgets.bars import bar
from benchtui.tui.widgets.current import part_table
from benchtui.tui.widgets.ink import BLANK, Line, line

Facts = list[tuple[str, str]]

BINS = 12


def detail_lines(case: CaseState, book: CaseBook, width: int, symbols: Symbols) -> list[Line]:
    """Options asked for and in force, figures, parts, distribution, memory, energy, and how it ended."""
    head = line((text.clean(case.name), "strong"), (f"   {case.state}", ROLES[case.state]))
    sections = [
        ("End", _table(_ended(case))),
        ("Latency", _table(_latency(case, book, symbols))),
        ("Parts of a step, ms", _indented(part_table(book.parts(case), width - 4, symbols))),
        ("Distribution of steps", histogram(case.measured.wall_ms.tolist(), width, symbols)),
        ("Memory and energy", _table(_resources(case, symbols))),
        ("In force", _table(_effective(case))),
        ("Model and text", _table(_model(case))),
    ]
    lines = [head]
    for title, body in sections:
        if body:
            lines += [BLANK, line((title, "muted")), *body]
    return lines


def histogram(values: list[float], width: int, symbols: Symbols) -> list[Line]:
    """How many steps took how long, in equal spans from the least to the most."""
    if len(values) < BINS or min(values) == max(values):
        return []
    low, size = min(values), (max(values) - min(values)) / BINS
    counts = [0] * BINS
    for value in values:
        counts[min(int((value - low) / size), BINS - 1)] += 1
    room = max(10, min(60, width - 34))
    rows = []
    for place, count in enumerate(counts):
        ends = f"  {low + place * size:>9,.3f} to {low + (place + 1) * size:>9,.3f} ms {count:>6} "
        rows.append(line((ends, "plain"), *bar(count / max(counts), room, symbols)))
    return rows


def _table(facts: Facts) -> list[Line]:
    size = max((len(label) for label, _ in facts), default=0)
    return [line((f"  {label:<{size}}   ", "muted"), (text.clean(value), "plain")) for label, value in facts]


def _indented(lines: list[Line]) -> list[Line]:
    return [line(("  ", "plain"), *pieces) for pieces in lines]


def _known(*facts: tuple[str, object]) -> Facts:
    return [(label, str(value)) for label, value in facts if value not in (None, "")]


def _effective(case: CaseState) -> Facts:
    effective = case.prepared.effective if case.prepared else None
    if effective is None:
        return []
    config = case.config
    return _known(
        ("precision", f"asked for {config.precision}"),
        ("weights", effective.weights_dtype),
        ("autocast", effective.autocast_dtype),
        ("output", effective.output_dtype),
        ("attention", f"{effective.attention} (asked for {config.attention})" if effective.attention else None),
        (
            "compiled",
            None if effective.compiled is None else f"{effective.compiled} (asked for {config.compile})",
        ),
        ("threads", effective.threads),
    )


def _ended(case: CaseState) -> Facts:
    finished = case.finished
    facts = _known(("marks", ", ".join(case.marks)))
    if finished is None:
        return facts
    return facts + _known(
        ("outcome", finished.outcome),
        ("reason", finished.reason),
        ("signal", finished.signal),
        ("exit code", finished.exit_code),
        ("last word", finished.stderr_line),
        ("stopped by", finished.stop),
    )


def _latency(case: CaseState, book: CaseBook, symbols: Symbols) -> Facts:
    figures, spread = book.figures(case), book.spread(case)
    if figures is None:
        return []
    ms = {"p50": figures.p50_ms, "p99": figures.p99_ms, "least": spread.least, "most": spread.most}
    shown = [(label, f"{text.milliseconds(value, symbols)} ms") for label, value in ms.items()]
    return [
        ("steps", f"{figures.n} measured, {len(case.warmup)} warm-up"),
        *shown,
        ("interval", f"{symbols.plus_minus}{text.percent(figures.interval_percent, symbols)} % of the median"),
        ("samples/s", text.rate(figures.samples_per_s, symbols)),
    ]


def _resources(case: CaseState, symbols: Symbols) -> Facts:
    finished = case.finished
    if finished is None:
        return []
    facts: Facts = []
    if memory := finished.memory:
        sizes = {
            "peak allocated": memory.peak_allocated_mb,
            "peak reserved": memory.peak_reserved_mb,
            "peak on device": memory.peak_device_mb,
            "peak RSS": memory.peak_rss_mb,
        }
        facts += [(label, f"{mb:,.0f} MB") for label, mb in sizes.items() if mb is not None]
    if energy := finished.energy:
        watts = None if energy.mean_power_w is None else f"{energy.mean_power_w:.1f} W"
        joules = None if energy.energy_j is None else f"{energy.energy_j:.1f} J, from {energy.source}"
        facts += _known(("mean power", watts), ("energy", joules), ("no energy", energy.absent))
    return facts


def _model(case: CaseState) -> Facts:
    prepared = case.prepared
    if prepared is None:
        return []
    model, data = prepared.model, prepared.data
    parameters = None if model.parameters is None else f"{model.parameters:,}"
    return _known(
        ("model", model.name),
        ("architecture", model.architecture),
        ("parameters", parameters),
        ("weights", model.weights),
        ("source", model.source),
        ("loaded in", None if prepared.load_s is None else f"{prepared.load_s:.1f} s"),
        ("text", f"{data.dataset}, {data.samples:,} samples" if data else None),
        ("tokenizer", data.tokenizer if data else None),
    )
