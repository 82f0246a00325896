"""Explained cases: the time of their steps by family, findings, tried remedies, and differences of cases."""

from collections.abc import Iterator, Sequence
from functools import partial

from benchtui.sessions.explain.cases import FAMILIES, ExplainedCase, explained_cases
from benchtui.sessions.explain.difference import difference
from benchtui.sessions.explain.findings import findings
from benchtui.sessions.explain.selection import selected
from benchtui.sessions.explain.sentences import (
    device_sentence,
    gap_sentences,
    misfit_sentence,
    parts_sentence,
    profiling_notes,
    step_sentence,
)
from benchtui.sessions.explain.tables import difference_tables, kernels_table
from benchtui.sessions.explain.trials import Trial, all_trials
from benchtui.sessions.profiles import FamilyName
from benchtui.sessions.report.content import Section, items, section
from benchtui.sessions.state.case import outcome
from benchtui.sessions.state.session import Session
from benchtui.sessions.text.formatting import capitalized, number, percent, ratio_text
from benchtui.sessions.text.tables import Column, Table, table, text_column
from benchtui.sessions.text.wording import Remark, ratio_interval, ratio_value, sentences

MOST_CASES = 3
"""Maximum number of explained cases in a short report."""
MOST_SENTENCES = 1
"""Maximum number of findings per case in a short report."""
INTRODUCTION = (
    "Times of a few steps in separate processes under torch's profiler: on a CPU those of the main thread in"
    " its operators, on a GPU those of kernels and copies."
)
TRIED = (
    "Remedies of the findings, measured in rounds that alternate with those of their cases; bounds and"
    " predictions come from the profile."
)


def explain(session: Session, *, full: bool) -> Section | None:
    """Return findings about each case; in a full report, also operators, and differences between cases."""
    explained = explained_cases(session)
    shown = explained if full else _chosen(session, explained)
    missing = [
        f"No profile of {case.name}: {case.explained.absent}."
        for case in session.cases
        if case.explained and case.explained.absent
    ]
    return section(
        "Where a step's time goes",
        INTRODUCTION if explained and full else None,
        _families(shown) if full else None,
        items(finding for case in shown for finding in _findings(case, full=full)),
        *missing,
        *(_operators_and_differences(shown) if full else ()),
    )


def _chosen(session: Session, explained: Sequence[ExplainedCase]) -> Sequence[ExplainedCase]:
    """Return the cases of a short report in plan order: baselines and best cases before others."""
    if len(explained) <= MOST_CASES:
        return explained
    first = selected(session, ("baseline", "best"))
    chosen = sorted(explained, key=lambda case: case.case.index not in first)[:MOST_CASES]
    return sorted(chosen, key=lambda case: case.case.index)


def _families(cases: Sequence[ExplainedCase]) -> Table | None:
    columns: list[Column[FamilyName]] = [
        text_column("ms per step", lambda name: FAMILIES[name]),
        *(Column(case.case.name, partial(_cell, case)) for case in cases),
    ]
    used = [name for name in FAMILIES if any(case.ms(name) for case in cases)]
    used.sort(key=lambda name: -sum(case.ms(name) for case in cases))
    return table(columns, used)


def _cell(case: ExplainedCase, name: FamilyName) -> str | None:
    ms = case.ms(name)
    return f"{number(ms)} ({percent(case.share(name), 0)}%)" if ms else None


def _findings(case: ExplainedCase, *, full: bool) -> Iterator[Remark]:
    label = case.case.name
    case_findings = findings(case)
    timed = (step_sentence(case), device_sentence(case), parts_sentence(case))
    if misfit := misfit_sentence(case):
        yield Remark(label, misfit)
    if full or not case_findings:
        yield Remark(label, sentences(*(capitalized(sentence) for sentence in timed if sentence)))
    for finding in case_findings if full else case_findings[:MOST_SENTENCES]:
        yield Remark(label, f"{finding.sentence} Confidence: {finding.confidence}.")
    yield from (Remark(label, note) for note in profiling_notes(case))


def _operators_and_differences(cases: Sequence[ExplainedCase]) -> Iterator[Section | None]:
    for case in cases:
        yield section(f"Operators of {case.case.name}", kernels_table(case))
    bases: dict[object, ExplainedCase] = {}
    for case in cases:
        base = bases.setdefault(case.case.config.work, case)
        if base is not case:
            names = tuple(explained.case.name for explained in (base, case))
            yield difference_section(f"{names[1]} against {names[0]}", base, case, (names[0], names[1]))


def difference_section(
    title: str, base: ExplainedCase, new: ExplainedCase, names: tuple[str, str]
) -> Section | None:
    """Return the difference between two cases: its size, a table by family, and further sentences."""
    gap = difference(base, new)
    size, *more = gap_sentences(gap, names)
    return section(title, size, difference_tables(gap, names=names)[0], " ".join(more))


def tried(session: Session) -> Section | None:
    """Return a row for each remedy that was measured; None if there is none."""
    columns: tuple[Column[Trial], ...] = (
        text_column("Case", lambda trial: trial.case.name),
        text_column("Finding", lambda trial: trial.finding.rule),
        text_column("Remedy", lambda trial: trial.options),
        Column("At most (×)", lambda trial: ratio_text(trial.bound) if trial.bound else None),
        Column("Predicted (×)", lambda trial: ratio_text(trial.predicted) if trial.predicted else None),
        Column("Measured (×)", lambda trial: ratio_value(trial.ratio)),
        Column("95% interval (×)", lambda trial: ratio_interval(trial.ratio)),
        text_column("Verdict", _verdict),
    )
    return section("Tried", table(columns, all_trials(session)), lead=TRIED)


def _verdict(trial: Trial) -> str | None:
    """Return the verdict; how the remedied case ended if it wasn't measured."""
    if trial.ratio:
        return trial.ratio.verdict.name
    return outcome(trial.tried) if trial.tried else None
