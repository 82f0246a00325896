"""Explained cases as plain text."""

from collections.abc import Iterator, Sequence

from benchtui.sessions.explain.cases import ExplainedCase
from benchtui.sessions.explain.difference import CaseDifference
from benchtui.sessions.explain.findings import findings
from benchtui.sessions.explain.sentences import (
    device_sentence,
    gap_sentences,
    misfit_sentence,
    no_finding_sentence,
    parts_sentence,
    profiling_notes,
    step_sentence,
)
from benchtui.sessions.explain.tables import (
    difference_tables,
    families_table,
    kernels_table,
    memory_table,
    parts_table,
    places_table,
)
from benchtui.sessions.explain.trials import Trial, trial_sentence
from benchtui.sessions.state.simulation import SIMULATED
from benchtui.sessions.text.tables import Table
from benchtui.tui.cli.text.compare import table_lines


def case_lines(case: ExplainedCase, trials: Sequence[Trial] = ()) -> Iterator[str]:
    """Yield an explained case: findings first, then parts, families, operators, compiler and memory."""
    simulated = f"{SIMULATED} " if case.case.simulated else ""
    yield f"{case.label}: {simulated}{case.case.name}"
    if misfit := misfit_sentence(case):
        yield f"  {misfit}"
    yield f"  step: {step_sentence(case)}"
    yield f"  device: {device_sentence(case)}"
    if spent := parts_sentence(case):
        yield f"  parts: {spent}"
    named = findings(case)
    for finding in named:
        yield f"  - {finding.sentence} [{finding.confidence} confidence]"
        tried = (trial_sentence(trial) for trial in trials if trial.finding == finding)
        yield from (f"      {sentence}" for sentence in tried if sentence)
    if not named and (why := no_finding_sentence(case)):
        yield f"  {why}"
    yield from (f"  note: {note}" for note in profiling_notes(case))
    yield from (f"  no {what.replace('_', ' ')}: {why}" for what, why in case.profile.absent.items())
    for shown in (parts_table(case), families_table(case), kernels_table(case), places_table(case)):
        yield from _block(shown)
    for graph_break in case.profile.graph_breaks:
        yield f"  graph break ({graph_break.count}x) at {graph_break.where}: {graph_break.reason}"
    for again in case.profile.recompiles:
        yield f"  recompile ({again.count}x) of {again.where}: {again.guard}"
    yield from _block(memory_table(case))


def difference_lines(gap: CaseDifference) -> Iterator[str]:
    """Yield the difference between two cases."""
    yield f"difference: {gap.new.label} against {gap.base.label}"
    yield from (f"  {sentence}" for sentence in gap_sentences(gap))
    for shown in difference_tables(gap):
        yield from _block(shown)


def _block(shown: Table | None) -> Iterator[str]:
    if shown:
        yield ""
        yield from (line.rstrip() for line in table_lines(shown))
