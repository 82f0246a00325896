"""Session report: collects the contents of all sections and renders them with a template."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

import jinja2

from benchtui.sessions.compare.system_facts import Fact, facts, models, system
from benchtui.sessions.events import SessionStarted
from benchtui.sessions.report.reproduce import Recipe, recipe
from benchtui.sessions.report.sections import gains, memory_energy, per_case, steadiness, task_metrics
from benchtui.sessions.report.sections import recommendations as findings
from benchtui.sessions.report.sections.gains import Block
from benchtui.sessions.report.sections.leaderboard import leaderboard
from benchtui.sessions.report.sections.method import method, options
from benchtui.sessions.report.sections.nodes import System, differences, systems
from benchtui.sessions.report.sections.notes import notes, warnings
from benchtui.sessions.report.sections.recommendations import Optimum
from benchtui.sessions.report.sections.roofline import limit_method, limits
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import measured, varied
from benchtui.sessions.text import tables
from benchtui.sessions.text.formatting import number
from benchtui.sessions.text.markdown import Markdown, plain
from benchtui.sessions.text.tables import Table
from benchtui.sessions.text.wording import Finding


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that the report template renders. Empty parts are omitted there."""

    title: str
    created: str
    notes: list[Finding]
    summary: list[Finding]
    models: list[tuple[Fact, ...]]
    system: tuple[Fact, ...]
    nodes: list[System]
    unlike: Table | None
    """Differences between the nodes."""
    method: tuple[Fact, ...]
    options: Table | None
    performance: list[Block]
    optima: list[Optimum]
    leaderboard: list[Block]
    scaling: list[Block]
    precision: list[Block]
    devices: Table | None
    machines: Table | None
    compile: list[Block]
    parts: Table | None
    memory: Table | None
    frontier: Table | None
    energy: Table | None
    jitter: Table | None
    anomalies: Table | None
    disturbed: Table | None
    limits: Block | None
    limit_method: tuple[Fact, ...]
    cases: Table | None
    warnings: Table | None
    recommendations: list[Finding]
    conclusion: list[str]
    generation: Table | None
    training: Table | None
    recipe: Recipe | None


def markdown(session: Session, per_hour: float | None = None) -> str:
    """Render the report of a finished or cut-off session in GitHub's Markdown.

    ``per_hour`` is the price of an hour. With it, the report gives the cost of a million samples, in the same
    currency.

    Raises:
        BenchtuiError: if the session has no first event.
    """
    return render(report(session, per_hour))


def markdown_pieces(session: Session, per_hour: float | None = None) -> Iterator[str]:
    """Render the same in pieces. The whole report of 100,000 cases would be in memory several times."""
    return template("report.md.j2").generate(report=report(session, per_hour), table=tables.markdown)


def render(found: Report, table: Callable[[Table], Markdown] = tables.markdown) -> str:
    """Render a report in GitHub's Markdown, using ``table`` for its tables."""
    return template("report.md.j2").render(report=found, table=table)


def report(session: Session, per_hour: float | None = None) -> Report:
    """Collect the contents of each section. Raises BenchtuiError if the session has no first event."""
    start, results = session.start, measured(session)
    varying = varied(case.config for case in session.cases)
    choices = findings.recommendations_by_need(session, results, varying, per_hour)
    return Report(
        title=start.sweep.model,
        created=when(start),
        notes=notes(session, results),
        summary=findings.summary(session, choices),
        models=models(session),
        system=system(session),
        nodes=systems(session),
        unlike=differences(session),
        method=(*method(session, results), *_price(per_hour)),
        options=options(session),
        performance=per_case.performance(session, results, varying),
        optima=findings.optima(choices),
        leaderboard=leaderboard(session, results, varying, per_hour),
        scaling=per_case.scalings(results, varying),
        precision=gains.precision_gains(results, varying),
        devices=gains.device_speedups(gains.device_pairs(results), varying),
        machines=gains.machine_speedups(gains.machine_pairs(results), varying),
        compile=gains.compile_gains(results, varying),
        parts=per_case.parts(results),
        memory=memory_energy.memory(results),
        frontier=memory_energy.frontier_table(memory_energy.frontiers(session, results), varying),
        energy=memory_energy.energy(results),
        jitter=steadiness.jitter(results),
        anomalies=steadiness.anomaly_table(session, results, varying),
        disturbed=steadiness.disturbed(session),
        limits=limits(session, results),
        limit_method=limit_method(session),
        cases=per_case.every_case(session),
        warnings=warnings(session),
        recommendations=findings.recommendations(session, results, choices),
        conclusion=findings.conclusion(results, choices),
        generation=task_metrics.generation(results),
        training=task_metrics.training(results, start.sweep.task),
        recipe=recipe(session),
    )


def _price(per_hour: float | None) -> tuple[Fact, ...]:
    price = number(per_hour, 4)
    return facts(("Price", price and f"{price} an hour, as given for this report; costs are in its currency"))


@cache
def template(name: str) -> jinja2.Template:
    """Load a template of this package. Every expression in it is escaped as plain Markdown."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("benchtui.sessions.report", "templates"),
        finalize=plain,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # HTML only; ``finalize`` escapes every expression as plain Markdown
    )
    environment.globals["table"] = tables.markdown
    return environment.get_template(name)


def when(start: SessionStarted) -> str:
    """Format when the session was measured and, if imported, when it was imported."""
    if start.source is None:
        return f"Measured on {format_date(start.created)}"
    if start.measured is None:
        return f"Imported on {format_date(start.created)}; when it was measured isn't known"
    return f"Measured on {format_date(start.measured)}, imported on {format_date(start.created)}"


def format_date(created: str) -> str:
    """Format a timestamp to the second, in UTC if its zone is known. Text that isn't a date is unchanged."""
    try:
        moment = datetime.fromisoformat(created)
    except ValueError:
        return created
    if moment.tzinfo is None:
        return f"{moment:%Y-%m-%d %H:%M:%S}"
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
