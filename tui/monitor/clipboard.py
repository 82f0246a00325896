"""Markdown export of a table row or the whole report, to clipboard or file."""

import subprocess
import sys
from pathlib import Path

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files.output_file import check_output, write_text
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.judging import SWEEP_DEFAULTS, VerdictSettings
from benchtui.tui.drawing.format import clean
from benchtui.tui.model.case_rows import CaseRows
from benchtui.tui.table.case_names import case_name
from benchtui.tui.table.columns import COLUMNS

EXPORT = "from benchtui.tui.cli import main; main()"
MOST_S = 120.0


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


def report_markdown(path: Path, judging: VerdictSettings = SWEEP_DEFAULTS, *, source: bool = False) -> str:
    """Generate the report of a session in a subprocess; ``source`` includes the figure that a terminal draws.

    In-process, its imports would double the UI's memory. Verdicts use the same settings as on the screen.

    Raises:
        BenchtuiError: the export command failed (with its message) or timed out.
    """
    options = [*_as_options(judging), *(["--source"] if source else [])]
    command = [sys.executable, "-P", "-c", EXPORT, "export", *options, "--", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_S, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as error:
        raise BenchtuiError(f"generating the report took longer than {MOST_S:g} s") from error
    if done.returncode:
        problem = done.stderr.strip().splitlines()
        raise BenchtuiError(
            problem[-1] if problem else f"generating the report failed with exit status {done.returncode}"
        )
    return done.stdout


def write_report(session: Path, target: Path, judging: VerdictSettings = SWEEP_DEFAULTS) -> None:
    """Write the report of a session to a file.

    Raises:
        BenchtuiError: writing failed, or the target is a session file.
    """
    check_output(target, (session,))
    text = report_markdown(session, judging)
    write_text(target, text, (session,))


def _as_options(judging: VerdictSettings) -> list[str]:
    """Return verdict settings as command-line options."""
    named = judging.baseline.named if judging.baseline else {}
    options = [f"--baseline={option}={value}" for option, value in named.items()]
    if judging.same_within is not None:
        options.append(f"--same-within={100 * judging.same_within:.12g}%")
    return options


def _cell(text: str) -> str:
    return clean(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
