"""Sum of a comparison: all cases together, the session to run, and the best session for each need."""

from collections.abc import Iterator, Sequence

import msgspec

from benchtui.sessions.advice.objectives import SPEED_NEEDS, Need, Objective, cost_metrics
from benchtui.sessions.advice.optimal import ahead_by, decide, longer_tail, total_cost
from benchtui.sessions.compare.align import (
    LETTERS,
    ComparedSession,
    PairwiseComparison,
    SessionComparison,
    widened_between_sessions,
)
from benchtui.sessions.report.comparison.naming import base_name, lettered, new_name
from benchtui.sessions.report.overview.choices import OPTIMA
from benchtui.sessions.stats.results import Result, by_work, varied
from benchtui.sessions.stats.verdicts import Ratio, Verdict
from benchtui.sessions.sweep.options import OPTIONS
from benchtui.sessions.text.formatting import count, listed, ratio_span, ratio_text
from benchtui.sessions.text.glossary import Phrase
from benchtui.sessions.text.labels import case_label
from benchtui.sessions.text.tables import Column, Table, table
from benchtui.sessions.text.wording import doubt_phrase, figure, lead_confidence, ratio_cell

NEEDS: tuple[Need, ...] = ("throughput", "latency", "memory", "energy")
MOST_SENTENCES = 3
MOST_WORKS = 3
"""Number of works up to which needs other than speed have rows."""


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
    """Sum up each pair of sessions, and say what would decide the rest."""
    sums = [setup_sentence(against) for against in compared.against]
    if len(sums) > MOST_SENTENCES:
        rest = count(len(sums) - MOST_SENTENCES + 1, "more session")
        return [*sums[: MOST_SENTENCES - 1], f"{rest} follow below."]
    return [*sums, *filter(None, [_to_decide(compared)])]


def setup_sentence(against: PairwiseComparison) -> str:
    """Sum up a pair of sessions: the geometric mean of all cases with its verdict, and which one to run."""
    base, new = base_name(against), new_name(against)
    whole = against.overall
    if whole is None:
        why = "has a time in both" if against.compared else "was measured in both"
        return f"{new} can't be compared with {base}: no case {why}."
    ratio = whole.ratio
    span = ratio_span(ratio.low, ratio.high, ratio.value)
    interval, reason = f" ({span})" if span else "", doubt_phrase(ratio)
    verdict = f"{ratio.verdict.name}: {reason}" if reason else ratio.verdict.name
    over = count(whole.cases, "case")
    sum_ = f"{new} is {ratio_text(ratio.value)} × as fast as {base} over {over}{interval}, {verdict}"
    if against.count(Verdict.FASTER) and against.count(Verdict.SLOWER):
        return f"It depends on the case: {_counts(against)}; {sum_}."
    return f"{_advice(against, ratio)}: {sum_}."


def _advice(against: PairwiseComparison, ratio: Ratio) -> str:
    """Say which session to run."""
    better = f"{Phrase.RUN} {against.new_letter}" if ratio.value > 1 else f"Keep {LETTERS[0]}"
    match ratio.verdict:
        case Verdict.FASTER | Verdict.SLOWER:
            return better
        case Verdict.SAME:
            return f"{Phrase.RUN} either"
        case Verdict.REPORTED:
            return f"{better}, {Phrase.AS_REPORTED.partition(';')[0]}"
        case _:
            return Phrase.UNDECIDED.capitalize()


def _to_decide(compared: SessionComparison) -> str | None:
    """Say what would decide the unsure cases; None if nothing would."""
    ratios = [
        row.ratio
        for against in compared.against
        for row in against.compared
        if row.ratio and row.verdict is Verdict.UNSURE
    ]
    wanted = [ratio.next_rounds for ratio in ratios if ratio.next_rounds]
    if not wanted:
        return None
    cases, rounds = count(len(wanted), "unsure case"), count(max(wanted), "round")
    return f"{Phrase.TO_DECIDE.capitalize()} {cases}, measure the sessions again with {rounds}."


def _counts(against: PairwiseComparison) -> str:
    return listed([f"{amount:,} {verdict.name}" for verdict in Verdict if (amount := against.count(verdict))])


def tally(against: PairwiseComparison) -> str:
    """Count the cases of a pair by verdict, and those that the new session lost."""
    rows = against.compared
    if not rows:
        return "No case was measured in both."
    lost = sum(row.lost for row in against.rows)
    more = f" {count(lost, 'case')} measured in A and not in {against.new_letter}." if lost else ""
    return f"{count(len(rows), 'case')} compared, {_counts(against)}.{more}"


def choices(compared: SessionComparison) -> list[Choice]:
    """Return the best session for each need and work that at least two sessions measured."""
    configs = (case.config for side in compared.sides for case in side.session.cases)
    works = by_work(result for side in compared.sides for result in side.results)
    in_need = [option.name for option in OPTIONS if option.work and len(works) > 1]
    varying = tuple(name for name in varied(configs) if name not in ("device", "precision", *in_need))
    chosen = []
    for need in NEEDS if len(works) <= MOST_WORKS else SPEED_NEEDS:
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


def _named(choice: Choice, candidate: Candidate) -> str:
    name = case_label(candidate.result.config, choice.varying)
    return f"{candidate.letter}: {name}, {figure(candidate.result, choice.need)}"


_COLUMNS: tuple[Column[Choice], ...] = (
    Column("Need", lambda choice: ", ".join(filter(None, (OPTIMA[choice.need], choice.tokens))), right=False),
    Column("Run", lambda choice: _named(choice, choice.best), right=False),
    Column("Next best session", lambda choice: _named(choice, choice.next), right=False),
    Column("Ahead by (95% interval)", lambda choice: ratio_cell(choice.ahead), right=False),
    Column("Confidence", _confidence, right=False),
)
