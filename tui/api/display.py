"""Sessions and comparisons as one line of text, and as HTML for notebooks."""

from collections.abc import Iterable

from benchtui.sessions.compare.align import SessionComparison
from benchtui.sessions.metrics.quantity import CaseData
from benchtui.sessions.metrics.views import NOTEBOOK
from benchtui.sessions.report.compare import case_table
from benchtui.sessions.report.compare_columns import short_columns
from benchtui.sessions.report.comparison.decision import setup_sentence
from benchtui.sessions.sanitize import visible
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import labeled
from benchtui.sessions.stats.results import measured, task_of
from benchtui.sessions.text.formatting import count
from benchtui.sessions.text.markdown import escape_html
from benchtui.sessions.text.quantities import columns
from benchtui.sessions.text.tables import Table, html, in_unit, table

BEST_ROWS = 10
"""Number of cases shown in a notebook."""


def session_text(name: str, session: Session) -> str:
    """Summarize a session in one line: name, measured cases, outcome."""
    results, cases = measured(session), count(len(session.cases), "case")
    outcome = session.finished.outcome if session.finished else "running or incomplete"
    return visible(f"{labeled(name, session.start)}: {len(results)} of {cases} measured, {outcome}")


def session_html(name: str, session: Session) -> str:
    """Show the measured cases with the highest throughput."""
    results = measured(session)
    best = sorted(results, key=lambda row: -(row.metrics.samples_per_s or 0.0))[:BEST_ROWS]
    figures = in_unit(columns(NOTEBOOK, CaseData.of), task_of(best))
    remark = f"The {len(best)} fastest are shown." if len(best) < len(results) else ""
    return _html(session_text(name, session), [remark], table(figures, best))


def comparison_text(compared: SessionComparison) -> str:
    """Summarize a comparison in one line: which session to run, and the sum of all cases."""
    return visible(setup_sentence(compared.against[0]))


def comparison_html(compared: SessionComparison) -> str:
    """Show the sum and the verdict on each case."""
    against = compared.against[0]
    return _html(comparison_text(compared), [], case_table(against, short_columns, against.rows))


def _html(title: str, remarks: Iterable[str], shown: Table | None) -> str:
    lines = [
        f"<p><b>{escape_html(title)}</b></p>",
        *(f"<p>{escape_html(remark)}</p>" for remark in remarks if remark),
    ]
    return "\n".join([*lines, html(shown, title) if shown else ""])
