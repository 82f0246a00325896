"""JSON export of a comparison, for other programs. The structs below define the format."""

from typing import cast

from benchtui.sessions.compare.align import (
    LETTERS,
    AlignedCase,
    ComparedSession,
    PairwiseComparison,
    SessionComparison,
)
from benchtui.sessions.compare.environment_diff import Difference
from benchtui.sessions.compare.overall import Overall
from benchtui.sessions.compare.reproduction import Answer, Reproduction
from benchtui.sessions.export.case_rows import case_row
from benchtui.sessions.export.case_schema import CaseRow
from benchtui.sessions.export.json_document import Document, document_id
from benchtui.sessions.files import visible_json
from benchtui.sessions.payloads import Host
from benchtui.sessions.state.simulation import simulation_note
from benchtui.sessions.stats.verdicts import Ratio, Verdict, VerdictName
from benchtui.sessions.sweep import Record
from benchtui.sessions.text.wording import why_unsure

MEANING = "base time over new time; above 1, the new session is faster"


class SessionJson(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One session of the comparison. The first in the list is the base."""

    letter: str
    name: str
    id: str
    created: str
    simulated: str | None
    """``SIMULATED``, and by which model. Null if it was measured."""
    model: str
    outcome: str | None
    """Null if the session is incomplete."""
    torch: str | None
    host: Host


class RatioJson(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A ratio with its bounds, which are null if too little was measured."""

    value: float
    low: float | None
    high: float | None
    """95% interval."""
    sure_low: float | None
    sure_high: float | None
    """99% interval, on which ``FASTER`` and ``SLOWER`` are based."""
    verdict: VerdictName
    """Conclusion that the ratio allows."""
    doubt: str | None
    """Why it is ``UNSURE``: ``no interval``, ``wide``, ``steps``, ``totals``, ``files`` or ``outside``."""
    reason: str | None
    """Why it is ``UNSURE``, in words, with what limits it."""
    resolution: float | None
    """Smallest difference that would have been detected, as a fraction of 1."""
    rounds_wanted: int | None
    """Rounds per case that would settle the verdict. Null if it is settled, or no number would settle it."""
    outside: tuple[str, ...]
    """Causes outside the two cases that may explain a difference."""


class RowJson(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A case of the base and its counterpart in the new session. Null if a plan lacks it."""

    base: CaseRow | None
    new: CaseRow | None
    ratio: RatioJson | None
    """Ratio of time per sample at the typical step. Null if either case wasn't measured."""
    verdict: VerdictName | None
    """Verdict on the ratio."""
    machine_pace: tuple[float, float] | None
    """Smallest and largest ratio of peaks, new over base. Null unless machine and software are the same."""
    same_answer: bool | None
    """Whether both answers are identical, bit for bit. Null if one is missing or had other data or weights."""
    other_weights: bool
    """Whether both cases answered, with unlike random weights: versions of benchtui generate others."""


class OverallJson(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Geometric mean of the ratios of the cases that two sessions share."""

    ratio: RatioJson
    cases: int
    """Number of cases in it."""
    disturbed: int
    """Number of cases left out because something outside them may explain their ratio."""
    unbounded: int
    """Number of cases left out because their ratio has no interval."""


class PairwiseJson(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Comparison of one session with the base."""

    new: str
    """Letter of the new session."""
    same_within: float
    """Equivalence margin, as a fraction of 1."""
    ignored: tuple[str, ...]
    """Options ignored so that cases correspond."""
    counts: dict[str, int]
    """Number of rows by verdict."""
    lost: int
    """Cases that the base measured and the new session planned but didn't measure."""
    overall: OverallJson | None
    """All cases together. Null if none has a ratio."""
    rows: tuple[RowJson, ...]


class ReproductionJson(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Answer of ``benchtui reproduce``."""

    answer: Answer
    margin: float
    """Margin of equivalence, as a fraction of 1."""
    overall: OverallJson | None
    """Speed of all cases together relative to the recorded one, whose own noise isn't in the interval. Null if
    no case was measured again."""
    differs: tuple[str, ...]
    """What differs between the two sessions, in words: work, machine, software, settings, clocks and applied
    options."""


class ComparisonJson(Document, frozen=True, kw_only=True):
    """Top-level object of a comparison."""

    id_: str = document_id("compare")
    meaning: str
    """Definition of a ratio."""
    sessions: tuple[SessionJson, ...]
    differences: tuple[Difference, ...]
    """``group``, ``what`` and ``values``: one value per session, null if it records none."""
    against: tuple[PairwiseJson, ...]
    reproduction: ReproductionJson | None = None
    """Whether the base was reproduced. Null unless ``benchtui reproduce`` measured the new session."""


def as_json(compared: SessionComparison, judged: Reproduction | None = None) -> str:
    """Return a comparison as an indented JSON object (``ComparisonJson``), with its answer if it has one."""
    comparison = ComparisonJson(
        meaning=MEANING,
        sessions=tuple(_session(letter, side) for letter, side in zip(LETTERS, compared.sides, strict=False)),
        differences=compared.differences,
        against=tuple(_against(against) for against in compared.against),
        reproduction=_reproduction(judged) if judged else None,
    )
    return visible_json.document(comparison)


def _session(letter: str, side: ComparedSession) -> SessionJson:
    session = side.session
    return SessionJson(
        letter=letter,
        name=side.name,
        id=session.start.id,
        created=session.start.created,
        simulated=simulation_note(session.start),
        model=session.start.sweep.model,
        outcome=session.finished.outcome if session.finished else None,
        torch=session.runtime.torch if session.runtime else None,
        host=session.start.host,
    )


def _against(against: PairwiseComparison) -> PairwiseJson:
    return PairwiseJson(
        new=against.new_letter,
        same_within=against.base.session.same_within,
        ignored=against.ignored,
        counts={verdict.name: against.count(verdict) for verdict in Verdict},
        lost=sum(row.lost for row in against.rows),
        overall=_overall(against.overall),
        rows=tuple(_row(row) for row in against.rows),
    )


def _row(row: AlignedCase) -> RowJson:
    pair = row.pair
    return RowJson(
        base=case_row(row.base, pair.base if pair else None) if row.base else None,
        new=case_row(row.new, pair.new if pair else None) if row.new else None,
        ratio=ratio_json(row.ratio),
        verdict=verdict_name(row.verdict) if row.verdict else None,
        machine_pace=row.machine_speedup,
        same_answer=row.same_answer,
        other_weights=row.other_weights,
    )


def _overall(overall: Overall | None) -> OverallJson | None:
    ratio = ratio_json(overall.ratio) if overall else None
    if overall is None or ratio is None:
        return None
    return OverallJson(
        ratio=ratio, cases=overall.cases, disturbed=overall.disturbed, unbounded=overall.unbounded
    )


def _reproduction(judged: Reproduction) -> ReproductionJson:
    return ReproductionJson(
        answer=judged.answer,
        margin=judged.margin,
        overall=_overall(judged.overall),
        differs=(*judged.other_work, *judged.other_place),
    )


def verdict_name(verdict: Verdict) -> VerdictName:
    """Return a verdict as all documents spell it."""
    return cast(VerdictName, verdict.name)


def ratio_json(ratio: Ratio | None) -> RatioJson | None:
    """Convert a ratio to its JSON record."""
    if ratio is None:
        return None
    own = {
        name: getattr(ratio, name) for name in RatioJson.__struct_fields__ if name not in ("verdict", "reason")
    }
    return RatioJson(**own, verdict=verdict_name(ratio.verdict), reason=why_unsure(ratio))
