"""Sections that only the full report has: every case, with tables that the short report condenses."""

from collections.abc import Iterator, Sequence
from functools import partial

from benchtui.sessions.compare.system_facts import Fact, models, system
from benchtui.sessions.report.content import Items, Section, items, section
from benchtui.sessions.report.overview.choices import Choices, choice_table, has_several_works
from benchtui.sessions.report.sections import memory_energy, per_case
from benchtui.sessions.report.sections.gains import pairs_of_options
from benchtui.sessions.report.sections.leaderboard import leaderboard
from benchtui.sessions.report.sections.method import options
from benchtui.sessions.report.sections.nodes import differences, systems
from benchtui.sessions.report.sections.notes import warnings
from benchtui.sessions.report.sections.roofline import LIMITS, limit_facts, limits
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import Result, varied
from benchtui.sessions.sweep import custom_task
from benchtui.sessions.text.labels import case_label
from benchtui.sessions.text.tables import Table

SCALING = (
    "Throughput per item is what other tools call scaling efficiency: it falls unless batching pays linearly."
)
MEMORY = "Peaks while a case was measured; a further sample is relative to the smallest batch of the series."


def details(
    session: Session,
    results: Sequence[Result],
    made: Choices,
    method: tuple[Fact, ...],
    per_hour: float | None,
) -> Iterator[Section | None]:
    """Yield the sections in order; None for those without content."""
    varying = varied(case.config for case in session.cases)
    named = partial(case_label, varied=varying)
    yield section("Choices", choice_table(made, named, several=has_several_works(made)))
    yield section("Model information", *_models(session))
    yield section(
        "System information",
        items(system(session)),
        *systems(session),
        section("What differs between the nodes", _between_nodes(session)),
    )
    yield section("Method", items(method), section("Requested and applied", options(session)))
    yield section("Performance metrics", per_case.performance(results))
    yield section("Leaderboard", *leaderboard(session, results, varying, per_hour))
    yield section("Scaling with batch size", per_case.scalings(results, varying), lead=SCALING)
    yield pairs_of_options(results, varying)
    parts = per_case.parts(results)
    yield section("Step breakdown", parts, lead="Mean time of each part, and its share of the whole step.")
    yield section("Memory", memory_energy.memory(results), lead=MEMORY)
    yield section("Energy", memory_energy.energy(results))
    if rows := limits(session, results):
        yield section("Limits", rows, items(limit_facts(session, results)), lead=LIMITS)
    yield section("Every case", per_case.every_case(session))
    yield section("Warnings", warnings(session))


def _between_nodes(session: Session) -> Table | str | None:
    alike = "The nodes report no differences except their names." if len(session.nodes) > 1 else None
    return differences(session) or alike


def _models(session: Session) -> list[Items | str | None]:
    """Return the facts of each model. A custom task chooses its own; a source may name none."""
    model_facts = models(session)
    if custom_task(session.start.sweep.task) or (session.start.source is not None and not model_facts):
        return []
    return [items(each) for each in model_facts] or ["No case got as far as loading the model."]
