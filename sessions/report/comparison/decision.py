"""Decision of a comparison: the setup to run, with its certainty, and the best case for each need."""

from collections.abc import Iterator, Sequence
from math import log

import msgspec

from benchtui.sessions.advice.objectives import SPEED_NEEDS, Need, Objective, cost_metrics
from benchtui.sessions.advice.optimal import ahead_by, decide, longer_tail, total_cost
from benchtui.sessions.compare.align import (
    AlignedCase,
    ComparedSession,
    PairwiseComparison,
    SessionComparison,
    widened_between_sessions,
)
from benchtui.sessions.report.comparison.naming import all_of, base_name, label, lettered, new_name
from benchtui.sessions.report.comparison.systems import difference_sentence
from benchtui.sessions.report.sections.recommendations import OPTIMA
from benchtui.sessions.stats.results import Result, by_work, varied
from benchtui.sessions.stats.verdicts import Doubt, Ratio, Verdict
from benchtui.sessions.text.formatting import count, listed, ratio_text, span
from benchtui.sessions.text.labels import case_label
from benchtui.sessions.text.tables import Column, Table, table
from benchtui.sessions.text.wording import (
    AS_REPORTED,
    costs,
    figure,
    figure_with_interval,
    lead_confidence,
    ratio_cell,
    ratio_with_interval,
    unverified_note,
    why_unsure,
)

NEEDS: tuple[Need, ...] = ("throughput", "latency", "memory", "energy")
MOST_SENTENCES = 3


class Candidate(msgspec.Struct, frozen=True):
    """The case that a session's own report recommends for a need."""

    letter: str
    result: Result
    cost: float


class Choice(msgspec.Struct, frozen=True):
    """The best session for a need at one sequence length, and the next one."""

    need: Need
    tokens: str
    """``128 tokens`` if there are several sequence lengths, else empty."""
    best: Candidate
    next: Candidate
    ahead: Ratio
    """Ratio of the best one to the next; above 1."""
    varying: tuple[str, ...]
    """Options that vary in any of the sessions, to be named in case labels."""


def sentences(compared: SessionComparison) -> list[str]:
    """Describe which setup to run and why: verdicts, differences, and unsettled cases."""
    against = compared.against
    setups = [setup_sentence(pairwise) for pairwise in against]
    if len(setups) > MOST_SENTENCES:
        rest = count(len(setups) - MOST_SENTENCES + 1, "more session")
        return [*setups[: MOST_SENTENCES - 1], f"{rest} follow below."]
    differing = [difference_sentence(compared, pairwise) for pairwise in against]
    unsettled = [sentence for pairwise in against if (sentence := unsettled_sentence(pairwise))]
    return [*setups, *differing, *unsettled][:MOST_SENTENCES]


def setup_sentence(against: PairwiseComparison) -> str:
    """Describe which of two setups to run, by the verdicts on the common cases: those measured in both."""
    base, new = base_name(against), new_name(against)
    rows = [row for row in against.compared if row.ratio]
    if not rows:
        why = "has a time in both" if against.compared else "was measured in both"
        return f"{new} can't be compared with {base}: no case {why}."
    faster, slower = (_of(rows, verdict) for verdict in (Verdict.FASTER, Verdict.SLOWER))
    if faster and slower:
        gain, loss = (_extreme(against, row) for row in (against.largest_gain, against.largest_loss))
        both = f"{new} is faster than {base} in {_share(faster, rows)}, most at {gain}"
        return f"It depends on the case: {both}; it is slower in {len(slower):,}, most at {loss}."
    if faster:
        rest = "" if len(faster) == len(rows) else ", and SLOWER in none"
        return f"Run {new}: it is {_range(faster)} as fast as {base} in {_share(faster, rows)} (FASTER){rest}."
    if slower:
        rest = "" if len(slower) == len(rows) else ", and FASTER in none"
        return f"Keep {base}: {new} is {_range(slower)} as fast in {_share(slower, rows)} (SLOWER){rest}."
    return _undecided(against, rows)


def _undecided(against: PairwiseComparison, rows: Sequence[AlignedCase]) -> str:
    base, new = base_name(against), new_name(against)
    whole = against.overall
    if whole and whole.cases > 1 and whole.ratio.verdict in (Verdict.FASTER, Verdict.SLOWER):
        lead = f"Run {new}: it is" if whole.ratio.verdict is Verdict.FASTER else f"Keep {base}: {new} is"
        fast = f"{ratio_with_interval(whole.ratio)} as fast over {all_of(whole.cases)} together"
        return f"{lead} {fast} ({whole.ratio.verdict.name}), which no case alone establishes."
    fast = f"{new} is {_range(rows)} as fast as {base} in {_share(rows, rows)}"
    doubts = {row.ratio.doubt if row.ratio else Doubt.NO_INTERVAL for row in rows}
    if doubts == {None}:
        margin = max(row.ratio.same_within for row in rows if row.ratio)
        return f"Run either: {fast}, which is the same within {100 * margin:g} %."
    if doubts == {Doubt.NO_INTERVAL}:
        if all(row.verdict is Verdict.REPORTED for row in rows):
            return f"{fast}, {AS_REPORTED}.{_if_they_hold(against, rows)}"
        return f"{fast}, but UNSURE: there is no interval to test it with.{_if_they_hold(against, rows)}"
    undecided = (Verdict.SAME, Verdict.UNSURE, Verdict.REPORTED)
    counts = [(verdict, len(_of(rows, verdict))) for verdict in undecided]
    how = listed([f"{verdict.name} in {amount:,}" for verdict, amount in counts if amount])
    return f"No difference is established: {fast}, {'UNSURE' if len(rows) == 1 else how}."


def _if_they_hold(against: PairwiseComparison, rows: Sequence[AlignedCase]) -> str:
    """Recommend a setup by the ratios alone; empty if they disagree."""
    values = [row.ratio.value for row in rows if row.ratio]
    if min(values) > 1:
        return f" If these figures hold, run {against.new_letter}."
    return " If these figures hold, keep A." if max(values) < 1 else ""


def unsettled_sentence(against: PairwiseComparison) -> str:
    """Name the unsure case whose ratio is farthest from 1, and why it has no verdict; empty without one."""
    unsure = [(row, row.ratio) for row in _of(against.compared, Verdict.UNSURE) if row.ratio]
    bounded = [
        (row, ratio) for row, ratio in unsure if ratio.value > 0 and ratio.doubt is not Doubt.NO_INTERVAL
    ]
    if not bounded:
        return ""
    row, ratio = max(bounded, key=lambda rated_row: abs(log(rated_row[1].value)))
    amount = against.count(Verdict.UNSURE)
    most = f"Of {amount:,} unsure cases, {label(against, row.case)} differs most"
    lead = most if amount > 1 else f"One case is unsure, {label(against, row.case)}"
    return f"{lead}: {ratio_text(ratio.value)} ×, but {why_unsure(ratio)}."


def tally(against: PairwiseComparison) -> str:
    """Count the cases of a pair by verdict, and those that the new session lost."""
    rows = against.compared
    if not rows:
        return "No case was measured in both."
    counted = [f"{amount:,} {verdict.name}" for verdict in Verdict if (amount := against.count(verdict))]
    lost = sum(row.lost for row in against.rows)
    more = f" {count(lost, 'case')} measured in A and not in {against.new_letter}." if lost else ""
    return f"{count(len(rows), 'case')} compared, {listed(counted)}.{more}"


def overall_text(against: PairwiseComparison) -> str:
    """Describe the geometric mean of all ratios, with its verdict; empty for fewer than two cases."""
    whole = against.overall
    if whole is None or whole.cases < 2:
        return ""
    disturbed = f" {count(whole.disturbed, 'disturbed case')} left out." if whole.disturbed else ""
    return f"All cases together (geometric mean of {whole.cases:,}): {ratio_cell(whole.ratio)}.{disturbed}"


def choices(compared: SessionComparison) -> list[Choice]:
    """Return the best session for each need and work that at least two sessions measured."""
    configs = (case.config for side in compared.sides for case in side.session.cases)
    varying = tuple(name for name in varied(configs) if name not in ("device", "precision"))
    works = by_work(result for side in compared.sides for result in side.results)
    chosen = []
    for need in NEEDS:
        for work in works:
            where = str(work) if len(works) > 1 else ""
            candidates = list(_candidates(compared.sides, Objective(need, work=work)))
            if len(candidates) > 1 and _comparable(need, candidates):
                chosen.append(_choice(need, where, candidates, varying))
    return chosen


def choice_table(chosen: Sequence[Choice]) -> Table | None:
    """Return a row for each need."""
    return table(_COLUMNS, chosen)


def _candidates(sides: Sequence[ComparedSession], objective: Objective) -> Iterator[Candidate]:
    """Yield the case that each session's own report recommends."""
    for letter, side in lettered(sides):
        best = decide(side.session, objective, side.results).best
        if best:
            yield Candidate(letter, best, total_cost(best, cost_metrics(objective, [best])))


def _comparable(need: Need, candidates: Sequence[Candidate]) -> bool:
    """Return whether the metrics of these cases are comparable. Memory and energy differ by kind of device."""
    return need in SPEED_NEEDS or len({_on_cpu(candidate.result) for candidate in candidates}) == 1


def _on_cpu(result: Result) -> bool:
    return result.config.device == "cpu"


def _choice(need: Need, tokens: str, candidates: Sequence[Candidate], varying: tuple[str, ...]) -> Choice:
    best, second, *_ = sorted(candidates, key=lambda candidate: candidate.cost)
    ahead = _ahead(need, second, best)
    if (
        ahead.verdict is Verdict.SLOWER
    ):  # totals and typical steps disagree, and the verdict is about the latter
        best, second, ahead = second, best, _ahead(need, best, second)
    return Choice(need, tokens, best, second, ahead, varying)


def _ahead(need: Need, base: Candidate, new: Candidate) -> Ratio:
    one, other = base.result, new.result
    ahead = ahead_by(one, other, cost_metrics(Objective(need), [one, other]))
    return widened_between_sessions(ahead, one, other)


def _confidence(choice: Choice) -> str:
    return lead_confidence(choice.ahead, longer_tail(choice.best.result, choice.next.result, choice.need))


def _costs(choice: Choice) -> str | None:
    best, other = choice.best.result, choice.next.result
    return "; ".join(part for part in (costs(best, other), unverified_note(best)) if part) or None


def _of(rows: Sequence[AlignedCase], verdict: Verdict) -> list[AlignedCase]:
    return [row for row in rows if row.verdict is verdict]


def _share(some: Sequence[AlignedCase], rows: Sequence[AlignedCase]) -> str:
    """Count the cases out of those that were measured in both sessions."""
    if len(some) == len(rows):
        return all_of(len(rows))
    return f"{len(some):,} of {len(rows):,} common cases"


def _range(rows: Sequence[AlignedCase]) -> str:
    """Format the range of the ratios; for a single case, its interval."""
    ratios = [row.ratio for row in rows if row.ratio]
    if len(ratios) == 1:
        return ratio_with_interval(ratios[0]) if ratios[0].bounds else f"{ratio_text(ratios[0].value)} ×"
    values = [ratio.value for ratio in ratios]
    return f"{span(ratio_text(min(values)), ratio_text(max(values)))} ×"


def _extreme(against: PairwiseComparison, row: AlignedCase | None) -> str:
    return f"{label(against, row.case)}: {ratio_with_interval(row.ratio)}" if row else ""


def _named(choice: Choice, candidate: Candidate) -> str:
    return f"{candidate.letter}: {case_label(candidate.result.config, choice.varying)}"


_COLUMNS: tuple[Column[Choice], ...] = (
    Column("Need", lambda choice: ", ".join(filter(None, (OPTIMA[choice.need], choice.tokens))), right=False),
    Column("Run", lambda choice: _named(choice, choice.best), right=False),
    Column(
        "Figure (95% interval)",
        lambda choice: figure_with_interval(choice.best.result, choice.need),
        right=False,
    ),
    Column(
        "Next best session",
        lambda choice: f"{_named(choice, choice.next)}, {figure(choice.next.result, choice.need)}",
        right=False,
    ),
    Column("Ahead by (95% interval)", lambda choice: ratio_cell(choice.ahead), right=False),
    Column("Confidence", _confidence, right=False),
    Column("Costs", _costs, right=False),
)
