"""Session report: collects the contents of all sections and renders them with a template."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import ClassVar, Protocol

import jinja2
import msgspec

from benchtui.sessions.advice.objectives import SPEED_NEEDS, Need
from benchtui.sessions.advice.snippet import snippet
from benchtui.sessions.compare.system_facts import Fact, facts
from benchtui.sessions.events import SessionStarted
from benchtui.sessions.report.details import Details, details, left_out
from benchtui.sessions.report.explain import ExplainSection, explain, tried_table
from benchtui.sessions.report.limitations import limitations
from benchtui.sessions.report.overview.choices import Choices, choices
from benchtui.sessions.report.overview.decision import DecisionSection, completeness, decision
from benchtui.sessions.report.overview.option_effects import Recommended, effect_table, option_effects, ranking
from benchtui.sessions.report.overview.remarks import remarks
from benchtui.sessions.report.overview.results import ResultsSection, results_section
from benchtui.sessions.report.overview.short_facts import devices, short_facts
from benchtui.sessions.report.reproduce import Recipe, fenced, no_recipe_reason, recipe
from benchtui.sessions.report.sections.answers import AnswersSection, answers
from benchtui.sessions.report.sections.memory_energy import frontier_table, frontiers
from benchtui.sessions.report.sections.method import method
from benchtui.sessions.report.sections.notes import notes
from benchtui.sessions.report.sections.roofline import limits_by_case
from benchtui.sessions.report.sections.steadiness import anomaly_table
from benchtui.sessions.report.sections.task_metrics import TaskSection, task_sections
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import labeled
from benchtui.sessions.stats.results import Result, measured, varied
from benchtui.sessions.sweep import UNKNOWN, Config, Sweep, custom_task
from benchtui.sessions.text import tables
from benchtui.sessions.text.markdown import Markdown, plain, wrapped
from benchtui.sessions.text.tables import Table
from benchtui.sessions.text.wording import Remark

OPEN_SECTIONS = ("Decision", "Caveats", "Results")
"""Sections that a page doesn't collapse: the first screen and the results."""


class Document(Protocol):
    """A document that can be rendered: the report of a session, or a comparison."""

    TEMPLATE: ClassVar[str]
    """Template that renders it."""


class Report(msgspec.Struct, frozen=True):
    """Everything that the report template renders. Empty parts are omitted there."""

    TEMPLATE: ClassVar[str] = "report.md.j2"

    title: str
    """Model and machine."""
    created: str
    """Task, when the session was measured, and how much of its plan."""
    decision: DecisionSection
    notes: list[Remark]
    recipe: Recipe | None
    snippet: Markdown | None
    """Fastest case as code that runs it with transformers, in a fenced block; only in a full report."""
    no_recipe: str
    """Why an imported session has no instructions to rerun its sweep; empty for any other."""
    results: ResultsSection
    remarks: list[str]
    """Sentences about large parts of a step and unmeasured cases."""
    tasks: list[TaskSection]
    """Metrics specific to the session's task."""
    ranking: str | None
    effects: Table | None
    answers: AnswersSection | None
    """Comparison of the outputs; None if no answers were compared."""
    explained: ExplainSection | None
    """Time of explained cases by family, with findings; None if there are none."""
    tried: Table | None
    """Remedies of findings, predicted and measured; None if none was tried."""
    frontier: Table | None
    anomalies: Table | None
    facts: tuple[Fact, ...]
    limitations: list[str]
    details: Details | None
    """Everything else; only in a full report."""
    left_out: str
    """Sentence that lists the contents of a full report; empty in one."""


def markdown(session: Session, per_hour: float | None = None, *, full: bool = False) -> str:
    """Render the report of a finished or incomplete session in GitHub's Markdown.

    ``per_hour`` is the price of an hour. With it, the report gives the cost of a million samples, in the same
    currency. A full report also has tables with a row for every case.

    Raises:
        BenchtuiError: if the session has no first event.
    """
    return render(report(session, per_hour, full=full))


def markdown_pieces(session: Session, per_hour: float | None = None, *, full: bool = False) -> Iterator[str]:
    """Render the report in pieces. The whole text would be in memory several times."""
    document = report(session, per_hour, full=full)
    return wrapped(template(document.TEMPLATE).generate(report=document, table=tables.markdown))


def render(document: Document, table: Callable[[Table], Markdown] = tables.markdown) -> str:
    """Render a document in GitHub's Markdown, using ``table`` for its tables."""
    return "".join(wrapped(template(document.TEMPLATE).generate(report=document, table=table)))


def report(session: Session, per_hour: float | None = None, *, full: bool = False) -> Report:
    """Collect the contents of each section. Raises BenchtuiError if the session has no first event."""
    start, results = session.start, measured(session)
    varying = varied(case.config for case in session.cases)
    made = choices(session, results)
    chosen = _chosen(made)
    effects = option_effects(results, chosen)
    limits = limits_by_case(session, results)
    described = (*method(session, results), *_price(per_hour))
    every = [conclusion for by_work in made.values() for conclusion in by_work.values()]
    named = {row.case.index for work in every for row in (work.best, work.baseline) if row}
    return Report(
        title=_title(session, results),
        created=". ".join(filter(None, (_task(start.sweep), when(start), completeness(session)))),
        decision=decision(session, made, varying, per_hour),
        notes=notes(session, results, varying),
        recipe=recipe(session),
        snippet=_snippet(session, made) if full else None,
        no_recipe=no_recipe_reason(session),
        results=results_section(session, results, limits, named, full=full),
        remarks=remarks(session, results, varying),
        tasks=task_sections(results, start.sweep.task, varying),
        ranking=ranking(effects),
        effects=effect_table(effects),
        answers=answers(session, results, varying),
        explained=explain(session, varying, full=full),
        tried=tried_table(session, varying),
        frontier=frontier_table(frontiers(session, results), varying) if full else None,
        anomalies=anomaly_table(session, results, varying, full=full),
        facts=() if full else short_facts(session, described),
        limitations=limitations(session, results),
        details=details(session, results, made, described, per_hour) if full else None,
        left_out="" if full else left_out(session, results),
    )


def _chosen(made: Choices) -> Recommended:
    def configs(*needs: Need) -> tuple[Config, ...]:
        return tuple(conclusion.best.config for need in needs for conclusion in made[need].values())

    return Recommended(configs(*made), configs(*SPEED_NEEDS))


def _snippet(session: Session, made: Choices) -> Markdown | None:
    """Return the code of the fastest case; with several works, of the first one's."""
    best = next((conclusion.best for conclusion in made["throughput"].values()), None)
    code = snippet(session, best.case) if best else None
    return fenced(code, "python") if code else None


def _title(session: Session, results: Sequence[Result]) -> str:
    """Return the model and the devices that measured it."""
    machine = devices(session, results)
    subject = labeled(_subject(session.start.sweep), session.start)
    return f"{subject} on {machine}" if machine else subject


def _task(sweep: Sweep) -> str:
    """Return the task, unless it is unknown or the title names it."""
    return "" if sweep.task == UNKNOWN or custom_task(sweep.task) else f"Task {sweep.task}"


def _subject(sweep: Sweep) -> str:
    """Return the subject of the report: the model, the function of a custom task, or the sweep's name."""
    if custom_task(sweep.task):
        return sweep.task
    return sweep.name if sweep.model == UNKNOWN else sweep.model


def _price(per_hour: float | None) -> tuple[Fact, ...]:
    price = None if per_hour is None else f"{per_hour:,.10g}"
    return facts(("Price", price and f"{price} an hour, as given for this report; costs are in its currency"))


@cache
def template(name: str) -> jinja2.Template:
    """Load a template of this package. Expressions are escaped as plain Markdown; in a page, as HTML."""
    is_page = name.endswith(".html.j2")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("benchtui.sessions.report", "templates"),
        finalize=None if is_page else plain,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=is_page,
    )
    environment.globals["table"] = tables.markdown
    return environment.get_template(name)


def when(start: SessionStarted) -> str:
    """Format when the session was measured or simulated and, if imported, when it was imported."""
    if start.simulated is not None:
        return f"Simulated on {format_date(start.created)}"
    if start.source is None:
        return f"Measured on {format_date(start.created)}"
    if start.measured is None:
        return f"Imported on {format_date(start.created)}; date of measurement not recorded"
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
