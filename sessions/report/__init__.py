"""The report of a session, as a document that others can check."""

from benchtui.sessions.report.document import markdown, report

__all__ = ["markdown", "report"]
