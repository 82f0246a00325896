"""Comparison report: what differs between sessions, each system, and aligned cases side by side."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log

from benchtui.sessions.compare.align import (
    LETTERS,
    AlignedCase,
    ComparedSession,
    PairwiseComparison,
    SessionComparison,
)
from benchtui.sessions.compare.environment_diff import missing_groups
from benchtui.sessions.compare.system_facts import Fact, facts, models, system
from benchtui.sessions.report.compare_columns import Columns, full_columns, pair_rows, varying_options
from benchtui.sessions.report.document import template, when
from benchtui.sessions.report.sections.notes import notes
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.noise import BETWEEN_SESSIONS
from benchtui.sessions.stats.verdicts import Verdict
from benchtui.sessions.text.formatting import count, listed, ratio_text
from benchtui.sessions.text.labels import case_label, outcome
from benchtui.sessions.text.tables import Table, table
from benchtui.sessions.text.wording import MOST_NAMES, Finding, ratio_with_interval, why_unsure

READING = (
    "The ratio says how many times as fast: above 1 the new session is the faster one. It is that of typical"
    " steps (the median, over rounds), with its 95% interval. FASTER and SLOWER: the whole 99% interval lies"
    " beyond 0.5%, for typical steps and for the first quartile. SAME: the whole 95% interval lies within the"
    " margin of equivalence. UNSURE: all else, with the smallest difference that could have been told. The"
    f" interval covers steps, fresh processes, and {100 * BETWEEN_SESSIONS:g}% between sessions (assumed)."
    " Where machine and software are the same, it is widened by what their peaks say of the machine's own pace."
)


@dataclass(frozen=True, slots=True)
class System:
    """One session of the comparison: heading, notes and facts."""

    title: str
    notes: list[Finding]
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Comparison of one session with the base."""

    title: str
    leads: list[str]
    table: Table | None
    others: list[str]
    """Cases that can't be compared, with the reason."""


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    """Everything that the comparison template renders."""

    title: str
    conclusion: list[str]
    differences: Table | None
    alike: str
    """Text to show if there are no differences."""
    silence: str
    """Sentence naming the sessions that don't record their machine or software; empty if all do."""
    systems: list[System]
    reading: str
    against: list[Block]


def markdown(compared: SessionComparison) -> str:
    """Render the comparison in GitHub's Markdown."""
    return template("comparison.md.j2").render(report=report(compared))


def report(compared: SessionComparison, columns: Callable[[str], Columns] = full_columns) -> ComparisonReport:
    """Collect the contents of each section. ``columns`` maps a session's letter to its table's columns."""
    named = zip(LETTERS, compared.sides, strict=False)
    return ComparisonReport(
        title=listed([side.name for side in compared.sides]),
        conclusion=[sentence for each in compared.against for sentence in conclusion(each)],
        differences=differing(compared),
        alike=no_differences_text(compared),
        silence=unrecorded_text(compared),
        systems=[_system(letter, side) for letter, side in named],
        reading=READING,
        against=[_block(each, columns) for each in compared.against],
    )


def differing(compared: SessionComparison) -> Table | None:
    """Return a row for each difference, with each session's value. None if nothing differs."""
    titles = [f"{letter}: {side.name}" for letter, side in zip(LETTERS, compared.sides, strict=False)]
    rows = tuple((row.group, row.what, *row.values) for row in compared.differences)
    return Table(("", "What", *titles), (False,) * (2 + len(titles)), rows) if rows else None


def no_differences_text(compared: SessionComparison) -> str:
    """Describe what is the same and what the sessions don't record, if nothing differs."""
    unsaid_by = unrecorded_text(compared)
    if not unsaid_by:
        return "Same machine, same software, same work, same settings."
    return f"{unsaid_by.removesuffix('.')}; the rest is the same."


def unrecorded_text(compared: SessionComparison) -> str:
    """Name the sessions that don't record their machine or software; empty if all do."""
    silent = [(side.name, silence) for side in compared.sides if (silence := missing_groups(side.session))]
    if not silent:
        return ""
    unknown = " or ".join(dict.fromkeys(group for _, each in silent for group in each))
    if len(silent) == len(compared.sides):
        return f"None of the sessions says which {unknown} it ran on."
    return f"{listed([name for name, _ in silent])}: which {unknown} it ran on isn't known."


def conclusion(against: PairwiseComparison) -> list[str]:
    """Summarize the comparison: verdict counts, largest gain and loss, unsure cases, lost cases."""
    rows = against.compared
    if not rows:
        return [f"{_pair(against)}: no case was measured in both."]
    counted = [f"{amount} {verdict.name}" for verdict in Verdict if (amount := against.count(verdict))]
    lines = [f"{_pair(against)}: {count(len(rows), 'case')} compared, {listed(counted)}."]
    lines += _extreme("Largest gain", against, against.largest_gain)
    lines += _extreme("Largest loss", against, against.largest_loss)
    unsure = [row for row in rows if row.verdict is Verdict.UNSURE and row.ratio]
    lines += _unsure(against, unsure)
    lines += _answers(rows)
    lost = [row for row in against.rows if row.lost]
    if lost:
        lines.append(f"{count(len(lost), 'case')} measured in A and not in {against.new_letter}.")
    return lines


def row_markdown(against: PairwiseComparison, row: AlignedCase) -> str:
    """Render one case as a single-row table in GitHub's Markdown."""
    from benchtui.sessions.text.tables import markdown as render_markdown  # imports pandas when called

    shown = table(full_columns(against.new_letter), pair_rows(against, [row]))
    return f"{render_markdown(shown)}\n" if shown else ""


def _pair(against: PairwiseComparison) -> str:
    return f"{against.new_letter} ({against.new.name}) against A ({against.base.name})"


def _extreme(word: str, against: PairwiseComparison, row: AlignedCase | None) -> list[str]:
    return [f"{word}: {ratio_with_interval(row.ratio)}, {_label(against, row.case)}."] if row else []


def _unsure(against: PairwiseComparison, rows: list[AlignedCase]) -> list[str]:
    """Name the unsure case whose ratio is farthest from 1, and why it has no verdict."""
    known = [(row, row.ratio) for row in rows if row.ratio and row.ratio.value > 0]
    if not known:
        return []
    row, ratio = max(known, key=lambda each: abs(log(each[1].value)))
    label = _label(against, row.case)
    return [f"Of the unsure ones {label} differs most: {ratio_text(ratio.value)} ×, but {why_unsure(ratio)}."]


def _answers(rows: Sequence[AlignedCase]) -> list[str]:
    """Count the cases whose output for the probe has changed; nothing if none has two comparable outputs."""
    known = [row.same_answer for row in rows if row.same_answer is not None]
    if not known:
        return []
    changed = known.count(False)
    if not changed:
        return [f"Same answers, bit for bit: {count(len(known), 'case')}."]
    return [
        f"Changed answers: {changed:,} of {count(len(known), 'case')}; each session's report says how close."
    ]


def _system(letter: str, side: ComparedSession) -> System:
    start, base = side.session.start, " (base)" if letter == LETTERS[0] else ""
    model = [fact for each in models(side.session)[:1] for fact in each]
    measured = facts(
        ("Date", when(start)),
        ("Sweep", start.sweep.name),
        ("Task", start.sweep.task),
    )
    return System(
        title=f"{letter}: {side.name}{base}",
        notes=notes(side.session, side.results),
        facts=(*measured, *(model or facts(("Model", start.sweep.model))), *system(side.session)),
    )


def _block(against: PairwiseComparison, columns: Callable[[str], Columns]) -> Block:
    return Block(
        title=_pair(against),
        leads=_leads(against),
        table=table(columns(against.new_letter), pair_rows(against, against.rows)),
        others=_others(against),
    )


def _leads(against: PairwiseComparison) -> list[str]:
    if not against.ignored:
        return []
    each = [
        f"{option}: A is {_one(against.base, option)}, {against.new_letter} is {_one(against.new, option)}"
        for option in against.ignored
    ]
    return [f"Cases are paired ignoring {'; '.join(each)}."]


def _one(side: ComparedSession, option: str) -> str:
    sweep = side.session.start.sweep
    return str(getattr(sweep if option in ("model", "weights") else side.session.cases[0].config, option))


def _others(against: PairwiseComparison) -> list[str]:
    letter = against.new_letter
    unpaired = [row for row in against.rows if row.base and row.new and not row.pair]
    lines = [
        f"{_label(against, row.case)}: {outcome(row.base)} in A, {outcome(row.new)} in {letter}"
        for row in unpaired
        if row.base and row.new
    ]
    return [
        *lines,
        *_only(against, "A", against.only("base")),
        *_only(against, letter, against.only("new")),
    ]


def _only(against: PairwiseComparison, letter: str, cases: tuple[CaseState, ...]) -> list[str]:
    if not cases:
        return []
    names = [_label(against, case) for case in cases[:MOST_NAMES]]
    more = len(cases) - len(names)
    return [f"only in {letter}: {listed([*names, f'{more:,} more'] if more else names)}"]


def _label(against: PairwiseComparison, case: CaseState) -> str:
    return case_label(case.config, varying_options(against))
