"""Explained cases as JSON."""

from collections.abc import Iterable

import msgspec

from benchtui.sessions.explain.cases import ExplainedCase
from benchtui.sessions.explain.difference import CaseDifference, Part
from benchtui.sessions.explain.finding import Finding
from benchtui.sessions.explain.findings import findings
from benchtui.sessions.explain.sentences import (
    gap_sentences,
    misfit_sentence,
    no_finding_sentence,
    profiling_notes,
)
from benchtui.sessions.explain.trials import Trial
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
    absent: str | None = None
    """Why there is no profile."""
    simulated: bool = False
    """Whether the profile was computed by a model, without running the case."""
    trials: tuple["TrialJson", ...] = ()
    """Remedies of the findings, with their measured gain once they were tried."""


class TrialJson(msgspec.Struct, frozen=True, kw_only=True):
    """Remedy of a finding, predicted and measured."""

    rule: str
    """Rule of the finding."""
    options: dict[str, str | int]
    """Options of the case that the remedy changes, with their values."""
    bound: float | None
    """Most that the speed can be multiplied by; null if the finding has no bound."""
    predicted: float | None
    """What the remedy is expected to multiply the speed by; null if the profile doesn't say."""
    case: int | None
    """Index of the case with these options; null if it wasn't tried."""
    measured: float | None
    """Speedup of that case; null unless both cases were measured."""
    low: float | None
    """Lower end of its 95% interval; null if there are too few measurements for one."""
    high: float | None
    """Upper end of that interval."""
    verdict: str | None
    """``FASTER``, ``SLOWER``, ``SAME`` or ``UNSURE``; null unless both cases were measured."""
    outcome: str | None
    """How that case ended; null if it wasn't tried."""


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


def case_json(case: ExplainedCase, tried: Iterable[Trial] = ()) -> CaseJson:
    """Return a case with its findings and the remedies that were tried."""
    named = findings(case)
    nothing = None if named else no_finding_sentence(case)
    return CaseJson(
        case=case.case.index,
        number=case.case.index + 1,
        name=case.case.name,
        measured_ms=case.measured_ms,
        findings=named,
        notes=tuple(filter(None, (misfit_sentence(case), nothing, *profiling_notes(case)))),
        profile=case.profile,
        simulated=case.case.simulated,
        trials=tuple(_trial(trial) for trial in tried),
    )


def _trial(trial: Trial) -> TrialJson:
    ratio = trial.ratio
    return TrialJson(
        rule=trial.finding.rule,
        options=dict(trial.finding.remedy or {}),
        bound=trial.bound,
        predicted=trial.predicted,
        case=trial.tried.index if trial.tried else None,
        measured=ratio.value if ratio else None,
        low=ratio.low if ratio else None,
        high=ratio.high if ratio else None,
        verdict=ratio.verdict.name if ratio else None,
        outcome=trial.tried.state if trial.tried else None,
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
