"""Session report: collects the contents of all sections and renders them with a template."""

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import ClassVar, Protocol

import jinja2
import msgspec

from benchtui.sessions.advice.objectives import SPEED_NEEDS
from benchtui.sessions.advice.snippet import snippet
from benchtui.sessions.compare.system_facts import Fact, facts
from benchtui.sessions.events import SessionStarted
from benchtui.sessions.report.details import Details, details, left_out
from benchtui.sessions.report.explain import ExplainSection, explain, tried_table
from benchtui.sessions.report.limitations import limitations
from benchtui.sessions.report.overview.decision import DecisionSection, decision
from benchtui.sessions.report.overview.option_effects import Recommended, effect_table, option_effects, ranking
from benchtui.sessions.report.overview.results import Group, results_by_device, unmeasured
from benchtui.sessions.report.overview.short_facts import short_facts
from benchtui.sessions.report.reproduce import Recipe, fenced, no_recipe_reason, recipe
from benchtui.sessions.report.sections import recommendations
from benchtui.sessions.report.sections.answers import AnswersSection, answers
from benchtui.sessions.report.sections.memory_energy import frontier_table, frontiers
from benchtui.sessions.report.sections.method import method
from benchtui.sessions.report.sections.notes import notes
from benchtui.sessions.report.sections.recommendations import Recommendation
from benchtui.sessions.report.sections.roofline import Row as LimitRow
from benchtui.sessions.report.sections.roofline import limits_by_case, limits_summary
from benchtui.sessions.report.sections.steadiness import anomaly_table
from benchtui.sessions.report.sections.task_metrics import TaskSection, task_sections
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import labeled
from benchtui.sessions.stats.results import Result, measured, varied
from benchtui.sessions.sweep import UNKNOWN, Sweep, custom_task
from benchtui.sessions.text import tables
from benchtui.sessions.text.markdown import Markdown, plain
from benchtui.sessions.text.tables import Table
from benchtui.sessions.text.wording import Remark

MOST_ANOMALIES = 10
"""Maximum number of anomalies in a short report."""


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
    created: str
    decision: DecisionSection
    notes: list[Remark]
    recipe: Recipe | None
    snippet: Markdown | None
    """Fastest case as code that runs it with transformers, in a fenced block; only in a full report."""
    no_recipe: str
    """Why an imported session has no instructions to rerun its sweep; empty for any other."""
    results: list[Group]
    remarks: list[str]
    """Sentences about scaling with batch size, tokenizing, limits of the cases, and unmeasured cases."""
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
    memory_limits: list[Remark]
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
    return template("report.md.j2").generate(report=report(session, per_hour, full=full), table=tables.markdown)


def render(document: Document, table: Callable[[Table], Markdown] = tables.markdown) -> str:
    """Render a document in GitHub's Markdown, using ``table`` for its tables."""
    return template(document.TEMPLATE).render(report=document, table=table)


def report(session: Session, per_hour: float | None = None, *, full: bool = False) -> Report:
    """Collect the contents of each section. Raises BenchtuiError if the session has no first event."""
    start, results = session.start, measured(session)
    varying = varied(case.config for case in session.cases)
    choices = recommendations.recommendations_by_need(session, results, varying, per_hour)
    effects = option_effects(results, _recommended(choices))
    limits = limits_by_case(session, results)
    fronts = frontiers(session, results)
    described = (*method(session, results), *_price(per_hour))
    return Report(
        title=labeled(_subject(start.sweep), start),
        created=when(start),
        decision=decision(session, choices),
        notes=notes(session, results, varying),
        recipe=recipe(session),
        snippet=_snippet(session, choices) if full else None,
        no_recipe=no_recipe_reason(session),
        results=results_by_device(session, results, limits),
        remarks=_remarks(session, results, choices, limits, varying),
        tasks=task_sections(results, start.sweep.task, varying),
        ranking=ranking(effects),
        effects=effect_table(effects),
        answers=answers(session, results, varying),
        explained=explain(session, varying, full=full),
        tried=tried_table(session, varying),
        memory_limits=recommendations.memory_limits(fronts, varying),
        frontier=frontier_table(fronts, varying) if full else None,
        anomalies=anomaly_table(session, results, varying, None if full else MOST_ANOMALIES),
        facts=() if full else short_facts(session, described),
        limitations=limitations(session, results),
        details=details(session, results, choices, described, per_hour) if full else None,
        left_out="" if full else left_out(session, results),
    )


def _recommended(choices: Sequence[Recommendation]) -> Recommended:
    return Recommended(
        tuple(choice.best.config for choice in choices),
        tuple(choice.best.config for choice in choices if choice.need in SPEED_NEEDS),
    )


def _snippet(session: Session, choices: Sequence[Recommendation]) -> Markdown | None:
    """Return the code of the fastest case; with several works, of the first one's."""
    best = next((choice.best for choice in choices if choice.need == "throughput"), None)
    code = snippet(session, best.case) if best else None
    return fenced(code, "python") if code else None


def _remarks(
    session: Session,
    results: Sequence[Result],
    choices: Sequence[Recommendation],
    limits: Sequence[LimitRow],
    varying: Collection[str],
) -> list[str]:
    summary = limits_summary(limits, varying)
    return [
        *recommendations.growths(results, choices),
        *recommendations.tokenizing(results, varying),
        *(recommendations.own_parts(results, varying) if custom_task(session.start.sweep.task) else ()),
        *((summary,) if summary else ()),
        *unmeasured(session, varying),
    ]


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
