"""Markdown export of a table row or the whole report, to clipboard or file."""

from pathlib import Path

from benchtui.sessions.files.output_file import check_output, write_text
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.judging import SWEEP_DEFAULTS, VerdictSettings
from benchtui.tui.drawing.format import clean
from benchtui.tui.model.case_rows import CaseRows
from benchtui.tui.report.generated import report_markdown
from benchtui.tui.table.case_names import case_name
from benchtui.tui.table.columns import COLUMNS


def row_markdown(case: CaseState, case_rows: CaseRows, keys: tuple[str, ...]) -> str:
    """Return a case as a one-row markdown table, with the visible columns."""
    titles = {column.key: column.title.replace("+-", "±") for column in COLUMNS}
    cells = case_rows.row(case.index).cells
    state = case.state
    keys = tuple(key for key in keys if key != "trace")
    values = [state if key == "state" else cells.get(key, ("", ""))[0] for key in keys]
    head = ["case", *(titles[key] for key in keys)]
    rule = ["---"] * len(head)
    return (
        "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in (head, rule, [case_name(case), *values]))
        + "\n"
    )


def write_report(session: Path, target: Path, judging: VerdictSettings = SWEEP_DEFAULTS) -> None:
    """Write the report of a session to a file.

    Raises:
        BenchtuiError: writing failed, or the target is a session file.
    """
    check_output(target, (session,))
    text = report_markdown(session, judging)
    write_text(target, text, (session,))


def _cell(text: str) -> str:
    return clean(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
