"""Explained cases as JSON."""

from collections.abc import Iterable

import msgspec

from benchtui.sessions.explain.cases import ExplainedCase
from benchtui.sessions.explain.difference import CaseDifference, Part
from benchtui.sessions.explain.findings import Finding, findings
from benchtui.sessions.explain.sentences import gap_sentences, profiling_notes
from benchtui.sessions.export.json_document import Document, document_id
from benchtui.sessions.profiles import StepProfile


class CaseJson(msgspec.Struct, frozen=True, kw_only=True):
    """Explained case. Times are in milliseconds per step."""

    case: int
    number: int
    name: str
    measured_ms: float | None
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    profile: StepProfile | None
    """Without the timeline, which is in the session file."""
    absent: str | None = None
    """Why there is no profile."""
    simulated: bool = False
    """Whether the profile was computed by a model, without running the case."""


class DifferenceJson(msgspec.Struct, frozen=True, kw_only=True):
    """Difference between two cases. Families and remainder sum to the measured difference."""

    base: int
    new: int
    per_sample: bool
    """Whether all times are per sample rather than per step, because the cases have unlike batches."""
    measured_gap_ms: float
    remainder_ms: float
    families: tuple[Part, ...]
    kernels: tuple[Part, ...]
    sentences: tuple[str, ...]


class ExplainedJson(Document, frozen=True, kw_only=True):
    """Output of ``benchtui explain --json``."""

    id_: str = document_id("explain")
    cases: tuple[CaseJson, ...]
    difference: DifferenceJson | None
    """Null unless there are two cases with a profile."""


def case_json(case: ExplainedCase) -> CaseJson:
    """Return a case with its findings."""
    return CaseJson(
        case=case.case.index,
        number=case.case.index + 1,
        name=case.case.name,
        measured_ms=case.measured_ms,
        findings=findings(case),
        notes=tuple(profiling_notes(case)),
        profile=msgspec.structs.replace(case.profile, timeline=None),
        simulated=case.case.simulated,
    )


def explained_json(cases: Iterable[CaseJson], difference: CaseDifference | None) -> ExplainedJson:
    """Return cases and their difference as one record."""
    gap = (
        None
        if difference is None
        else DifferenceJson(
            base=difference.base.case.index,
            new=difference.new.case.index,
            per_sample=difference.per_sample,
            measured_gap_ms=difference.measured_gap_ms,
            remainder_ms=difference.remainder_ms,
            families=difference.families,
            kernels=difference.kernels,
            sentences=tuple(gap_sentences(difference)),
        )
    )
    return ExplainedJson(cases=tuple(cases), difference=gap)
