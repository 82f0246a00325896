"""Pieces of sentences: a figure with its unit, a ratio with how sure it is, a choice with its runner-up."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchtui.sessions.compare import Ratio, Verdict, latency_ratio, throughput_ratio
from benchtui.sessions.optimal import Decision, Need
from benchtui.sessions.report.labels import case_label, doubts
from benchtui.sessions.report.text import count, listed, number, time_ms
from benchtui.sessions.results import Result

SECONDS_AN_HOUR = 3600
MILLION = 1_000_000
NEAR_ONE = 0.1
SMALL = 0.1
MOST_NAMES = 3
"""Cases named in a sentence before the rest is only counted."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence or two, and the words that name their subject."""

    lead: str
    text: str


def figure(result: Result, need: Need) -> str:
    """The figures of a case that a need looks at, with their units."""
    match need:
        case "throughput":
            return f"{number(result.metrics.samples_per_s)} samples/s"
        case "latency":
            kind = "mean" if result.metrics.latency_ms.median is None else "median"
            return f"{kind} {time_ms(result.typical_ms)} ms"
        case "memory":
            rate, unit = result.per_mb
            digits = 2 if result.tokens_per_mb is not None else 4
            return f"{number(rate, digits)} {unit}, peak {number(result.case.peak_memory_mb)} MB"
        case "energy":
            return f"{number(result.metrics.energy_per_sample_j, 4)} J/sample"
        case "balanced":
            memory = number(result.case.peak_memory_mb)
            parts = (figure(result, "throughput"), figure(result, "latency"), memory and f"{memory} MB")
            return ", ".join(part for part in parts if part)


def cost_of_a_million(result: Result, per_hour: float | None) -> float | None:
    """What a million samples cost at a price for an hour, in its currency."""
    rate = result.metrics.samples_per_s
    return MILLION / (rate * SECONDS_AN_HOUR) * per_hour if rate and per_hour is not None else None


def times(ratio: Ratio | None) -> str:
    """A ratio with its interval, or the word that it has none; near 1 with a digit more."""
    if ratio is None:
        return "an unknown multiple"
    digits = ratio_digits(ratio)
    value, low, high = (number(each, digits) for each in (ratio.value, ratio.low, ratio.high))
    return f"{value} × (no interval)" if ratio.verdict is Verdict.UNSURE else f"{value} × ({low} to {high})"


def ratio_digits(ratio: Ratio) -> int:
    """Decimals that a ratio is shown with: more near 1, where they matter, and for the smallest."""
    if ratio.value < SMALL:
        return 4
    return 3 if abs(ratio.value - 1) < NEAR_ONE else 2


def against_baseline(result: Result, baseline: Result | None, need: Need, kinds: Sequence[str]) -> str | None:
    """How a case stands to its baseline; None for a need that isn't compared."""
    if baseline is None:
        return "the baseline wasn't measured"
    if baseline is result:
        return "which is the baseline itself"
    ratio = _ratio(baseline, result, need)
    if ratio is None:
        return None
    other = f"the baseline, {case_label(baseline.config, kinds)} ({figure(baseline, need)})"
    if ratio.verdict is Verdict.SAME:
        return f"no difference from {other}: {times(ratio)}"
    return f"{times(ratio)} {'the throughput of' if need == 'throughput' else 'as fast as'} {other}"


def against_others(choice: Decision, kinds: Sequence[str]) -> str:
    """Whether the best case is surely the best."""
    if choice.runner_up is None:
        return "There is no other case to choose from"
    if choice.ties:
        return _tied(choice, kinds)
    second = f"{case_label(choice.runner_up.config, kinds)} ({figure(choice.runner_up, choice.wish.need)})"
    if choice.verdict is Verdict.FASTER:
        return f"The next, {second}, is clearly behind, by {times(choice.ahead)}"
    return f"The next is {second}; without intervals, how sure that is isn't known"


def sureness(choice: Decision) -> str:
    """Whether the best case is surely the best, in a few words."""
    if choice.ties:
        return f"no difference from {count(len(choice.ties), 'other')}"
    if choice.runner_up is None:
        return "the only case"
    return "clearly ahead of the next" if choice.verdict is Verdict.FASTER else "how sure isn't known"


def doubt(result: Result) -> str | None:
    """Which of the options of a case weren't surely in force."""
    words = {False: "was not applied", None: "was not verified to be in force"}
    found = [f"{value} {words[known]}" for value, known in doubts(result)]
    return f"Note that {listed(found)}" if found else None


def sentences(*parts: str | None) -> str:
    """The parts that there are, each closed by a full stop."""
    return " ".join(f"{part}." for part in parts if part)


def _tied(choice: Decision, kinds: Sequence[str]) -> str:
    labels = [case_label(result.config, kinds) for result in choice.ties[:MOST_NAMES]]
    more = len(choice.ties) - len(labels)
    tied = listed([*labels, f"{more:,} more"] if more else labels)
    return f"No difference from {tied}: the intervals overlap{_quickest(choice, kinds)}"


def _quickest(choice: Decision, kinds: Sequence[str]) -> str:
    """Of cases with the same throughput, the one to take for the sake of latency."""
    found = min(filter(None, (choice.best, *choice.ties)), key=lambda result: result.typical_ms)
    if choice.wish.need != "throughput" or found is choice.best:
        return ""
    return (
        f"; of all these {case_label(found.config, kinds)} has the shortest step ({figure(found, 'latency')})"
    )


def _ratio(base: Result, new: Result, need: Need) -> Ratio | None:
    match need:
        case "throughput":
            return throughput_ratio(base, new)
        case "latency":
            return latency_ratio(base, new)
        case _:
            return None
