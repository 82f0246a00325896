"""Fields as text: metrics with units, ratios with verdict and reason, the certainty and costs of a choice.

States have one phrase each, which docs/reading-a-report.md defines.
"""

from enum import StrEnum
from typing import NamedTuple

from benchtui.sessions.advice.objectives import Need
from benchtui.sessions.advice.optimal import Decision, Rival
from benchtui.sessions.analysis.applied_options import was_applied
from benchtui.sessions.metrics.views import COMPARED_BY
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.sampling import CONFIDENCE, VERDICT_CONFIDENCE
from benchtui.sessions.stats.verdicts import MIN_EFFECT, Doubt, Ratio, Verdict
from benchtui.sessions.sweep import UNKNOWN
from benchtui.sessions.text.answers import answer_note
from benchtui.sessions.text.formatting import (
    count,
    listed,
    memory,
    number,
    percentage,
    ratio_span,
    ratio_text,
    signed_percent,
    span,
    time_ms,
)
from benchtui.sessions.text.labels import unverified_options
from benchtui.sessions.text.quantities import interval_text, with_unit


class Phrase(StrEnum):
    """State of a choice, a ratio or an option in words. A number or a reason may follow."""

    FASTER = "FASTER"
    SLOWER = "SLOWER"
    SAME = "SAME"
    UNSURE = "UNSURE"
    REPORTED = "REPORTED"

    NO_STEPS = "the source kept no steps"
    NO_INTERVAL = "no interval"
    LEANS = "leans"
    CANT_RESOLVE = "can't resolve below"
    CANT_TELL = "can't tell"
    TOO_WIDE = "too wide"
    FAST_STEPS = "typical and fast steps disagree"
    TOTALS = "typical steps and totals disagree"
    FILES = "files changed"
    OUTSIDE = "load or clock may explain it"

    RUN = "Run"
    RUN_FOR_NOW = "Run for now"
    UNDECIDED = "undecided"
    IN_PART = "decided in part"
    MAY_BE_BETTER = "may be as good or better"
    TO_DECIDE = "to decide"
    NOTHING_DECIDES = "more measurements don't decide it"
    ONLY = "the only case"
    ONLY_COMPARABLE = "the only case that can be compared"
    AHEAD = "clearly ahead of the next"
    TIED = "indistinguishable from"
    WITHIN = "within"
    NOT_IN_SLOW_STEPS = "ahead of the next, but not in its slow steps"
    NOT_OF_ALL = "ahead of the next, but not surely of all others"
    AS_REPORTED = "as reported"
    BASELINE = "the baseline"

    USE = "use it"
    LEAVE = "leave it"
    NOT_FINITE = "loss not finite"
    NOT_APPLIED = "not applied"
    NOT_VERIFIED = "not verified"
    NOT_COMPARABLE = "not comparable"

    COMPILE_TIME = "of compile time"
    EXPORT_TIME = "to export and load"
    ACCURACY = "accuracy not measured here"


SECONDS_AN_HOUR = 3600
MILLION = 1_000_000
SMALL_SHARE = 0.1
"""Share below which a percentage has a decimal."""
CANT_TELL = 9.0
"""Share, ten times as much, from which a resolution is given in words."""
MULTIPLE = 10
"""Share from which a multiple has no decimals."""
SMALLEST_COST = 0.02
"""Smallest relative difference in memory worth mentioning."""
MOST_NAMES = 3
"""Number of cases named in a sentence; the rest are only counted."""


class Remark(NamedTuple):
    """A sentence or two, and the words that name their subject."""

    lead: str
    text: str


def figure(result: Result, need: Need) -> str:
    """Format the figure that a case is chosen by. A throughput is that in the samples or tokens of its task."""
    match need:
        case "throughput":
            rate, unit = result.headline_rate
            return f"{number(rate)} {unit}" if rate else "no rate"
        case "latency":
            return f"{time_ms(result.typical_ms)} ms"
        case "memory":
            rate, unit = result.per_gib
            return f"{number(rate)} {unit}"
        case "energy":
            return str(with_unit(COMPARED_BY[need], result))
        case "steadiness":
            return f"p90 {percentage(result.metrics.latency_ms.tail_percent)} % above p50"
        case "balanced":
            rates = figure(result, "throughput") if result.metrics.samples_per_s else None
            parts = (rates, figure(result, "latency"), memory(result.case.peak_memory_mb))
            return ", ".join(filter(None, parts))


def figure_interval(result: Result, need: Need) -> str | None:
    """Format the 95% interval of the first metric that ``figure`` shows for a need; None if it has none."""
    match need:
        case "throughput":
            rate, samples_per_s = result.headline_rate[0], result.metrics.samples_per_s
            low, high = result.metrics.samples_per_s_low, result.metrics.samples_per_s_high
            if not rate or not samples_per_s or low is None or high is None:
                return None
            return span(number(low * rate / samples_per_s), number(high * rate / samples_per_s))
        case "latency":
            bounds = result.typical_bounds
            return span(time_ms(bounds.low), time_ms(bounds.high)) if bounds else None
        case "energy":
            return interval_text(COMPARED_BY[need], result)
        case _:
            return None


def cost_of_a_million(result: Result | None, per_hour: float | None) -> float | None:
    """Return the cost of a million samples at a price per hour, in its currency."""
    rate = result.metrics.samples_per_s if result else None
    return MILLION / (rate * SECONDS_AN_HOUR) * per_hour if rate and per_hour is not None else None


def ratio_value(ratio: Ratio | None) -> str | None:
    """Format a ratio without its interval; None without one, or next to a neighbor, where nothing follows."""
    return None if ratio is None or ratio.shown is None else ratio_text(ratio.shown)


def ratio_interval(ratio: Ratio | None) -> str | None:
    """Format the 95% interval of a ratio; None if it has none."""
    return ratio_span(ratio.low, ratio.high, ratio.value) if ratio else None


def ratio_with_interval(ratio: Ratio) -> str:
    """Format a ratio with its 95% interval, or note that it has none; next to a neighbor, only say so."""
    if ratio.shown is None:
        return str(kind_of_doubt(ratio))
    return f"{ratio_text(ratio.shown)} × ({ratio_interval(ratio) or Phrase.NO_INTERVAL})"


def why_unsure(ratio: Ratio) -> str | None:
    """Explain why a ratio is unsure, by which figures, and what to measure next; None if it isn't."""
    reason, figures = doubt_phrase(ratio), _doubtful_figures(ratio)
    return f"{reason}{f': {figures}' if figures else ''}{_rounds_note(ratio)}" if reason else None


def verdict_reason(ratio: Ratio) -> str:
    """Explain the verdict on a ratio: the rule that its interval meets, or why it is unsure."""
    match ratio.verdict:
        case Verdict.UNSURE | Verdict.REPORTED:
            return why_unsure(ratio) or ""
        case Verdict.SAME:
            return f"the whole {100 * CONFIDENCE:g} % interval lies within {100 * ratio.same_within:.3g} %"
        case Verdict.FASTER | Verdict.SLOWER:
            return f"the whole {100 * VERDICT_CONFIDENCE:g} % interval lies beyond {100 * MIN_EFFECT:g} %"


def _doubtful_figures(ratio: Ratio) -> str | None:
    """Return what makes a ratio unsure: ratios that disagree, the interval that decides, or outside causes."""
    match ratio.doubt:
        case Doubt.WIDE if ratio.has_wide_fast_steps and ratio.fast:
            return f"{ratio_span(ratio.fast.low, ratio.fast.high, ratio.value)} ×"
        case Doubt.WIDE if ratio.leaning and ratio.bounds:
            return f"{ratio_span(ratio.bounds.sure_low, ratio.bounds.sure_high, ratio.value)} ×"
        case Doubt.STEPS if ratio.fast:
            return f"{ratio_text(ratio.value)} × and {ratio_text(ratio.fast.value, ratio.value)} ×"
        case Doubt.TOTALS if ratio.totals:
            return f"{ratio_text(ratio.value)} × and {ratio_text(ratio.totals.value, ratio.value)} ×"
        case Doubt.OUTSIDE:
            return listed(list(ratio.outside))
        case _:
            return None


def verdict_cell(ratio: Ratio | None) -> str | None:
    """Return the verdict on a ratio as a table cell, with a brief reason if it is unsure."""
    if ratio is None:
        return None
    reason = doubt_phrase(ratio)
    return f"{ratio.verdict.name}: {reason}" if reason else ratio.verdict.name


def doubt_phrase(ratio: Ratio) -> str | None:
    """Return the reason why a ratio is unsure, in a few words; None if it isn't."""
    match ratio.doubt:
        case Doubt.WIDE if ratio.leaning is not None:
            return f"{Phrase.LEANS} {ratio.leaning} (95 %), not at 99 %"
        case Doubt.WIDE if not ratio.has_wide_fast_steps and ratio.resolution and _below_resolution(ratio):
            return resolution_text(ratio.resolution)
        case None:
            return None
        case _:
            return kind_of_doubt(ratio)


def kind_of_doubt(ratio: Ratio) -> str | None:
    """Return the kind of reason why a ratio is unsure, without figures; None if it isn't."""
    if ratio.doubt is Doubt.NO_INTERVAL and ratio.reported:
        return Phrase.NO_STEPS
    if ratio.has_wide_fast_steps:
        return f"interval of fast steps {Phrase.TOO_WIDE}"
    return _DOUBTS[ratio.doubt] if ratio.doubt else None


_DOUBTS = {
    Doubt.NO_INTERVAL: Phrase.NO_INTERVAL,
    Doubt.WIDE: Phrase.TOO_WIDE,
    Doubt.STEPS: Phrase.FAST_STEPS,
    Doubt.TOTALS: Phrase.TOTALS,
    Doubt.FILES: Phrase.FILES,
    Doubt.OUTSIDE: Phrase.OUTSIDE,
}


def resolution_text(share: float | None) -> str:
    """Say which differences can't be resolved. That of a tenfold one isn't a useful number."""
    return Phrase.CANT_TELL if share is None or share >= CANT_TELL else f"{Phrase.CANT_RESOLVE} {_share(share)}"


def _below_resolution(ratio: Ratio) -> bool:
    """Return whether the ratio is closer to 1 than can be resolved."""
    seen = ratio.resolution
    return seen is not None and ratio.value > 0 and max(ratio.value, 1 / ratio.value) - 1 <= seen


def _rounds_note(ratio: Ratio) -> str:
    if ratio.next_rounds is None:
        return ""
    by_turns = " by turns" if ratio.by_turns else ""
    return f"; next: {count(ratio.next_rounds - ratio.rounds, 'more round')}{by_turns}"


def _share(share: float) -> str:
    """Format a share in percent, with a decimal if it is small, or as a multiple if it is large."""
    if share >= 1:
        return f"{number(1 + share, 0 if share >= MULTIPLE else 1)} ×"
    return f"{number(100 * share, 0 if share >= SMALL_SHARE else 1)} %"


def ratio_cell(ratio: Ratio) -> str:
    """Return a ratio as a table cell, with its interval and verdict.

    Next to a neighbor, nothing follows from the ratio, which is left out.
    """
    if ratio.shown is None:
        return str(verdict_cell(ratio))
    shown = ratio_with_interval(ratio) if ratio.bounds else f"{ratio_text(ratio.value)} ×"
    return f"{shown}, {verdict_cell(ratio)}"


def baseline_cell(result: Result, baseline: Result | None, ratio: Ratio | None) -> str | None:
    """Return how a case compares with its baseline as a table cell: ratio, interval and verdict."""
    if baseline is result:
        return Phrase.BASELINE
    return ratio_cell(ratio) if ratio else None


def confidence(choice: Decision) -> str:
    """Describe in a few words how certain it is that the best case is the best.

    If it isn't, the words include by how much another case may be better at most.
    """
    if choice.runner_up is None or choice.ahead is None:
        measured = [one for one in choice.rejected if one.case.has_result]
        return Phrase.ONLY_COMPARABLE if measured else Phrase.ONLY
    if choice.clear and choice.leader is None:
        return Phrase.AHEAD
    no_bound = choice.established or choice.as_reported or _leans(choice, choice.ahead)
    bound = None if no_bound else bound_text(choice)
    return f"{_doubt_about(choice, choice.ahead)}{f', {Phrase.WITHIN} {bound} of the best' if bound else ''}"


def _leans(choice: Decision, ahead: Ratio) -> bool:
    """Return whether the best case is ahead of all others at 95%, but not surely of the next one."""
    at_most = choice.within is not None and choice.within <= MIN_EFFECT
    return at_most and ahead.verdict is Verdict.UNSURE


def bound_text(choice: Decision) -> str | None:
    """Format by how much another case may be better at most; None if nothing bounds that usefully."""
    if choice.within is None or choice.within >= 1:
        return None
    return _share(max(choice.within, MIN_EFFECT))


def _doubt_about(choice: Decision, ahead: Ratio) -> str:
    """Describe why a best case isn't clearly ahead."""
    if choice.tied:
        others = count(len(choice.ties) + len(choice.contenders), "other")
        leads = f"{Phrase.LEANS} ahead of {others}"
        return leads if _leans(choice, ahead) else f"{Phrase.TIED} {others}"
    match ahead.verdict:
        case Verdict.FASTER if choice.tail and choice.verdict is Verdict.FASTER:
            return f"{Phrase.NOT_IN_SLOW_STEPS} ({choice.tail.name})"
        case Verdict.FASTER:
            return Phrase.NOT_OF_ALL if choice.unsure else Phrase.AHEAD
        case Verdict.SAME:
            return f"{Phrase.TIED} 1 other"
        case Verdict.REPORTED:
            return Phrase.AS_REPORTED
        case _:
            reason = doubt_phrase(ahead)
            return f"{Phrase.UNDECIDED}: {reason}" if reason else Phrase.UNDECIDED


def changing_text(rival: Rival) -> str:
    """Describe a better case that isn't recommended, and what it changes."""
    note = answer_note(rival.result.case) or "other answers"
    return f"{rival.result.name} is {ratio_cell(rival.ratio)}, but {note}"


def costs(result: Result, baseline: Result | None) -> str | None:
    """List the costs of a case relative to its baseline: memory, compile time, results that may differ."""
    compiling, exporting = compile_time(result, baseline), export_time(result, baseline)
    parts = (
        _more_memory(result, baseline),
        compiling and f"{compiling} {Phrase.COMPILE_TIME}",
        exporting and f"{exporting} {Phrase.EXPORT_TIME}",
        accuracy_note(result, baseline),
    )
    return ", ".join(filter(None, parts)) or None


def unverified_note(result: Result) -> str | None:
    """List the options of a case that weren't applied, or weren't verified as applied."""
    words = {False: Phrase.NOT_APPLIED, None: Phrase.NOT_VERIFIED}
    by_word = {
        word: [value for value, is_applied in unverified_options(result) if is_applied is state]
        for state, word in words.items()
    }
    return "; ".join(f"{word}: {', '.join(values)}" for word, values in by_word.items() if values) or None


def sentences(*parts: str | None) -> str:
    """Join the parts that aren't empty, each ending in a period."""
    return " ".join(f"{part}." for part in parts if part)


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


def compile_time(result: Result, baseline: Result | None) -> str | None:
    """Format the time that compiling cost; None for a case that didn't compile, or whose baseline did, too."""
    compiles = (
        result.config.compile not in ("off", UNKNOWN) and was_applied(result.case, "compile") is not False
    )
    return _cold_cost(result, baseline, "compile") if compiles else None


def export_time(result: Result, baseline: Result | None) -> str | None:
    """Format what exporting and loading cost a backend other than torch; None if the baseline has it, too."""
    return _cold_cost(result, baseline, "backend") if result.config.backend != "torch" else None


def _cold_cost(result: Result, baseline: Result | None, option: str) -> str | None:
    """Format the cost of the first steps, unless the baseline has the option that causes it, too."""
    cold_ms = result.metrics.cold_cost_ms
    return None if cold_ms is None or _shares(result, baseline, option) else f"{number(cold_ms / 1000)} s"


def _shares(result: Result, baseline: Result | None, option: str) -> bool:
    """Return whether the baseline has the same value of an option, which is no cost relative to it."""
    return baseline is not None and getattr(baseline.config, option) == getattr(result.config, option)


def accuracy_note(result: Result, baseline: Result | None) -> str | None:
    """Describe the measured or possible effect on the case's answers; None if there is none."""
    answered = result.case.comparison
    if answered and answered.verdict:
        return None if answered.verdict == "identical" else answer_note(result.case)
    if result.config.precision in ("fp32", UNKNOWN) or _shares(result, baseline, "precision"):
        return None
    return f"{result.config.precision}: {Phrase.ACCURACY}"
