"""Sum of a comparison: all cases together, the session to run, and the best session for each need."""

from collections.abc import Iterator, Sequence

import msgspec

from benchtui.sessions.advice.objectives import SPEED_NEEDS, Need, Objective, cost_metrics
from benchtui.sessions.advice.optimal import ahead_by, decide, total_cost
from benchtui.sessions.compare.align import (
    LETTERS,
    ComparedSession,
    PairwiseComparison,
    SessionComparison,
    widened_between_sessions,
)
from benchtui.sessions.report.comparison.naming import base_name, lettered, new_name, several
from benchtui.sessions.report.overview.decision import OPTIMA
from benchtui.sessions.stats.results import Result, by_work
from benchtui.sessions.stats.verdicts import Ratio, Verdict
from benchtui.sessions.sweep.options import UNKNOWN
from benchtui.sessions.text.formatting import count, listed, ratio_span
from benchtui.sessions.text.tables import Column, Table, table, text_column
from benchtui.sessions.text.wording import Phrase, figure, kind_of_doubt, ratio_cell, ratio_value, verdict_cell

NEEDS: tuple[Need, ...] = ("throughput", "latency", "memory", "energy")
MOST_SETUPS = 3
MOST_WORKS = 3
"""Number of works up to which needs other than speed have rows."""


class Candidate(msgspec.Struct, frozen=True):
    """The case that a session's own report recommends for a need."""

    letter: str
    result: Result
    cost: float
    known: bool
    """Whether its work is known, and not only named by another tool."""


class Choice(msgspec.Struct, frozen=True):
    """The best session for a need at one sequence length, and the next one."""

    need: Need
    tokens: str
    """``128 tokens`` if there are several sequence lengths, else empty."""
    best: Candidate
    next: Candidate
    ahead: Ratio
    """Ratio of the best one to the next; above 1."""


def sentences(compared: SessionComparison) -> list[str]:
    """Sum up each pair of sessions, and say which cases are open and what would decide them."""
    shown = compared.against[:MOST_SETUPS]
    rest = len(compared.against) - len(shown)
    return [
        *map(setup_sentence, shown),
        *filter(None, map(_open_sentence, shown)),
        *([f"{count(rest, 'more session')} below."] if rest else []),
    ]


def setup_sentence(against: PairwiseComparison) -> str:
    """Sum up a pair of sessions: which one to run, the geometric mean of all cases, and a count by verdict."""
    base, new = base_name(against), new_name(against)
    whole, amount = against.overall, len(against.compared)
    if whole is None:
        why = "has a time in both" if against.compared else "was measured in both"
        return f"{new} can't be compared with {base}: no case {why}."
    ratio = whole.ratio
    interval = ratio_span(ratio.low, ratio.high, ratio.value)
    over = count(amount, "case") if whole.cases == amount else f"{whole.cases:,} of {count(amount, 'case')}"
    shown = ratio_value(ratio)
    parts = (
        f"{_advice(against, ratio)}: {f'{new} is {shown} × as fast as' if shown else f'{new} against'} {base}",
        f" over {over}{f' ({interval})' if interval else ''}",
        f", {verdict_cell(ratio)}",
        "" if against.count(ratio.verdict) == amount else f"; {_counts(against)}",
    )
    return f"{''.join(parts)}."


def _advice(against: PairwiseComparison, ratio: Ratio) -> str:
    """Say which session to run, or as much as is known."""
    better = f"{Phrase.RUN} {against.new_letter}" if ratio.value > 1 else f"Keep {LETTERS[0]}"
    faster, slower, same = map(against.count, (Verdict.FASTER, Verdict.SLOWER, Verdict.SAME))
    match ratio.verdict:
        case _ if faster and slower:
            return "It depends on the case"
        case Verdict.FASTER | Verdict.SLOWER:
            return better
        case Verdict.SAME:
            return f"{Phrase.RUN} either"
        case Verdict.REPORTED:
            return f"{better}, {Phrase.AS_REPORTED}"
        case _ if faster or slower or same:
            return Phrase.IN_PART.capitalize()
        case _:
            return Phrase.UNDECIDED.capitalize()


def _open_sentence(against: PairwiseComparison) -> str | None:
    """Name the unsure cases by their reasons, with what would decide them; None if all are decided."""
    names: dict[str, list[str]] = {}
    rounds = [0]
    for row in against.compared:
        if row.ratio and row.verdict is Verdict.UNSURE:
            names.setdefault(kind_of_doubt(row.ratio) or "", []).append(row.case.name)
            rounds.append(row.ratio.next_rounds or 0)
    if not names:
        return None
    reasons = "; ".join(f"{why} ({several(cases)})" for why, cases in names.items())
    how = (
        f"with {count(max(rounds), 'round')}" if max(rounds) else "",
        "on an idle machine" if Phrase.OUTSIDE in names else "",
    )
    again = ", ".join(filter(None, how))
    needed = f"{Phrase.TO_DECIDE}, measure the sessions again {again}" if again else Phrase.NOTHING_DECIDES
    open_cases = count(sum(map(len, names.values())), "case")
    return f"{open_cases} open: {reasons}; {needed}."


def _counts(against: PairwiseComparison) -> str:
    return listed([f"{amount:,} {verdict.name}" for verdict in Verdict if (amount := against.count(verdict))])


def choice_table(compared: SessionComparison) -> Table | None:
    """Return a row with the best session for each need and work whose best cases aren't one pair."""
    works = by_work(result for side in compared.sides for result in side.results)
    chosen = []
    for need in NEEDS if len(works) <= MOST_WORKS else SPEED_NEEDS:
        for work in works:
            where = str(work) if len(works) > 1 else ""
            candidates = _of_known_work(list(_candidates(compared.sides, Objective(need, work=work))))
            if len(candidates) > 1 and _comparable(need, candidates) and not _is_row(compared, candidates):
                chosen.append(_choice(need, where, candidates))
    return table(_COLUMNS, chosen)


def _of_known_work(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return the candidates whose work is the same as far as is known: of a stated task, or of one name."""
    known = [candidate for candidate in candidates if candidate.known]
    names = {candidate.result.config.label for candidate in candidates}
    return candidates if not known and len(names) == 1 else known


def _is_row(compared: SessionComparison, candidates: Sequence[Candidate]) -> bool:
    """Return whether the candidates of two sessions are a pair, which is a row of the cases already."""
    best = [candidate.result.case.index for candidate in candidates]
    pairs = (row.pair for against in compared.against for row in against.compared if row.pair)
    return len(compared.sides) == len(best) and any(
        [pair.base.case.index, pair.new.case.index] == best for pair in pairs
    )


def _candidates(sides: Sequence[ComparedSession], objective: Objective) -> Iterator[Candidate]:
    """Yield the case that each session's own report recommends."""
    for letter, side in lettered(sides):
        best = decide(side.session, objective, side.results).best
        if best:
            known = not best.config.label and side.session.start.sweep.task != UNKNOWN
            yield Candidate(letter, best, total_cost(best, cost_metrics(objective, [best])), known)


def _comparable(need: Need, candidates: Sequence[Candidate]) -> bool:
    """Return whether the metrics of these cases are comparable. Memory and energy differ by kind of device."""
    kinds = {candidate.result.config.device == "cpu" for candidate in candidates}
    return need in SPEED_NEEDS or len(kinds) == 1


def _choice(need: Need, tokens: str, candidates: Sequence[Candidate]) -> Choice:
    best, second, *_ = sorted(candidates, key=lambda candidate: candidate.cost)
    ahead = _ahead(need, second, best)
    if ahead.verdict is Verdict.SLOWER:  # totals and typical steps disagree; the verdict is on the latter
        best, second, ahead = second, best, _ahead(need, best, second)
    return Choice(need, tokens, best, second, ahead)


def _ahead(need: Need, base: Candidate, new: Candidate) -> Ratio:
    one, other = base.result, new.result
    ahead = ahead_by(one, other, cost_metrics(Objective(need), [one, other]))
    return widened_between_sessions(ahead, one, other)


def _named(choice: Choice, candidate: Candidate) -> str:
    return f"{candidate.letter}: {candidate.result.name}, {figure(candidate.result, choice.need)}"


_COLUMNS: tuple[Column[Choice], ...] = (
    text_column("Need", lambda choice: ", ".join(filter(None, (OPTIMA[choice.need], choice.tokens)))),
    text_column("Run", lambda choice: _named(choice, choice.best)),
    text_column("Next best session", lambda choice: _named(choice, choice.next)),
    text_column("Ahead by (95% interval)", lambda choice: ratio_cell(choice.ahead)),
)
