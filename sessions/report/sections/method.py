"""Measurement method as labeled facts, and requested versus applied options."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

from benchtui.sessions.analysis.applied_options import has_no_part, was_applied
from benchtui.sessions.analysis.roofline import context_power_w
from benchtui.sessions.compare.system_facts import Fact, facts
from benchtui.sessions.payloads import Data
from benchtui.sessions.sanitize import visible
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import simulation_source
from benchtui.sessions.stats.noise import Noise, kind_of_result, pairs_by_turns
from benchtui.sessions.stats.ratios import latency_ratio
from benchtui.sessions.stats.results import Result, aa_pair, series_key
from benchtui.sessions.stats.sampling import LEAST_ROUNDS
from benchtui.sessions.sweep import SYNTHETIC, TASKS, UNKNOWN, Measure, Sweep, custom_task, task_named
from benchtui.sessions.sweep.options import BY_NAME, OPTIONS, READ_BACK
from benchtui.sessions.text.formatting import count, listed, number, percent, percentage, signed_percent
from benchtui.sessions.text.labels import applied, option_title
from benchtui.sessions.text.tables import Column, Table, table, text_column
from benchtui.sessions.text.wording import verdict_cell


def method(session: Session, results: Sequence[Result]) -> tuple[Fact, ...]:
    """Describe the timing of cases, the contents of a step, the stop rule, and the meaning of the metrics."""
    sweep, cases = session.start.sweep, [case for case in session.cases if case.steps_measured]
    if session.start.source:
        return _imported(session)
    noise = {kind_of_result(result): result.noise for result in results}
    return facts(
        ("Simulated", simulation_source(session.start)),
        ("Task", sweep.task),
        ("Text" if task_named(session.start.sweep.task).texts else "Input", _texts(session)),
        *(_timing(session, cases, noise) if cases else ()),
        ("Settings", _settings(sweep)),
        ("Warm-up ended by", _tally(case.finished.warmup_stop for case in cases if case.finished)),
        ("Rounds", _rounds(session, results)),
        ("Noise floor", _noise_floor(session, noise)),
        ("Environment variables", ", ".join(f"{name}={text}" for name, text in sweep.env.items()) or None),
        ("Energy and power", _energy(session.cases)),
        ("Idle power", _idle(session)),
        ("Baseline", _baseline(session)),
        ("Resumed", _resumed(session)),
        ("Session", _identity(session)),
    )


def _imported(session: Session) -> tuple[Fact, ...]:
    """Describe the known facts about another tool's measurement, such as the source of its metrics."""
    return facts(
        ("Task", None if session.start.sweep.task == UNKNOWN else session.start.sweep.task),
        ("Imported from", session.start.source),
        ("Timing", "by that tool, which also decides warm-up, stop rule and what a step includes"),
        *(("Import", visible(note.text)) for note in session.messages[1:]),  # the first has source and date
        ("Baseline", _baseline(session)),
        ("Session", _identity(session)),
    )


def options(session: Session) -> Table | None:
    """Return the options read back from the worker: a row per series, or several if they changed within it."""
    rows: dict[tuple[object, ...], CaseState] = {}
    for case in session.cases:
        if case.effective:
            shown = [getattr(case.effective, field) for _, field in _EFFECTIVE]
            rows.setdefault((*series_key(case.config), *shown, _applied(case)), case)
    read_back = [(case.config, case.effective.others) for case in rows.values() if case.effective]
    changed = [
        option.name
        for option in OPTIONS
        if any(option.name in of and getattr(config, option.name) != option.default for config, of in read_back)
    ]
    columns: tuple[Column[CaseState], ...] = (
        text_column("Requested", lambda case: case.config.family),
        *(text_column(title, _read_back(field)) for title, field in _EFFECTIVE),
        *(text_column(option_title(option), _read_back(option)) for option in changed),
        text_column("Applied", _applied),
    )
    return table(columns, rows.values())


_EFFECTIVE = (
    ("Weights", "weights_dtype"),
    ("Autocast", "autocast_dtype"),
    ("Output", "output_dtype"),
    ("Attention", "attention"),
    ("Compiled", "compiled"),
    ("Threads", "threads"),
)


def _read_back(field: str) -> Callable[[CaseState], str | None]:
    """Return the cell of a field of ``Effective``, or of an option without one."""

    def cell(case: CaseState) -> str | None:
        others = case.effective.others if case.effective else {}
        value = others[field] if field in others else getattr(case.effective, field, None)
        if isinstance(value, bool):
            return applied(value)
        return None if value is None else str(value).removeprefix("torch.")

    return cell


def _moot(case: CaseState, option: str) -> bool:
    """Return whether an unverified option has no effect on the case, so that it needs no verification."""
    row = BY_NAME[option]
    default = getattr(case.config, option) == row.default
    return (row.of_texts and default) or has_no_part(case, option)


def _applied(case: CaseState) -> str:
    states = {option: was_applied(case, option) for option in READ_BACK}
    failed = [option for option, state in states.items() if state is False]
    unknown = [option for option, state in states.items() if state is None and not _moot(case, option)]
    if failed:
        return f"{listed(failed)}: {applied(False)}"
    return f"{listed(unknown)}: {applied(None)}" if unknown else applied(True)


_SYNCHRONIZED = {
    "latency": "host time on a monotonic clock, with the device synchronized at both ends of every step",
    "throughput": (
        "throughput mode: host time on a monotonic clock, with a GPU synchronized only around blocks of steps;"
        " a step within a block ends when the next one begins on the GPU"
    ),
}
NOT_A_RULE = ("baseline", "explain")
"""Entries of ``measure`` that say nothing about how a case is timed."""
PINNED = "; inputs and results are copied through pinned memory"


def _timing(
    session: Session, cases: list[CaseState], noise: dict[str, Noise]
) -> tuple[tuple[str, object], ...]:
    measure = session.start.sweep.measure
    amounts = [case.steps_measured for case in cases]
    least, most = min(amounts), max(amounts)
    margin = max((kind.margin for kind in noise.values()), default=session.same_within)
    return (
        ("Timing", _SYNCHRONIZED[measure.mode] + (PINNED if _pins(session.start.sweep, cases) else "")),
        ("A step", _step(cases)),
        ("Compilation", _compilation(cases)),
        ("Measured steps", f"n = {least:,}" if least == most else f"n = {least:,} to {most:,}"),
        ("Intervals", _intervals(measure)),
        ("Spread between processes", _spreads(noise) if noise else None),
        ("Spread between sessions", _between_sessions(noise) if noise else None),
        ("Equivalence margin", f"{100 * margin:.2g}%"),
    )


def _intervals(rules: Measure) -> str:
    """Describe what the intervals of single cases cover."""
    if rules.rounds >= LEAST_ROUNDS:
        return f"95%, by Student's t over the {rules.rounds:,} rounds of each case: steps and fresh processes"
    if rules.rounds_auto:
        return (
            f"95%, from {LEAST_ROUNDS} rounds on by Student's t over a case's rounds (steps and fresh"
            " processes), else from its steps and the spread between processes"
        )
    return "95%, from the steps and the spread between processes; that of p50, from the steps alone"


def _spreads(noise: dict[str, Noise]) -> str:
    """Return the standard deviation of fresh processes on each kind of device."""
    spreads = (
        f"{100 * spread.between:.2g}% on {kind}{'' if spread.known else ' (assumed: too little was repeated)'}"
        for kind, spread in noise.items()
    )
    return listed(list(spreads))


def _between_sessions(noise: dict[str, Noise]) -> str:
    """Return the standard deviation that is assumed of sessions on each kind of device."""
    spreads = (f"{100 * spread.between_sessions:g}% on {kind}" for kind, spread in noise.items())
    return f"{listed(list(spreads))} (assumed)"


def _pins(sweep: Sweep, cases: list[CaseState]) -> bool:
    """Return whether the task copies through pinned memory: custom steps and continuous batching don't."""
    on_gpu = any(case.config.device != "cpu" for case in cases)
    pins = sweep.task in TASKS and task_named(sweep.task).pins
    return on_gpu and pins and sweep.measure.mode == "throughput"


def _step(cases: list[CaseState]) -> str:
    parts = list(dict.fromkeys(part for case in cases for part in case.parts))
    if not parts:
        return "one batch from text to result; its parts weren't recorded, and tokenizing is in the total"
    inside = "; tokenizing is in the total" if "tokenize" in parts else ""
    return f"{listed(parts)}{inside}"


def _compilation(cases: list[CaseState]) -> str | None:
    """Describe the compiled part of the network; None if it is always the whole network."""
    static = [case for case in cases if case.config.cache == "static" and case.config.compile != "off"]
    return "with a static cache only decoding is compiled, not the prefill" if static else None


def _texts(session: Session) -> str | None:
    """Describe the input text and its truncation. None for a custom task, which chooses its own input."""
    sweep = session.start.sweep
    if custom_task(sweep.task):
        return None
    prepared = (case.prepared.data for case in session.cases if case.prepared and case.prepared.data)
    texts = dict.fromkeys(_text(data) for data in prepared)
    return ", ".join(filter(None, (*(texts or [sweep.dataset]), _truncation(session))))


def _truncation(session: Session) -> str:
    lengths = {case.config.sequence_length: "" for case in session.cases}
    if not lengths or not task_named(session.start.sweep.task).texts:
        return ""
    for case in session.cases:
        if case.prepared and case.prepared.data:
            lengths[case.config.sequence_length] = _truncated_share(case.prepared.data)
    unit = " tokens" if any(lengths.values()) else ""
    shown = listed([f"{length:,}{unit}{share}" for length, share in sorted(lengths.items())])
    tokens = shown if unit else f"{shown} tokens"
    if session.start.sweep.dataset == SYNTHETIC:
        mixed = not task_named(session.start.sweep.task).pads
        return f"prompts of mixed lengths up to {tokens}" if mixed else f"every row of {tokens}"
    longest = any(case.config.padding == "longest" for case in session.cases)
    return f"{'truncated' if longest else 'truncated and padded'} to {tokens}"


def _truncated_share(data: Data) -> str:
    """Describe the share of truncated texts; empty if it isn't recorded."""
    if data.truncated is None or not data.checked:
        return ""
    texts = "texts" if data.checked == data.samples else f"first {data.checked:,} texts"
    share = f"{percent(data.truncated / data.checked)} %" if data.truncated else "none"
    return f" ({share} of the {texts} are longer)"


def _text(data: Data) -> str:
    facts = (
        count(data.samples, "sample"),
        f"tokenizer {data.tokenizer}" if data.tokenizer else None,
        data.shape,
        f"by {data.processor}" if data.processor else None,
    )
    return f"{data.dataset} ({', '.join(filter(None, facts))})"


def _settings(sweep: Sweep) -> str:
    """List the rules of measuring by their names in a sweep: those of a GPU if there is one."""
    device = next((device for device in sweep.axes.device if device != "cpu"), "cpu")
    rules = sweep.measure.for_device(device)
    values = {name: getattr(rules, name) for name in rules.__struct_fields__ if name not in NOT_A_RULE}
    return ", ".join(
        name if value is True else f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}"
        for name, value in values.items()
        if value
    )


def _rounds(session: Session, results: Sequence[Result]) -> str | None:
    measure = session.start.sweep.measure
    if not measure.repeats:
        return None
    spreads = [spread for result in results if (spread := result.metrics.between_rounds_percent) is not None]
    worst = f"; their medians differ by up to {percentage(max(spreads))}%" if spreads else ""
    if measure.rounds_auto:
        most = max((len(result.case.ends) for result in results), default=measure.rounds)
        then = f"then of cases with open comparisons, at most {most:,}"
        return f"{measure.rounds:,} of every case, {then}{worst}{_by_turns(results)}"
    return f"{measure.rounds:,} of every case, in alternating order{worst}"


def _by_turns(results: Sequence[Result]) -> str:
    """Count the pairs of cases that were compared by turns, and their rounds; empty if there are none."""
    rounds = sorted(len(pairs) for pair in combinations(results, 2) if (pairs := pairs_by_turns(*pair)))
    if not rounds:
        return ""
    least = "" if rounds[0] == rounds[-1] else f"{rounds[0]:,} to "
    return f"; {count(len(rounds), 'pair')} of cases by turns, {least}{count(rounds[-1], 'round')} each"


def _noise_floor(session: Session, noise: dict[str, Noise]) -> str | None:
    """Describe the difference between two runs of the same case. None without an A/A pair."""
    pair = aa_pair(session)
    ratio = latency_ratio(*pair) if pair else None
    if pair is None or ratio is None:
        return None
    change = signed_percent(1 / ratio.value - 1) if ratio.value else None
    where = f" on {kind_of_result(pair[0])}" if len(noise) > 1 else ""
    apart = f"typical steps {change} % apart ({verdict_cell(ratio)})"
    return f"{pair[0].name} measured twice: {apart}; no smaller difference counts{where}"


def _idle(session: Session) -> str | None:
    idle = session.machine.idle
    if idle is None or not idle.power_w:
        return None
    devices = ", ".join(f"{name} {number(power, 1)} W" for name, power in idle.power_w.items())
    powers_w = context_power_w(session.peaks, None).items()
    context = ", ".join(f"{device} {number(power, 1)} W" for device, power in powers_w)
    with_context = f"; with a CUDA context {context}" if context else ""
    return f"{devices}, over {number(idle.window_s, 1)} s before the first case{with_context}; not subtracted"


def _energy(cases: Iterable[CaseState]) -> str | None:
    readings = [case.finished.energy for case in cases if case.finished and case.finished.energy]
    sources = _tally(f"from {energy.source}" for energy in readings if energy.source)
    reasons = _tally(f"absent: {energy.absent}" for energy in readings if energy.absent)
    return "; ".join(filter(None, (sources, reasons))) or None


def _tally(words: Iterable[str | None]) -> str | None:
    """List each distinct text with its number of cases."""
    amounts = Counter(word for word in words if word)
    return "; ".join(f"{word} ({count(amount, 'case')})" for word, amount in amounts.items()) or None


def _baseline(session: Session) -> str:
    named = session.start.sweep.measure.baseline
    if named is None and any(case.config.label for case in session.cases):
        groups = any(case.config.group for case in session.cases)
        return f"the first measured case{' of each group' if groups else ''}"
    scope = " of each workload" if len({case.config.work for case in session.cases}) > 1 else ""
    if named is None:
        return f"the first measured case{scope}, as the sweep names none"
    wanted = ", ".join(f"{field} = {value}" for field, value in named.named.items()) or "any case"
    return f"{wanted}: the first such case{scope}"


def _resumed(session: Session) -> str | None:
    """Describe how often the session was resumed, with dates and session times."""
    if not session.resumed:
        return None
    times = [f"{resume.created} after {number(resume.t, 1)} s" for resume in session.resumed]
    often = "once" if len(times) == 1 else f"{len(times):,} times"
    return f"{often}: {'; '.join(times)}; pauses aren't counted; incomplete cases were restarted"


def _identity(session: Session) -> str:
    version = session.start.version
    by = f", recorded by benchtui {version}" if version else ""
    lasted = f", {number(session.now_s, 1)} s long" if session.now_s > 0 else ""
    return f"{session.start.id}{by}{lasted}"
