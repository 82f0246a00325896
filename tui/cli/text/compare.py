"""Comparison as plain text: the content of the markdown document in aligned columns."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from benchtui.sessions.compare.align import LETTERS, ComparedSession, PairwiseComparison, SessionComparison
from benchtui.sessions.report.compare import report
from benchtui.sessions.report.compare_columns import short_columns
from benchtui.sessions.report.comparison.caveats import unpaired
from benchtui.sessions.text.formatting import count
from benchtui.sessions.text.markdown import MISSING
from benchtui.sessions.text.tables import Table
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


def gate_line(against: PairwiseComparison, threshold: float) -> str | None:
    """Summarize the cases that fail a gate; None if none does."""
    failed = against.regressions(threshold)
    if not failed:
        return None
    slower = [row for row in failed if not row.lost]
    lost = len(failed) - len(slower)
    parts = (
        [f"{count(len(slower), 'case')} significantly more than {100 * threshold:g}% slower"] if slower else []
    )
    parts += [f"{count(lost, 'case')} measured in A but not in {against.new_letter}"] if lost else []
    first = failed[0].case.name
    return f"{against.new.name}: {', '.join(parts)}, such as {first}"


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
