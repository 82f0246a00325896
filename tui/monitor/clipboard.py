"""A table row as Markdown, for the clipboard."""

from benchtui.sessions.state.case import CaseState
from benchtui.tui.drawing.format import clean
from benchtui.tui.model.case_rows import CaseRows
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


def _cell(text: str) -> str:
    return clean(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
