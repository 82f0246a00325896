"""Gate of a comparison: its limits, which cases fail them, and the line that says so."""

from collections.abc import Iterator

import msgspec

from benchtui.sessions.compare.align import AlignedCase, PairwiseComparison, slower_by
from benchtui.sessions.stats.verdicts import Verdict
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
    """Whether a case that is UNSURE fails."""


def gate_line(against: PairwiseComparison, gate: Gate) -> tuple[bool, str]:
    """Return whether a comparison fails a gate, and what failed and what passed."""
    limit, overall_limit = gate.case, gate.overall
    failed = () if limit is None else against.regressions(limit)
    slower = [row for row in failed if not row.lost]
    parts = []
    if slower:
        parts.append(f"{count(len(slower), 'case')} significantly more than {_percent(limit)} slower")
    if lost := len(failed) - len(slower):
        parts.append(f"{count(lost, 'case')} measured in A but not in {against.new_letter}")
    if parts:
        parts[-1] += f", such as {failed[0].case.name}"
    elif limit is not None:
        parts.append(f"no case is significantly more than {_percent(limit)} slower")
    fails_together = overall_limit is not None and against.loss > overall_limit
    if overall_limit is not None:
        more = "" if fails_together else "not "
        parts.append(f"all cases together are {more}significantly more than {_percent(overall_limit)} slower")
    blind = against.unresolved(gate.resolve) if gate.resolve is not None else ()
    if blind:
        seen = resolution_text(blind[0].ratio.resolution if blind[0].ratio else None)
        cases = count(len(blind), "case")
        parts.append(f"{cases} can't resolve {_percent(gate.resolve)}, such as {blind[0].case.name}: {seen}")
    unsure = against.count(Verdict.UNSURE)
    fails = bool(failed) or fails_together or bool(blind) or (gate.unsure_fails and unsure > 0)
    parts += _passed(against, gate, len(slower))
    parts.append(f"{unsure} UNSURE{' (fails)' if unsure and gate.unsure_fails else ''}")
    name = f"{against.new.name}: " if fails else ""
    return fails, f"{name}{'; '.join(parts)}"


def case_problem(against: PairwiseComparison, row: AlignedCase, gate: Gate) -> str | None:
    """Return why a case fails a gate; None if it passes."""
    shown = ratio_cell(row.ratio) if row.ratio else "no ratio"
    if gate.case is not None and row.lost:
        return f"measured in A but not in {against.new_letter}: {row.new.state if row.new else 'not planned'}"
    if gate.case is not None and slower_by(row.ratio) > gate.case:
        return f"significantly more than {_percent(gate.case)} slower: {shown}"
    if gate.resolve is not None and row in against.unresolved(gate.resolve):
        return f"can't resolve {_percent(gate.resolve)}: {shown}"
    if gate.unsure_fails and row.verdict is Verdict.UNSURE:
        return f"undecided: {shown}"
    return None


def _passed(against: PairwiseComparison, gate: Gate, failed: int) -> Iterator[str]:
    """Yield what a gate let pass: smaller losses, what it couldn't have seen, and cases without a partner."""
    if small := against.count(Verdict.SLOWER) - failed:
        yield (
            f"{small:,} SLOWER by less than {_percent(gate.case)}" if gate.case else f"{small:,} SLOWER by less"
        )
    if gate.resolve is None and (blind := against.unresolved(gate.case or 0.0)):
        yield _unseen(blind[0])
    for side, letter in (("base", "A"), ("new", against.new_letter)):
        if only := against.only(side):
            yield f"{count(len(only), 'case')} only in {letter}, such as {only[0].name}"


def _unseen(row: AlignedCase) -> str:
    """Say which loss of a case could have gone unseen."""
    seen = row.ratio.resolution if row.ratio else None
    if seen is None or seen >= CANT_TELL:
        return f"can't tell whether {row.case.name} is slower"
    least = f"{ratio_text(1 + seen)}x" if seen >= 1 else f"{100 * seen:.0f}%"
    return f"could not have seen less than {least} in {row.case.name}"


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0):g}%"
