"""Details of the full report: every case, and tables that the short report condenses into few columns."""

from collections.abc import Sequence
from functools import partial

import msgspec

from benchtui.sessions.compare.system_facts import Fact, models, system
from benchtui.sessions.report.overview.choices import Choices, choice_table, has_several_works
from benchtui.sessions.report.sections import gains, memory_energy, per_case, steadiness
from benchtui.sessions.report.sections.gains import Block, GainSection
from benchtui.sessions.report.sections.leaderboard import leaderboard
from benchtui.sessions.report.sections.method import options
from benchtui.sessions.report.sections.nodes import System, differences, systems
from benchtui.sessions.report.sections.notes import warnings
from benchtui.sessions.report.sections.roofline import limit_method, limits
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import Result, varied
from benchtui.sessions.sweep import custom_task
from benchtui.sessions.sweep.library_names import AUTO_CLASSES
from benchtui.sessions.text.formatting import count, listed
from benchtui.sessions.text.labels import case_label
from benchtui.sessions.text.tables import Table


class Details(msgspec.Struct, frozen=True):
    """Sections that only the full report has. Empty parts are omitted."""

    choices: Table | None
    models: list[tuple[Fact, ...]] | None
    """None for a custom task, which chooses its own model."""
    system: tuple[Fact, ...]
    nodes: list[System]
    unlike: Table | None
    """Differences between the nodes."""
    method: tuple[Fact, ...]
    options: Table | None
    performance: list[Block]
    leaderboard: list[Block]
    scaling: list[Block]
    precision: GainSection | None
    devices: Table | None
    machines: Table | None
    compile: list[Block]
    gains: list[GainSection]
    """Tables of the other options."""
    parts: Table | None
    memory: Table | None
    energy: Table | None
    counters: Table | None
    jitter: Table | None
    disturbed: Table | None
    limits: Block | None
    limit_method: tuple[Fact, ...]
    cases: Table | None
    warnings: Table | None


def details(
    session: Session,
    results: Sequence[Result],
    made: Choices,
    method: tuple[Fact, ...],
    per_hour: float | None,
) -> Details:
    """Collect the contents of each section."""
    varying = varied(case.config for case in session.cases)
    return Details(
        choices=choice_table(made, partial(case_label, varied=varying), several=has_several_works(made)),
        models=_models(session),
        system=system(session),
        nodes=systems(session),
        unlike=differences(session),
        method=method,
        options=options(session),
        performance=per_case.performance(session, results, varying),
        leaderboard=leaderboard(session, results, varying, per_hour),
        scaling=per_case.scalings(results, varying),
        precision=gains.gain_section(results, "precision", varying),
        devices=gains.device_speedups(gains.option_pairs(results, "device"), varying),
        machines=gains.machine_speedups(gains.option_pairs(results, "machine"), varying),
        compile=gains.compile_gains(results, varying),
        gains=gains.gain_sections(results, varying),
        parts=per_case.parts(results),
        memory=memory_energy.memory(results),
        energy=memory_energy.energy(results),
        counters=memory_energy.counters(results),
        jitter=steadiness.jitter(results),
        disturbed=steadiness.disturbed(session),
        limits=limits(session, results),
        limit_method=limit_method(session),
        cases=per_case.every_case(session),
        warnings=warnings(session),
    )


def _models(session: Session) -> list[tuple[Fact, ...]] | None:
    """Return the facts of each model. None for a custom task, or for a source that names no model."""
    model_facts = models(session)
    unnamed = session.start.source is not None and not model_facts
    return None if unnamed or custom_task(session.start.sweep.task) else model_facts


def left_out(session: Session, results: Sequence[Result]) -> str:
    """List the contents that only the full report has."""
    amount = sum(message.level != "info" for message in session.messages)
    paired = len(results) > 1 and not any(result.config.label for result in results)
    explained = any(case.explained and not case.explained.absent for case in session.cases)
    contents = (
        "choices",
        "all cases and columns",
        "pairs of options" if paired else None,
        "parts of a step" if any(result.metrics.parts_ms for result in results) else None,
        "profiles" if explained else None,
        "applied options" if any(case.effective for case in session.cases) else None,
        "all facts",
        "code" if session.start.sweep.task in AUTO_CLASSES else None,
        count(amount, "warning") if amount else None,
    )
    return f"More with --full: {listed([content for content in contents if content])}."
