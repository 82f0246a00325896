"""Session report: its sections in order, with those that only the full report has, and their Markdown."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from benchtui.sessions.advice.objectives import SPEED_NEEDS, Need
from benchtui.sessions.advice.snippet import snippet
from benchtui.sessions.compare.system_facts import Fact, facts, models, system
from benchtui.sessions.events import SessionStarted
from benchtui.sessions.report.content import TITLE, Code, Content, Items, Note, Section, items, render, section
from benchtui.sessions.report.explain import explain, tried
from benchtui.sessions.report.limitations import limitations
from benchtui.sessions.report.overview.decision import (
    Choices,
    choice_table,
    choices,
    completeness,
    decision,
    has_several_works,
)
from benchtui.sessions.report.overview.option_effects import Recommended, options_section, pairs_of_options
from benchtui.sessions.report.overview.results import results_section
from benchtui.sessions.report.overview.short_facts import devices, short_facts
from benchtui.sessions.report.reproduce import code, how_to_reproduce
from benchtui.sessions.report.sections import per_case
from benchtui.sessions.report.sections.anomalies import anomaly_table
from benchtui.sessions.report.sections.answers import answers
from benchtui.sessions.report.sections.method import method, options
from benchtui.sessions.report.sections.nodes import differences, systems
from benchtui.sessions.report.sections.notes import notes, warnings
from benchtui.sessions.report.sections.roofline import LIMITS, limit_facts, limits, limits_by_case
from benchtui.sessions.report.sections.task_metrics import task_sections
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import labeled
from benchtui.sessions.stats.results import Result, measured
from benchtui.sessions.sweep import UNKNOWN, Config, Sweep, custom_task

OPEN_SECTIONS = ("Decision", "Caveats", "Results")
"""Sections that a page doesn't collapse: the first screen and the results."""
FASTEST = "The case for throughput, with transformers; versions and variables are in the first lines."
MORE = (
    "More with --full: every case with all its quantities, pairs of options, applied options, all facts, and"
    " every entry of the sweep."
)


def markdown(session: Session, per_hour: float | None = None, *, full: bool = False) -> str:
    """Render the report of a finished or incomplete session in GitHub's Markdown.

    ``per_hour`` is the price of an hour. With it, the report gives the cost of a million samples, in the same
    currency. A full report also has tables with a row for every case.

    Raises:
        BenchtuiError: if the session has no first event.
    """
    return render(report(session, per_hour, full=full))


def report(session: Session, per_hour: float | None = None, *, full: bool = False) -> Section:
    """Collect the contents of each section. Raises BenchtuiError if the session has no first event."""
    start, results = session.start, measured(session)
    made, limits = choices(session, results), limits_by_case(session, results)
    terms = "an hour, as given for this report; costs are in its currency"
    price = None if per_hour is None else f"{per_hour:,.10g} {terms}"
    described = (*method(session, results), *facts(("Price", price)))
    sections = (
        *decision(session, made, per_hour),
        section("Caveats", items(notes(session, results), quoted=True)),
        section("How to run the fastest case", _snippet(session, made), lead=FASTEST) if full else None,
        section("How to reproduce", *how_to_reproduce(session, whole=full)),
        results_section(session, results, limits, made, full=full),
        *task_sections(results, start.sweep.task),
        options_section(results, _chosen(made)),
        answers(session, results),
        explain(session, full=full),
        tried(session),
        section("Out of memory", per_case.frontier_table(per_case.frontiers(session, results)))
        if full
        else None,
        section("Anomalies", anomaly_table(session, results, full=full)),
        *(
            details(session, results, made, described, per_hour)
            if full
            else [section("Model, system and method", items(short_facts(session, described)))]
        ),
        section("Limitations", items(("", text) for text in limitations(session, results))),
    )
    created = ". ".join(filter(None, (_task(session), f"{when(start)}: {completeness(session)}.")))
    content: list[Content] = [Note(created), *(part for part in sections if part)]
    return Section(f"{TITLE}{_title(session, results)}", (*content, *([] if full else [MORE])))


def _chosen(made: Choices) -> Recommended:
    def configs(*needs: Need) -> tuple[Config, ...]:
        return tuple(conclusion.best.config for need in needs for conclusion in made[need].values())

    return Recommended(configs(*made), configs(*SPEED_NEEDS))


def _snippet(session: Session, made: Choices) -> Code | None:
    """Return the code of the fastest case; with several works, of the first one's."""
    best = next((conclusion.best for conclusion in made["throughput"].values()), None)
    lines = snippet(session, best.case) if best else None
    return code(lines, "python") if lines else None


def _title(session: Session, results: Sequence[Result]) -> str:
    """Return the model and the devices that measured it."""
    machine = devices(session, results)
    subject = labeled(_subject(session.start.sweep), session.start)
    return f"{subject} on {machine}" if machine else subject


def _task(session: Session) -> str:
    """Return the task, unless it is unknown or the title names it, and the work that all cases share."""
    task = session.start.sweep.task
    if custom_task(task):
        return ""
    configs = [case.config for case in session.cases]
    works = {config.group if config.label else str(config.work) for config in configs}  # labels hide defaults
    shared = works.pop() if len(works) == 1 else ""
    return ", ".join(filter(None, ("" if task == UNKNOWN else f"Task {task}", shared)))


def _subject(sweep: Sweep) -> str:
    """Return the subject of the report: the model, the function of a custom task, or the sweep's name."""
    if custom_task(sweep.task):
        return sweep.task
    return sweep.name if sweep.model == UNKNOWN else sweep.model


def when(start: SessionStarted) -> str:
    """Format when the session was measured or simulated and, if imported, when it was imported."""
    if start.simulated is not None:
        return f"Simulated on {format_date(start.created)}"
    if start.source is None:
        return f"Measured on {format_date(start.created)}"
    if start.measured is None:
        return f"Measured on an unrecorded date, imported on {format_date(start.created)}"
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


SCALING = (
    "Throughput per item is what other tools call scaling efficiency: it falls unless batching pays linearly."
)
MEMORY = "Peaks while a case was measured; a further sample is relative to the smallest batch of the series."


def details(
    session: Session, results: Sequence[Result], made: Choices, method: tuple[Fact, ...], per_hour: float | None
) -> Iterator[Section | None]:
    """Yield the sections in order; None for those without content."""
    yield section("Choices", choice_table(made, several=has_several_works(made)))
    yield section("Model information", *_models(session))
    alike = "The nodes report no differences except their names." if len(session.nodes) > 1 else None
    yield section(
        "System information",
        items(system(session)),
        *systems(session),
        section("What differs between the nodes", differences(session) or alike),
    )
    yield section("Method", items(method), section("Requested and applied", options(session)))
    yield section("Performance metrics", per_case.performance(results))
    yield section("Leaderboard", *per_case.leaderboard(session, results, per_hour))
    yield section("Scaling with batch size", per_case.scalings(results), lead=SCALING)
    yield pairs_of_options(results)
    parts = per_case.parts(results)
    yield section("Step breakdown", parts, lead="Mean time of each part, and its share of the whole step.")
    yield section("Memory", per_case.memory(results), lead=MEMORY)
    yield section("Energy", per_case.energy(results))
    if rows := limits(session, results):
        yield section("Limits", rows, items(limit_facts(session, results)), lead=LIMITS)
    yield section("Every case", per_case.every_case(session))
    yield section("Warnings", warnings(session))


def _models(session: Session) -> list[Items | str | None]:
    """Return the facts of each model. A custom task chooses its own; a source may name none."""
    model_facts = models(session)
    if custom_task(session.start.sweep.task) or (session.start.source is not None and not model_facts):
        return []
    return [items(of_model) for of_model in model_facts] or ["No case got as far as loading the model."]
