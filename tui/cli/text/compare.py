"""Comparison as plain text: the content of the markdown document in aligned columns."""

from collections.abc import Iterator, Sequence

import msgspec
from rich.cells import cell_len

from benchtui.sessions.compare.align import (
    LETTERS,
    AlignedCase,
    ComparedSession,
    PairwiseComparison,
    SessionComparison,
)
from benchtui.sessions.report.compare import report
from benchtui.sessions.report.compare_columns import short_columns
from benchtui.sessions.report.comparison.caveats import unpaired
from benchtui.sessions.stats.verdicts import Verdict
from benchtui.sessions.text.formatting import count, ratio_text
from benchtui.sessions.text.markdown import MISSING
from benchtui.sessions.text.tables import Table
from benchtui.sessions.text.wording import CANT_TELL, resolution_text
from benchtui.tui.drawing.format import clean

GAP = "  "


def comparison_text(compared: SessionComparison) -> str:
    """Return the whole comparison, differences first."""
    texts = report(compared, short_columns)
    lines = [*_systems(compared), ""]
    lines += ["differences:", *table_lines(texts.differences)] if texts.differences else [texts.alike]
    lines += [texts.silence] if texts.differences and texts.silence else []
    for block in texts.against:
        lines += ["", f"{block.title}: {block.lead}", texts.reading]
        lines += [*(table_lines(block.table) if block.table else ()), *([block.same] if block.same else [])]
    lines += [f"{note.lead}: {note.text}" for note in unpaired(compared)]
    lines += ["", *texts.decision]
    return "\n".join(clean(line).rstrip() for line in lines) + "\n"


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


def table_lines(table: Table) -> Iterator[str]:
    """Yield a table's rows, each column as wide as its widest cell."""
    rows = [table.titles, *([clean(cell or MISSING) for cell in row] for row in table.rows)]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  " + GAP.join(
            _aligned(cell, width, right) for cell, width, right in zip(row, widths, table.right, strict=True)
        )


def _aligned(cell: str, width: int, right: bool) -> str:
    blank = " " * (width - cell_len(cell))
    return blank + cell if right else cell + blank


def _systems(compared: SessionComparison) -> Iterator[str]:
    sides = list(zip(LETTERS, compared.sides, strict=False))
    width = max(cell_len(clean(side.name)) for _, side in sides)
    for letter, side in sides:
        role = "base" if letter == LETTERS[0] else "    "
        name = _aligned(clean(side.name), width, right=False)
        yield f"{letter}  {role}  {name}  {GAP.join(_system_facts(side))}"


def _system_facts(side: ComparedSession) -> Sequence[str]:
    start, runtime = side.session.start, side.session.runtime
    gpus = dict.fromkeys(gpu.name for gpu in start.host.gpus)
    torch = f"torch {runtime.torch}" if runtime else None
    words = (start.host.hostname, *gpus, torch, start.created)
    return [word for word in words if word]
