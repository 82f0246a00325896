"""Gate of a comparison: its limits, which cases fail them, and the line that says so."""

from collections.abc import Iterator, Sequence

import msgspec

from benchtui.sessions.compare.align import AlignedCase, PairwiseComparison, resolution, slower_by
from benchtui.sessions.stats.verdicts import UNTESTED, Verdict
from benchtui.sessions.text.formatting import count, ratio_text
from benchtui.sessions.text.wording import CANT_TELL, ratio_cell, resolution_text


class Gate(msgspec.Struct, frozen=True):
    """Limits of a comparison as shares of 1; None isn't checked."""

    case: float | None = None
    """Largest loss of a case to let pass."""
    overall: float | None = None
    """Largest loss of all cases together to let pass."""
    resolve: float | None = None
    """Smallest difference that must have been seen in each case, if there is one."""
    unsure_fails: bool = False
    """Whether a case that is UNSURE or REPORTED fails."""


def gate_line(against: PairwiseComparison, gate: Gate) -> tuple[bool, str]:
    """Return whether a comparison fails a gate, and what failed and what passed."""
    failed = () if gate.case is None else against.regressions(gate.case)
    blind = () if gate.resolve is None else against.unresolved(gate.resolve)
    together = gate.overall is not None and against.loss > gate.overall
    undecided = {verdict: against.count(verdict) for verdict in UNTESTED}
    fails = bool(failed or blind) or together or (gate.unsure_fails and any(undecided.values()))
    parts = [] if gate.case is None else [_regressions_text(against, failed, gate.case)]
    if gate.overall is not None:
        more = "" if together else "not "
        parts.append(f"all cases together are {more}significantly more than {_percent(gate.overall)} slower")
    if gate.resolve is not None and blind:
        cases, seen = count(len(blind), "case"), resolution_text(resolution(blind[0]))
        parts.append(f"{cases} can't resolve {_percent(gate.resolve)}, such as {blind[0].case.name}: {seen}")
    parts += _passed(against, gate, failed)
    for verdict, amount in undecided.items():
        if amount or verdict is Verdict.UNSURE:
            parts.append(f"{amount:,} {verdict.name}{' (fails)' if amount and gate.unsure_fails else ''}")
    return fails, f"{f'{against.new.name}: ' if fails else ''}{'; '.join(parts)}"


def case_problem(against: PairwiseComparison, row: AlignedCase, gate: Gate) -> str | None:
    """Return why a case fails a gate; None if it passes."""
    shown = ratio_cell(row.ratio) if row.ratio else "no ratio"
    if gate.case is not None and row.lost:
        return f"measured in A but not in {against.new_letter}: {row.new.state if row.new else 'not planned'}"
    if gate.case is not None and slower_by(row.ratio) > gate.case:
        return f"significantly more than {_percent(gate.case)} slower: {shown}"
    if gate.resolve is not None and row in against.unresolved(gate.resolve):
        return f"can't resolve {_percent(gate.resolve)}: {shown}"
    if gate.unsure_fails and row.verdict in UNTESTED:
        return f"undecided: {shown}"
    return None


def _regressions_text(against: PairwiseComparison, failed: Sequence[AlignedCase], limit: float) -> str:
    """Count the cases that are slower by more than the limit, and those that are no longer measured."""
    if not failed:
        return f"no case is significantly more than {_percent(limit)} slower"
    lost = sum(row.lost for row in failed)
    slower = len(failed) - lost
    texts = (
        f"{count(slower, 'case')} significantly more than {_percent(limit)} slower" if slower else "",
        f"{count(lost, 'case')} measured in A but not in {against.new_letter}" if lost else "",
    )
    return f"{'; '.join(filter(None, texts))}, such as {failed[0].case.name}"


def _passed(against: PairwiseComparison, gate: Gate, failed: Sequence[AlignedCase]) -> Iterator[str]:
    """Yield what a gate let pass: smaller losses, what it couldn't have seen, and cases without a partner."""
    if small := against.count(Verdict.SLOWER) - sum(not row.lost for row in failed):
        yield f"{small:,} SLOWER by less{f' than {_percent(gate.case)}' if gate.case else ''}"
    if gate.resolve is None and (blind := against.unresolved(gate.case or 0.0)):
        yield _unseen(blind[0])
    for side, letter in (("base", "A"), ("new", against.new_letter)):
        if only := against.only(side):
            yield f"{count(len(only), 'case')} only in {letter}, such as {only[0].name}"


def _unseen(row: AlignedCase) -> str:
    """Say which loss of a case could have gone unseen."""
    seen = resolution(row)
    if seen >= CANT_TELL:
        return f"can't tell whether {row.case.name} is slower"
    least = f"{ratio_text(1 + seen)}x" if seen >= 1 else f"{100 * seen:.0f}%"
    return f"could not have seen less than {least} in {row.case.name}"


def _percent(share: float) -> str:
    return f"{100 * share:g}%"
