"""Decision as plain text and JSON: which case to run, how certain that is, and which cases were excluded."""

from collections.abc import Iterator
from math import ceil
from typing import Any

import msgspec

from benchtui.sessions.advice.conclusion import conclude_work
from benchtui.sessions.advice.constraints import KINDS, NONE, VERDICTS, Constraints, Relaxation
from benchtui.sessions.advice.objectives import Need, job_ms
from benchtui.sessions.advice.optimal import Decision, Tail
from benchtui.sessions.advice.snippet import no_snippet_reason, snippet
from benchtui.sessions.export.case_rows import case_row
from benchtui.sessions.export.case_schema import CaseRow
from benchtui.sessions.export.json_document import Document, document_id
from benchtui.sessions.files import visible_json
from benchtui.sessions.metrics.views import COMPARED_BY
from benchtui.sessions.report.compare_json import RatioJson, ratio_json, verdict_name
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import SIMULATED, simulation_note
from benchtui.sessions.stats.baseline import baselines
from benchtui.sessions.stats.ratios import throughput_ratio
from benchtui.sessions.stats.results import Result, measured
from benchtui.sessions.stats.verdicts import VerdictName
from benchtui.sessions.sweep import Work
from benchtui.sessions.text.conclusion import choice_row, fields
from benchtui.sessions.text.formatting import memory, number, time_ms
from benchtui.sessions.text.quantities import with_unit
from benchtui.sessions.text.wording import changing_text, confidence, ratio_cell, why_unsure
from benchtui.tui.cli.text.output import aligned

MOST_LINES = 20
"""Maximum number of cases listed; the rest are only counted. The JSON contains all."""

OPTIONS = {
    "vram_mb": "--max-vram",
    "p99_ms": "--max-p99",
    "latency_ms": "--max-latency",
    "power_w": "--max-power",
    "kl": "--max-kl",
    "answer": "--answer",
    "samples_per_s": "--min-throughput",
}


def lines(session: Session, decision: Decision) -> Iterator[str]:
    """Yield the decision as text, the answer first. Text from the session is not sanitized."""
    if (note := simulation_note(session.start)) is not None:
        yield note
    best = decision.best
    if best is None:
        yield f"no case found for {_objective_text(decision)}"
        yield from map(_relaxation_text, decision.relaxations)
        if not decision.relaxations and decision.objective.constraints != NONE:
            yield "  relaxing any single constraint is not enough"
    else:
        yield f"{_objective_text(decision)}: {best.name}: {metrics_text(best, decision)}"
        yield from _fields(session, decision)
        if marks := [mark for mark in best.case.marks if mark != SIMULATED]:
            yield from aligned("marked", ", ".join(marks))
        front = [f"{result.name}: {metrics_text(result, decision)}" for result in decision.front]
        yield from _listed("Pareto front of samples/s, step time and memory:", front)
    yield from _listed(
        "excluded:", [f"{rejection.case.name}: {rejection.reason}" for rejection in decision.rejected]
    )


def metrics_text(result: Result, decision: Decision) -> str:
    """Format a case's metrics with units."""
    metrics = result.metrics
    kind = "mean" if metrics.latency_ms.median is None else "typical"
    parts = [
        with_unit(COMPARED_BY["throughput"], result),
        _with(*result.token_rate),
        f"{kind} step {time_ms(result.typical_ms)} ms",
        memory(result.case.peak_memory_mb),
        _with(*result.per_gib) if decision.objective.need == "memory" else None,
        with_unit(COMPARED_BY["energy"], result),
        _job_text(result, decision.objective.steps),
        f"n {metrics.latency_ms.n:,}" if metrics.latency_ms.n else None,
    ]
    return ", ".join(part for part in parts if part)


class CaseName(msgspec.Struct, frozen=True, kw_only=True):
    """Case of a session."""

    case: int
    number: int
    name: str


class LeftOutJson(CaseName, frozen=True, kw_only=True):
    """Case that was excluded, and why."""

    reason: str


class UnsureJson(CaseName, frozen=True, kw_only=True):
    """Case that isn't surely worse than the best, and why."""

    ratio: float
    """How many times as good the best case is."""
    reason: str


class ChangingJson(CaseName, frozen=True, kw_only=True):
    """Better case that isn't recommended because its answer isn't the baseline's."""

    ahead: RatioJson | None
    """How many times as good it is as the best case."""
    answer: str | None
    """Verdict on its answer: ``different`` or ``broken``."""


class RelaxedJson(msgspec.Struct, frozen=True, kw_only=True):
    """Constraint that alone excludes all cases."""

    constraint: str
    value: float | None
    """Smallest value that admits a case. Null if no case has the metric."""
    case: str


class DecisionJson(msgspec.Struct, frozen=True, kw_only=True):
    """Decision for the cases of one work: the same model, sequence length and number of new tokens."""

    simulated: str | None
    """``SIMULATED``, and by which model. Null if it was measured."""
    objective: Need
    constraints: Constraints
    steps: int | None
    model: str
    new_tokens: int | None
    sequence_length: int | None
    group: str | None
    best: CaseRow | None
    """Null if no case meets the constraints."""
    runner_up: CaseRow | None
    ahead: RatioJson | None
    """How many times as good the best case is as the runner-up."""
    verdict: VerdictName | None
    """Verdict on that ratio. Null without a runner-up."""
    reason: str | None
    """Why that verdict is ``UNSURE``, in words."""
    against_baseline: RatioJson | None
    """Throughput of the best case relative to its baseline's. Null for the baseline itself, or without one."""
    clear: bool
    """Whether the best case clearly beats every other."""
    leader: CaseRow | None
    """The case with the best metric, if a simpler one was chosen instead."""
    tail: Tail | None
    """Percentile at which the best case's slow steps are longer than the runner-up's."""
    ties: tuple[str, ...]
    """Cases that can't be distinguished from the best."""
    unsure: tuple[UnsureJson, ...]
    """Further cases that aren't surely worse, nearest first."""
    within: float | None
    """Share by which another case may be better at most: 0.12 is 12%. Null if nothing bounds that."""
    likely_within: float | None
    """Share by which none of the others is likely to be better. Null if the choice is recommended, or if that
    can't be estimated."""
    changing: tuple[ChangingJson, ...]
    """Better cases with other answers, best first."""
    confidence: str | None
    """How certain it is that the best case is the best, in a few words. Null without a best case."""
    front: tuple[CaseRow, ...]
    """Pareto front of samples/s, step time and peak memory."""
    left_out: tuple[LeftOutJson, ...]
    relaxed: tuple[RelaxedJson, ...]
    """Constraints that alone exclude all cases, the nearest miss first."""
    snippet: str | None
    """Best case as code that runs it with transformers."""
    no_snippet: str | None
    """Why there is no such code. Null if there is."""


class DecisionsJson(Document, frozen=True, kw_only=True):
    """Output of ``optimal``."""

    id_: str = document_id("optimal")
    decisions: tuple[DecisionJson, ...]


def document(session: Session, decision: Decision) -> DecisionJson:
    """Return the decision as a JSON record."""
    objective, work = decision.objective, decision.objective.work or Work(0)
    results = {result.case.index: result for result in measured(session)}
    bases = baselines(list(results.values()), session.start.sweep.measure.baseline)

    def row(result: Result | None) -> CaseRow | None:
        own = results[result.case.index] if result else None  # a decision may hold another result of the case
        return case_row(own.case, own, bases.get(own.config.work)) if own else None

    best = results[decision.best.case.index] if decision.best else None
    base = bases.get(best.config.work) if best else None
    return DecisionJson(
        simulated=simulation_note(session.start),
        objective=objective.need,
        constraints=objective.constraints,
        steps=objective.steps,
        model=work.model or session.start.sweep.model,
        new_tokens=work.new_tokens or None,
        sequence_length=None if work.group or not objective.work else work.sequence_length,
        group=work.group or None,
        best=row(decision.best),
        runner_up=row(decision.runner_up),
        ahead=ratio_json(decision.ahead),
        verdict=verdict_name(decision.verdict) if decision.verdict else None,
        reason=why_unsure(decision.ahead) if decision.ahead else None,
        against_baseline=ratio_json(
            throughput_ratio(base, best) if best and base and base is not best else None
        ),
        clear=decision.clear,
        leader=row(decision.leader),
        tail=decision.tail,
        ties=tuple(result.name for result in decision.ties),
        unsure=tuple(
            UnsureJson(
                **named(rival.result.case), ratio=rival.ratio.value, reason=why_unsure(rival.ratio) or ""
            )
            for rival in decision.unsure
        ),
        within=decision.within,
        likely_within=decision.likely_within,
        changing=tuple(
            ChangingJson(
                **named(rival.result.case),
                ahead=ratio_json(rival.ratio),
                answer=rival.result.case.comparison.verdict if rival.result.case.comparison else None,
            )
            for rival in decision.changing
        ),
        confidence=confidence(decision) if decision.best else None,
        front=tuple(filter(None, map(row, decision.front))),
        left_out=tuple(LeftOutJson(**named(item.case), reason=item.reason) for item in decision.rejected),
        relaxed=tuple(
            RelaxedJson(constraint=item.field, value=item.value, case=item.result.name)
            for item in decision.relaxations
        ),
        snippet=snippet(session, decision.best.case) if decision.best else None,
        no_snippet=no_snippet_reason(session, decision.best.case) if decision.best else "no best case",
    )


def named(case: CaseState) -> dict[str, Any]:
    """Return the fields that name a case."""
    return {"case": case.index, "number": case.index + 1, "name": case.name}


def json_text(session: Session, decisions: list[Decision]) -> str:
    """Encode decisions as an indented JSON document with one entry for each work."""
    return visible_json.document(DecisionsJson(decisions=tuple(document(session, one) for one in decisions)))


def _objective_text(decision: Decision) -> str:
    objective, work = decision.objective, decision.objective.work
    of = f" {'of' if work.group or work.model else 'at'} {work}" if work and str(work) else ""
    steps = f" over {objective.steps:,} steps" if objective.steps else ""
    return f"{objective.need}{steps}{of}"


def _fields(session: Session, decision: Decision) -> Iterator[str]:
    """Yield the fields of the choice, as the report has them, and the cases that may be as good or better."""
    conclusion = conclude_work(session, decision.objective, measured(session), [decision])
    if conclusion is None:
        return
    row = choice_row(conclusion)
    for about, text in fields(row):
        yield from aligned(about, text)
    if conclusion.baseline is None:
        yield "  choose a baseline: --baseline precision=fp32"
    yield from _listed(
        "  better, with other answers (--answer any chooses among them):",
        [changing_text(rival) for rival in decision.changing],
    )
    contenders = [f"{rival.result.name}: {ratio_cell(rival.ratio)}" for rival in decision.contenders]
    others = [*(result.name for result in decision.ties), *contenders]
    if len(others) > 1:
        yield from _listed("  not distinguished from:", others)


def _relaxation_text(relaxation: Relaxation) -> str:
    option, unit = OPTIONS[relaxation.field], KINDS[relaxation.field].unit
    if relaxation.value is None:
        lacking = "no answer was compared" if relaxation.field == "answer" else "none has that metric"
        return f"  {option} excludes every case that meets the other constraints: {lacking}"
    admitting = f"{_admitting(relaxation.field, relaxation.value)}{unit}"
    return f"  relaxing {option} to {admitting} would admit {relaxation.result.name}"


def _admitting(field: str, value: float) -> str:
    """Format a limit rounded up, so that as printed it admits the case."""
    if field == "answer":
        return VERDICTS[int(value)]
    scale = 1e6 if field == "kl" else 100
    return f"{ceil(scale * value) / scale:.12g}"


def _listed(title: str, texts: list[str]) -> Iterator[str]:
    indent = " " * (len(title) - len(title.lstrip()) + 2)
    if texts:
        yield title
        yield from (f"{indent}{text}" for text in texts[:MOST_LINES])
    if len(texts) > MOST_LINES:
        yield f"{indent}and {len(texts) - MOST_LINES:,} more; --json lists all"


def _job_text(result: Result, steps: int | None) -> str | None:
    total_ms = job_ms(result, steps) if steps else None
    if total_ms is None:
        return None
    cold_s = (result.metrics.cold_cost_ms or 0.0) / 1000
    return f"{steps:,} steps in {number(total_ms / 1000)} s, including {number(cold_s)} s for cold steps"


def _with(value: float | None, unit: str) -> str | None:
    return None if value is None else f"{number(value)} {unit}"
