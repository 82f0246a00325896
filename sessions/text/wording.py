"""Sentence fragments: a metric with its unit, a ratio with its certainty, a choice with its runner-up."""

from collections.abc import Sequence

import msgspec

from benchtui.sessions.advice.objectives import Need
from benchtui.sessions.advice.optimal import Decision, Rival
from benchtui.sessions.analysis.applied_options import was_applied
from benchtui.sessions.stats.evidence import bounds_ms
from benchtui.sessions.stats.ratios import latency_ratio, throughput_ratio
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.sampling import CONFIDENCE, LEAST_ROUNDS, VERDICT_CONFIDENCE
from benchtui.sessions.stats.verdicts import MIN_EFFECT, Doubt, Ratio, Tail, Verdict
from benchtui.sessions.sweep import UNKNOWN, task_named
from benchtui.sessions.text.answers import answer_note
from benchtui.sessions.text.formatting import (
    count,
    listed,
    memory,
    number,
    percent,
    percentage,
    ratio_span,
    ratio_text,
    signed_percent,
    span,
    time_ms,
)
from benchtui.sessions.text.labels import case_label, unverified_options
from benchtui.sessions.text.quantities import interval_text, with_unit

SECONDS_AN_HOUR = 3600
MILLION = 1_000_000
SMALL_SHARE = 0.1
"""Share below which a percentage has a decimal."""
CANT_TELL = 9.0
"""Share, ten times as much, from which a resolution is given in words."""
MULTIPLE = 10
"""Share from which a multiple has no decimals."""
FAR = 1.5
"""Ratio from which a lag is given as a multiple rather than in percent."""
SMALLEST_COST = 0.02
"""Smallest relative difference in memory worth mentioning."""
AS_REPORTED = "as reported; the source kept no steps"
"""Confidence in what a source reported without the steps that could test it."""
CLEARLY_AHEAD = "clearly ahead of the next"
MOST_NAMES = 3
"""Number of cases named in a sentence; the rest are only counted."""


class Remark(msgspec.Struct, frozen=True):
    """A sentence or two, and the words that name their subject."""

    lead: str
    text: str


def figure(result: Result, need: Need) -> str:
    """Format the metrics of a case that matter for a need, with their units."""
    match need:
        case "throughput":
            return _rates(result)
        case "latency":
            return f"{_kind(result)} {time_ms(result.typical_ms)} ms"
        case "memory":
            rate, unit = result.per_mb
            return f"{number(rate)} {unit}, peak {memory(result.case.peak_memory_mb)}"
        case "energy":
            return str(with_unit("energy_per_sample_j", result))
        case "steadiness":
            return f"p90 {percentage(result.metrics.latency_ms.tail_percent)} % above p50"
        case "balanced":
            peak = memory(result.case.peak_memory_mb)
            rates = _rates(result) if result.metrics.samples_per_s else None
            parts = (rates, figure(result, "latency"), peak)
            return ", ".join(part for part in parts if part)


def best_figure(choice: Decision) -> str:
    """Format the metrics of the best case of a decision.

    The best of several indistinguishable cases was partly lucky, so it has no interval of its own.
    """
    if choice.best is None:
        return ""
    if choice.ties:
        amount = 1 + len(choice.ties) + len(choice.contenders)
        return f"{figure(choice.best, choice.objective.need)}, best of {amount:,}"
    return figure_with_interval(choice.best, choice.objective.need)


def figure_with_interval(result: Result, need: Need) -> str:
    """Format the metrics of a case that matter for a need, with their 95% interval and slow steps."""
    tail = None
    match need:
        case "throughput":
            interval = interval_text("samples_per_s", result)
        case "latency":
            bounds = bounds_ms(result)
            interval = span(time_ms(bounds.low), time_ms(bounds.high)) if bounds else None
            tail = _tail_of(result)
        case "energy":
            interval = interval_text("energy_per_sample_j", result)
        case _:
            interval, tail = None, _tail_of(result) if need == "steadiness" else None
    shown = f"{figure(result, need)} ({interval})" if interval else figure(result, need)
    return f"{shown}, {tail}" if tail else shown


def _tail_of(result: Result) -> str | None:
    """Format the highest percentile that the case has enough steps for."""
    latency = result.metrics.latency_ms
    tails = (("p99", latency.p99), ("p90", latency.p90))
    return next((f"{name} {time_ms(value)} ms" for name, value in tails if value is not None), None)


def _rates(result: Result) -> str:
    """Format throughput in samples, and also in tokens for a task about tokens (new tokens if it generates)."""
    own, shown = result.metrics.task.unit, number(result.metrics.samples_per_s)
    samples = f"{shown} {own}" if shown else "no rate"
    rate, unit = headline_rate(result)
    return samples if rate is None or unit == own else f"{number(rate)} {unit}, {samples}"


def headline_rate(result: Result) -> tuple[float | None, str]:
    """Return the rate that describes a case's task, and its unit: new tokens, tokens, or samples."""
    metrics, (tokens, unit) = result.metrics, result.token_rate
    if metrics.new_tokens_per_s is not None:
        return metrics.new_tokens_per_s, "new tokens/s"
    task = result.session.start.sweep.task if result.session else ""
    if tokens and task_named(task).headline == "tokens":
        return tokens, unit
    return metrics.samples_per_s, metrics.task.unit


def _kind(result: Result) -> str:
    """Name the statistic of the typical step: a median, a median over rounds, or an imported mean."""
    if len(result.metrics.rounds_ms) > 1 and result.case.steps_measured:
        return "median over rounds"
    return "mean" if result.metrics.latency_ms.median is None else "median"


def cost_of_a_million(result: Result, per_hour: float | None) -> float | None:
    """Return the cost of a million samples at a price per hour, in its currency."""
    rate = result.metrics.samples_per_s
    return MILLION / (rate * SECONDS_AN_HOUR) * per_hour if rate and per_hour is not None else None


def ratio_with_interval(ratio: Ratio | None) -> str:
    """Format a ratio with its 95% interval, or note that it has none."""
    if ratio is None:
        return "an unknown multiple"
    interval = ratio_span(ratio.low, ratio.high, ratio.value) or "no interval"
    return f"{ratio_text(ratio.value)} × ({interval})"


def against(ratio: Ratio | None, other: str) -> str:
    """Format a ratio relative to something else, with the reason if it is unsure."""
    why = why_unsure(ratio) if ratio else None
    if ratio and why:
        return f"{ratio_text(ratio.value)} × {other}, but {why}"
    return f"{ratio_with_interval(ratio)} {other}"


def why_unsure(ratio: Ratio) -> str | None:
    """Explain why a ratio is unsure, and what would decide it; None if it isn't."""
    doubt = doubt_text(ratio)
    return f"{doubt}{_rounds_note(ratio)}" if doubt else None


def verdict_reason(ratio: Ratio) -> str:
    """Explain the verdict on a ratio: the rule that its interval meets, or why it is unsure."""
    match ratio.verdict:
        case Verdict.UNSURE | Verdict.REPORTED:
            return why_unsure(ratio) or ""
        case Verdict.SAME:
            return f"the whole {100 * CONFIDENCE:g} % interval lies within {100 * ratio.same_within:.3g} %"
        case Verdict.FASTER | Verdict.SLOWER:
            return f"the whole {100 * VERDICT_CONFIDENCE:g} % interval lies beyond {100 * MIN_EFFECT:g} %"


def doubt_text(ratio: Ratio) -> str | None:
    """Explain why a ratio is unsure; None if it isn't."""
    match ratio.doubt:
        case None:
            return None
        case Doubt.NO_INTERVAL if ratio.reported:
            return "only as reported: the source kept no steps"
        case Doubt.NO_INTERVAL:
            return "there is no interval to test it with"
        case Doubt.WIDE:
            also = f", also because {listed(list(ratio.outside))}" if ratio.outside else ""
            return f"{_wide(ratio)} is too wide to call{also}{_resolution_note(ratio)}"
        case Doubt.STEPS:
            fast = ratio_text(ratio.fast.value, ratio.value) if ratio.fast else None
            return f"typical steps ({ratio_text(ratio.value)} ×) and fast steps ({fast} ×) disagree"
        case Doubt.TOTALS:
            totals = ratio_text(ratio.totals.value, ratio.value) if ratio.totals else None
            return f"typical steps ({ratio_text(ratio.value)} ×) and all steps together ({totals} ×) disagree"
        case Doubt.FILES:
            return "files of the step, the model or the dataset changed during the session"
        case Doubt.OUTSIDE:
            return f"that may be because {listed(list(ratio.outside))}{_resolution_note(ratio)}"


def verdict_cell(ratio: Ratio | None) -> str | None:
    """Return the verdict on a ratio as a table cell, with a brief reason if it is unsure."""
    if ratio is None:
        return None
    if ratio.doubt is None:
        return str(ratio.verdict)
    reason = {
        Doubt.NO_INTERVAL: "the source kept no steps" if ratio.reported else "no interval",
        Doubt.WIDE: _wide_briefly(ratio),
        Doubt.STEPS: "typical and fast steps disagree",
        Doubt.TOTALS: "typical steps and totals disagree",
        Doubt.FILES: "files changed",
        Doubt.OUTSIDE: "load or clock may explain it",
    }
    return f"{ratio.verdict}: {reason[ratio.doubt]}"


def _wide_briefly(ratio: Ratio) -> str:
    if ratio.leaning is not None:
        return f"leans {ratio.leaning} (95 %), not at 99 %"
    seen = ratio.resolution
    return resolution_text(seen) if seen and _below_resolution(ratio) else "too wide"


def resolution_text(share: float | None) -> str:
    """Say which differences can't be resolved. That of a tenfold one isn't a useful number."""
    return "can't tell" if share is None or share >= CANT_TELL else f"can't resolve below {_share(share)}"


def _wide(ratio: Ratio) -> str:
    """Format the interval that is too wide.

    This is the interval of typical steps, or of fast steps if that of typical steps is narrow enough. Where the
    95% interval leans to one side, it is the 99% interval, which decides.
    """
    if ratio.leaning is not None and ratio.bounds is not None:
        sure = ratio_span(ratio.bounds.sure_low, ratio.bounds.sure_high, ratio.value)
        return f"it leans {ratio.leaning} by the 95 % interval, but the 99 % interval ({sure} ×)"
    if _below_resolution(ratio) or ratio.fast is None:
        return f"the interval ({ratio_span(ratio.low, ratio.high, ratio.value)} ×)"
    return f"the interval of fast steps ({ratio_span(ratio.fast.low, ratio.fast.high, ratio.value)} ×)"


def _below_resolution(ratio: Ratio) -> bool:
    """Return whether the ratio is closer to 1 than can be resolved."""
    seen = ratio.resolution
    return seen is not None and ratio.value > 0 and max(ratio.value, 1 / ratio.value) - 1 <= seen


def _resolution_note(ratio: Ratio) -> str:
    """Return a note on differences that are too small to resolve; empty if this one isn't too small."""
    if ratio.resolution is None or not _below_resolution(ratio):
        return ""
    if ratio.resolution >= CANT_TELL:
        return "; not even a tenfold difference can be resolved"
    return f"; differences below {_share(ratio.resolution)} can't be resolved"


def _rounds_note(ratio: Ratio) -> str:
    wanted = ratio.next_rounds
    if wanted is None:
        return ""
    if ratio.rounds < LEAST_ROUNDS:
        return f"; {count(wanted, 'round')} would show the spread between processes, which is estimated so far"
    by_turns = " by turns" if ratio.by_turns else ""
    return f"; about {count(wanted - ratio.rounds, 'more round')}{by_turns} would decide it"


def _share(share: float) -> str:
    """Format a share in percent, with a decimal if it is small, or as a multiple if it is large."""
    if share >= 1:
        return f"{number(1 + share, 0 if share >= MULTIPLE else 1)} ×"
    return f"{number(100 * share, 0 if share >= SMALL_SHARE else 1)} %"


def against_baseline(result: Result, baseline: Result | None, need: Need, kinds: Sequence[str]) -> str | None:
    """Describe how a case compares with its baseline; None without one, or for a need that isn't compared."""
    if baseline is None:
        return None
    if baseline is result:
        return "which is the baseline itself"
    ratio = _ratio(baseline, result, need)
    if ratio is None:
        return None
    other = f"the baseline, {case_label(baseline.config, kinds)} ({figure(baseline, need)})"
    of = f"the throughput of {other}" if need == "throughput" else f"as fast as {other}"
    match ratio.verdict:
        case Verdict.SAME:
            return f"the same as {other}, within {_share(ratio.same_within)}: {ratio_with_interval(ratio)}"
        case Verdict.UNSURE | Verdict.REPORTED:
            return f"{ratio_text(ratio.value)} × {of}, but {why_unsure(ratio)}"
        case _:
            return f"{ratio_with_interval(ratio)} {of}{_contradiction_note(ratio, baseline, result, need)}"


def baseline_cell(result: Result, baseline: Result | None, need: Need) -> str | None:
    """Return how a case compares with its baseline as a table cell: ratio, interval and verdict."""
    if baseline is None or baseline is result:
        return "the baseline" if baseline else None
    ratio = _ratio(baseline, result, need)
    return ratio_cell(ratio) if ratio else None


def ratio_cell(ratio: Ratio) -> str:
    """Return a ratio as a table cell, with its interval and verdict."""
    shown = ratio_with_interval(ratio) if ratio.bounds else f"{ratio_text(ratio.value)} ×"
    return f"{shown}, {verdict_cell(ratio)}"


def _contradiction_note(ratio: Ratio, base: Result, new: Result, need: Need) -> str:
    """Return a note if typical steps contradict the throughputs shown next to their ratio; otherwise empty."""
    rates = [result.metrics.samples_per_s or 0.0 for result in (base, new)]
    contrary = need == "throughput" and (ratio.value - 1) * (rates[1] - rates[0]) < 0
    return " at typical steps, though not by all steps together" if contrary else ""


def against_others(choice: Decision, kinds: Sequence[str]) -> str:
    """Describe how certain it is that the best case is the best."""
    if choice.runner_up is None or choice.ahead is None or choice.best is None:
        return "There is no other case to choose from"
    if choice.leader is not None:
        return _over_leader(choice, kinds)
    if choice.ties:
        return f"{_tied(choice, kinds)}{_tail_note(choice)}"
    second = f"{case_label(choice.runner_up.config, kinds)} ({figure(choice.runner_up, choice.objective.need)})"
    if choice.verdict is Verdict.FASTER:
        behind = f"{_behind(choice.ahead)}{_round_note(choice)}"
        return f"The next, {second}, is {behind}{_tail_note(choice)}{_unsure_note(choice)}"
    how = _round_note(choice)
    if choice.verdict in (Verdict.UNSURE, Verdict.REPORTED):
        return f"The next is {second}: {ratio_text(choice.ahead.value)} ×{how}, but {why_unsure(choice.ahead)}"
    lead = f"{ratio_with_interval(choice.ahead)}{how or ' at typical steps'}"
    return f"The next is {second}: {lead}, which contradicts these values"


def confidence(choice: Decision) -> str:
    """Describe in a few words how certain it is that the best case is the best.

    If it isn't, the words include by how much another case may be better at most.
    """
    if choice.runner_up is None or choice.ahead is None:
        return "the only case"
    if choice.clear and choice.leader is None:
        return CLEARLY_AHEAD
    bound = None if choice.established or choice.as_reported else bound_text(choice)
    return f"{_doubt_about(choice, choice.ahead)}{f', within {bound} of the best' if bound else ''}"


def bound_text(choice: Decision) -> str | None:
    """Format by how much another case may be better at most; None if nothing bounds that usefully."""
    if choice.within is None or choice.within >= 1:
        return None
    return _share(max(choice.within, MIN_EFFECT))


def _doubt_about(choice: Decision, ahead: Ratio) -> str:
    """Describe why a best case isn't clearly ahead."""
    if choice.ties:
        return f"indistinguishable from {count(len(choice.ties) + len(choice.contenders), 'other')}"
    if choice.tail and choice.verdict is Verdict.FASTER:
        return _ahead_but_for(choice.tail)
    if choice.unsure and choice.verdict is Verdict.FASTER:
        return "ahead of the next, but not surely of all others"
    return _open_lead(ahead)


def lead_confidence(ratio: Ratio, tail: Tail | None) -> str:
    """Describe in a few words how certain it is that the better of two cases is better.

    ``tail`` is the percentile at which its slow steps are longer; None if there is none.
    """
    match ratio.verdict:
        case Verdict.FASTER:
            return _ahead_but_for(tail) if tail else CLEARLY_AHEAD
        case Verdict.SAME:
            return "indistinguishable: either will do"
        case _:
            return _open_lead(ratio)


def _ahead_but_for(tail: Tail) -> str:
    return f"ahead of the next, but not in its slow steps ({tail.name})"


def _open_lead(ratio: Ratio) -> str:
    if ratio.verdict is Verdict.REPORTED:
        return AS_REPORTED
    untested = ratio.doubt is Doubt.NO_INTERVAL
    return "no interval to test its lead with" if untested else "its lead isn't established"


def changing_text(rival: Rival, name: str) -> str:
    """Describe a better case that isn't recommended, and what it changes."""
    comparison = rival.result.case.comparison
    note = (answer_note(comparison) if comparison else None) or "other answers"
    return f"{name} is {ratio_cell(rival.ratio)}, but {note}"


def costs(result: Result, baseline: Result | None) -> str | None:
    """List the costs of a case relative to its baseline: memory, compile time, results that may differ."""
    parts = (_more_memory(result, baseline), _compiling(result, baseline), _accuracy(result, baseline))
    return ", ".join(part for part in parts if part) or None


def unverified_note(result: Result) -> str | None:
    """List the options of a case that weren't applied, or weren't verified as applied."""
    words = {False: "Not applied", None: "Not verified"}
    by_word = {
        word: [value for value, is_applied in unverified_options(result) if is_applied is state]
        for state, word in words.items()
    }
    return "; ".join(f"{word}: {', '.join(values)}" for word, values in by_word.items() if values) or None


def sentences(*parts: str | None) -> str:
    """Join the parts that aren't empty, each ending in a period."""
    return " ".join(f"{part}." for part in parts if part)


def _tied(choice: Decision, kinds: Sequence[str]) -> str:
    labels = [case_label(result.config, kinds) for result in choice.ties[:MOST_NAMES]]
    more = len(choice.ties) - len(labels)
    tied = listed([*labels, f"{more:,} more"] if more else labels)
    seen = _resolution_note(choice.ahead) if choice.ahead and choice.verdict is Verdict.UNSURE else ""
    return f"Indistinguishable from {tied}{seen}; it is the simplest of them"


def _over_leader(choice: Decision, kinds: Sequence[str]) -> str:
    """Explain why a simpler case was chosen over the one with the best metric."""
    leader, ahead = choice.leader, choice.ahead
    if leader is None or ahead is None:
        return ""
    name = f"{case_label(leader.config, kinds)} ({figure(leader, choice.objective.need)})"
    asks = costs(leader, choice.best)
    more = f"; it would cost {asks}" if asks else ""
    rest = sum(row is not leader for row in choice.ties)
    others = f"; {count(rest, 'more case')} can't be distinguished either" if rest else ""
    return f"{name} {_lead(ahead, _round_note(choice))}{more}{others}"


def _round_note(choice: Decision) -> str:
    """Return a note if the metrics are compared round by round rather than as shown."""
    by_rounds = choice.objective.need in ("steadiness", "energy") and choice.ahead and choice.ahead.bounds
    return " round by round" if by_rounds else ""


def _lead(ahead: Ratio, how: str) -> str:
    """Describe the lead of a case over a simpler one that is ``ahead`` times as good."""
    leads = 0 < ahead.value < 1
    lead = f"is {percent(1 / ahead.value - 1)} % ahead{how}" if leads else "has the better value"
    if ahead.verdict is Verdict.SAME or ahead.doubt is Doubt.NO_INTERVAL:
        return f"{lead}, which is within {_share(ahead.same_within)}"
    return f"{lead}, which isn't established{_resolution_note(ahead)}"


def _behind(ratio: Ratio) -> str:
    """Describe the lag of a case behind one that is this many times as good."""
    if ratio.value >= FAR or ratio.low is None or ratio.high is None:
        return f"behind by {ratio_with_interval(ratio)}"
    low, middle, high = (percent(1 - 1 / bound) for bound in (ratio.low, ratio.value, ratio.high))
    return f"{middle} % behind ({low} to {high} %)"


def _tail_note(choice: Decision) -> str:
    if choice.tail is None:
        return ""
    best, other = time_ms(choice.tail.best_ms), time_ms(choice.tail.other_ms)
    return f"; but its {choice.tail.name} is longer: {best} against {other} ms"


def _unsure_note(choice: Decision) -> str:
    """Return a note that names the nearest case that can't be distinguished, and why; empty without one."""
    if not choice.unsure:
        return ""
    first = choice.unsure[0]
    rest = f" and from {count(len(choice.unsure) - 1, 'more case')}" if len(choice.unsure) > 1 else ""
    reason = (verdict_cell(first.ratio) or "").partition(": ")[2]
    far = f"{ratio_text(first.ratio.value)} ×, {reason}"
    return f"; not distinguished from {first.result.name} ({far}){rest}"


def memory_change(result: Result, baseline: Result) -> float | None:
    """Return the relative change of peak memory. None if one is unknown, or they are of different kinds."""
    if (result.config.device == "cpu") != (baseline.config.device == "cpu"):
        return None  # resident memory of a worker isn't comparable with device memory
    mine, theirs = result.case.peak_memory_mb, baseline.case.peak_memory_mb
    return mine / theirs - 1 if mine and theirs else None


def _more_memory(result: Result, baseline: Result | None) -> str | None:
    change = memory_change(result, baseline) if baseline else None
    if baseline is None or change is None or change < SMALLEST_COST:
        return None
    mine, theirs = result.case.peak_memory_mb, baseline.case.peak_memory_mb
    return f"{signed_percent(change, 0)} % peak memory ({memory(theirs)} to {memory(mine)})"


def _compiling(result: Result, baseline: Result | None) -> str | None:
    cold_ms = result.metrics.cold_cost_ms
    if result.config.compile in ("off", UNKNOWN) or cold_ms is None or _shares(result, baseline, "compile"):
        return None
    if was_applied(result.case, "compile") is False:
        return None
    return f"{number(cold_ms / 1000)} s of compile time"


def _shares(result: Result, baseline: Result | None, option: str) -> bool:
    """Return whether the baseline has the same value of an option, which is no cost relative to it."""
    return baseline is not None and getattr(baseline.config, option) == getattr(result.config, option)


def _accuracy(result: Result, baseline: Result | None) -> str | None:
    """Describe the measured or possible effect on the case's answers; None if there is none."""
    answered = result.case.comparison
    if answered and answered.verdict:
        return None if answered.verdict == "identical" else answer_note(answered)
    if result.config.precision in ("fp32", UNKNOWN) or _shares(result, baseline, "precision"):
        return None
    return f"possibly accuracy ({result.config.precision}: accuracy not measured here)"


def _ratio(base: Result, new: Result, need: Need) -> Ratio | None:
    match need:
        case "throughput":
            return throughput_ratio(base, new)
        case "latency":
            return latency_ratio(base, new)
        case _:
            return None
