"""Caveats of all sessions in one list, and the limitations of their comparison."""

from collections.abc import Iterator

from benchtui.sessions.compare.align import PairwiseComparison, SessionComparison
from benchtui.sessions.report.comparison.naming import lettered, several
from benchtui.sessions.report.limitations import ACCURACY
from benchtui.sessions.report.sections.notes import notes
from benchtui.sessions.state.case import CaseState, outcome
from benchtui.sessions.stats.noise import BETWEEN_SESSIONS
from benchtui.sessions.stats.verdicts import MIN_EFFECT
from benchtui.sessions.text.formatting import count, listed
from benchtui.sessions.text.wording import Remark

VERDICTS = (
    f"FASTER and SLOWER: the whole 99% interval lies beyond {100 * MIN_EFFECT:g}%, for typical steps and for"
    " the first quartile. SAME: the whole 95% interval lies within the margin of equivalence."
    " UNSURE: everything else."
)


def caveats(compared: SessionComparison) -> list[Remark]:
    """Return the caveats of all sessions, without duplicates, and the cases without a pair."""
    by_remark: dict[Remark, list[str]] = {}
    for letter, side in lettered(compared.sides):
        for note in notes(side.session, side.results):
            by_remark.setdefault(note, []).append(letter)
    shared = [Remark(f"{note.lead} ({listed(letters)})", note.text) for note, letters in by_remark.items()]
    unpaired = (remark for against in compared.against for remark in _unpaired(against))
    return [*_same_record(compared), *shared, *unpaired]


def _same_record(compared: SessionComparison) -> Iterator[Remark]:
    """Report sessions that are the same record."""
    letters: dict[str, list[str]] = {}
    for letter, side in lettered(compared.sides):
        letters.setdefault(side.session.start.id, []).append(letter)
    for same_letters in letters.values():
        if len(same_letters) > 1:
            yield Remark("Same session", f"{listed(same_letters)} are the same record, compared with itself.")


def _unpaired(against: PairwiseComparison) -> Iterator[Remark]:
    """Report cases that were measured in one session only."""
    letter = against.new_letter
    ended: dict[str, list[str]] = {}
    for row in against.rows:
        if row.base and row.new and not row.pair:
            ended.setdefault(_outcomes(row.base, row.new, letter), []).append(row.case.name)
    for how, names in ended.items():
        yield Remark("Not in both", f"{count(len(names), 'case')} {how}: {several(names)}.")
    for where, cases in (("A", against.only("base")), (letter, against.only("new"))):
        if cases:
            text = several(case.name for case in cases)
            yield Remark(f"Only in {where}", f"{count(len(cases), 'case')}: {text}.")


def _outcomes(base: CaseState, new: CaseState, letter: str) -> str:
    old, now = outcome(base), outcome(new)
    return f"{old} in A and {letter}" if old == now else f"{old} in A, {now} in {letter}"


def limitations(compared: SessionComparison) -> list[str]:
    """Describe the limitations of the comparison and the meaning of its verdicts."""
    texts = [_attribution(compared), _sources(compared), _accuracy(compared)]
    pairs = (row.pair for against in compared.against for row in against.compared if row.pair)
    spreads = (side.noise.between_sessions for pair in pairs for side in (pair.base, pair.new))
    between = f"{100 * max(spreads, default=BETWEEN_SESSIONS):g}%"
    spread = (
        f"Intervals cover steps, fresh processes, and an assumed spread of {between} between sessions; each"
        " setup was recorded in one session."
    )
    return [*(text for text in texts if text), spread, VERDICTS]


def _attribution(compared: SessionComparison) -> str:
    amount = sum(difference.what != "benchtui" for difference in compared.differences)
    if amount < 2:
        return ""
    return f"The sessions differ in {amount:,} things at once: no ratio can be attributed to one of them."


def _sources(compared: SessionComparison) -> str:
    letters: dict[str, list[str]] = {}
    for letter, side in lettered(compared.sides):
        if side.session.start.source:
            letters.setdefault(side.session.start.source, []).append(letter)
    told = [f"{listed(session_letters)} by {source}" for source, session_letters in letters.items()]
    return f"Timed by another tool: {listed(told)}. That tool decides what a step includes." if told else ""


def _accuracy(compared: SessionComparison) -> str:
    values = {case.config.precision for side in compared.sides for case in side.session.cases}
    changed = len(values) > 1 or len({side.session.start.sweep.model for side in compared.sides}) > 1
    return ACCURACY if changed else ""
