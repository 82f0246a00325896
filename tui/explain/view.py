"""Snapshot of the Why page: one explained case, or two with their difference. Independent of Textual."""

import msgspec

from benchtui.sessions.explain.cases import ExplainedCase
from benchtui.sessions.explain.difference import CaseDifference
from benchtui.sessions.explain.finding import Finding
from benchtui.sessions.explain.trials import Trial


class CaseStatus(msgspec.Struct, frozen=True):
    """A case of the page, and what is known about its profile."""

    name: str
    number: int
    """Number of the case, from 1."""
    session: str = ""
    """Name of its session, if the page shows cases of two."""
    case: ExplainedCase | None = None
    """None without a profile."""
    progress: str = ""
    """Progress of profiling; empty if none is running."""
    problem: str = ""
    """Why there is no profile; empty if that isn't known."""

    @property
    def label(self) -> str:
        """Short name of the case."""
        return f"{self.session} case {self.number}" if self.session else f"case {self.number}"


class WhyView(msgspec.Struct, frozen=True):
    """Everything that the page shows."""

    case: CaseStatus
    base: CaseStatus | None = None
    """Case that it is compared with."""
    findings: tuple[Finding, ...] = ()
    gap: CaseDifference | None = None
    """None unless both have a profile."""
    trials: tuple[Trial, ...] = ()
    """Remedies of the findings, with the measured gain of those that were tried."""
    trying: str = ""
    """Progress of trying the remedies, or why none was tried."""
