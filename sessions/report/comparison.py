"""The comparison of sessions as a document: what differs, every system, the cases beside each other."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from benchtui.sessions.case_state import CaseState
from benchtui.sessions.compare import Ratio, Verdict
from benchtui.sessions.comparing import LETTERS, Against, Compared, Row, Side
from benchtui.sessions.report.comparison_columns import Columns, besides, full_columns, kinds_of
from benchtui.sessions.report.document import date, template
from benchtui.sessions.report.facts import Fact, facts, models, system
from benchtui.sessions.report.labels import case_label, outcome
from benchtui.sessions.report.notes import notes
from benchtui.sessions.report.tables import Table, table
from benchtui.sessions.report.text import count, listed, number
from benchtui.sessions.report.wording import MOST_NAMES, Finding, times

ALIKE = "Same machine, same software, same work, same settings."
READING = (
    "The ratio says how many times as fast: above 1 the new session is the faster one. Its interval spans all"
    " that both cases' ranges allow, each from its fastest step to the third quartile; from three rounds on it"
    " is a 95% interval over the rounds' fastest steps (90% of 3 rounds). FASTER and SLOWER lie off 1 by more"
    " than 0.5% with their whole interval, SAME doesn't, and UNSURE has no interval, or something speaks"
    " against the steps: rounds that don't confirm them, or the machine. Where machine and software are the"
    " same, its peaks in both sessions tell how many times as fast it was by itself, and the interval is wide"
    " enough for that."
)


@dataclass(frozen=True, slots=True)
class System:
    """One of the sessions, as far as a reader must know it."""

    title: str
    notes: list[Finding]
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """A session against the base."""

    title: str
    leads: list[str]
    table: Table | None
    others: list[str]
    """The cases that can't be compared, and why."""


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    """Everything the template lays out."""

    title: str
    conclusion: list[str]
    differences: Table | None
    alike: str
    systems: list[System]
    reading: str
    against: list[Block]


def markdown(compared: Compared) -> str:
    """The comparison in GitHub's markdown."""
    return template("comparison.md.j2").render(report=report(compared))


def report(compared: Compared, columns: Callable[[str], Columns] = full_columns) -> ComparisonReport:
    """What each section says; ``columns`` gives those of a table by the letter of its session."""
    named = zip(LETTERS, compared.sides, strict=False)
    return ComparisonReport(
        title=listed([side.name for side in compared.sides]),
        conclusion=[sentence for each in compared.against for sentence in conclusion(each)],
        differences=differing(compared),
        alike=ALIKE,
        systems=[_system(letter, side) for letter, side in named],
        reading=READING,
        against=[_block(each, columns) for each in compared.against],
    )


def differing(compared: Compared) -> Table | None:
    """A row for each thing that isn't the same, with what each session says of it."""
    titles = [f"{letter}: {side.name}" for letter, side in zip(LETTERS, compared.sides, strict=False)]
    rows = tuple((row.group, row.what, *row.values) for row in compared.differences)
    return Table(("", "What", *titles), (False,) * (2 + len(titles)), rows) if rows else None


def conclusion(against: Against) -> list[str]:
    """How many cases became faster and slower, and by how much at most."""
    rows = against.compared
    if not rows:
        return [f"{_pair(against)}: no case was measured in both."]
    counted = [f"{amount} {verdict.name}" for verdict in Verdict if (amount := against.count(verdict))]
    said = [f"{_pair(against)}: {count(len(rows), 'case')} compared, {listed(counted)}."]
    said += _extreme("Largest gain", against, against.largest_gain)
    said += _extreme("Largest loss", against, against.largest_loss)
    if against.count(Verdict.UNSURE):
        said.append(_range([row.ratio for row in rows if row.ratio]))
    lost = [row for row in against.rows if row.lost]
    if lost:
        said.append(f"{count(len(lost), 'case')} measured in A and not in {against.new_letter}.")
    return said


def row_markdown(against: Against, row: Row) -> str:
    """One case as a table of one row, in GitHub's markdown."""
    from benchtui.sessions.report.tables import markdown as laid_out  # pandas, which only this needs

    shown = table(full_columns(against.new_letter), besides(against, [row]))
    return f"{laid_out(shown)}\n" if shown else ""


def _pair(against: Against) -> str:
    return f"{against.new_letter} ({against.new.name}) against A ({against.base.name})"


def _extreme(word: str, against: Against, row: Row | None) -> list[str]:
    return [f"{word}: {times(row.ratio)}, {_label(against, row.case)}."] if row else []


def _range(ratios: list[Ratio]) -> str:
    values = sorted(ratio.value for ratio in ratios)
    least, middle, most = (number(value) for value in (values[0], median(values), values[-1]))
    return f"All ratios, the unsure ones among them, lie from {least} to {most} ×, {middle} × in the middle."


def _system(letter: str, side: Side) -> System:
    start, base = side.session.start, " (base)" if letter == LETTERS[0] else ""
    model = [fact for each in models(side.session)[:1] for fact in each]
    measured = facts(
        ("Measured on", date(start.created)),
        ("Sweep", start.sweep.name),
        ("Task", start.sweep.task),
    )
    return System(
        title=f"{letter}: {side.name}{base}",
        notes=notes(side.session, side.results),
        facts=(*measured, *(model or facts(("Model", start.sweep.model))), *system(side.session)),
    )


def _block(against: Against, columns: Callable[[str], Columns]) -> Block:
    return Block(
        title=_pair(against),
        leads=_leads(against),
        table=table(columns(against.new_letter), besides(against, against.rows)),
        others=_others(against),
    )


def _leads(against: Against) -> list[str]:
    if not against.ignored:
        return []
    each = [
        f"{option} ({_one(against.base, option)} against {_one(against.new, option)})"
        for option in against.ignored
    ]
    return [f"No case has the same options in both; they correspond here leaving aside {listed(each)}."]


def _one(side: Side, option: str) -> str:
    sweep = side.session.start.sweep
    return str(getattr(sweep if option in ("model", "weights") else side.session.cases[0].config, option))


def _others(against: Against) -> list[str]:
    letter = against.new_letter
    unpaired = [row for row in against.rows if row.base and row.new and not row.pair]
    said = [
        f"{_label(against, row.case)}: {outcome(row.base)} in A, {outcome(row.new)} in {letter}"
        for row in unpaired
        if row.base and row.new
    ]
    return [
        *said,
        *_only(against, "A", against.only("base")),
        *_only(against, letter, against.only("new")),
    ]


def _only(against: Against, letter: str, cases: tuple[CaseState, ...]) -> list[str]:
    if not cases:
        return []
    names = [_label(against, case) for case in cases[:MOST_NAMES]]
    more = len(cases) - len(names)
    return [f"only in {letter}: {listed([*names, f'{more:,} more'] if more else names)}"]


def _label(against: Against, case: CaseState) -> str:
    return case_label(case.config, kinds_of(against))
