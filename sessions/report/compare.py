"""Comparison report: the setup to run, with reasons and certainty; then cases, systems and differences."""

from collections.abc import Callable, Iterable
from math import log
from typing import ClassVar

import msgspec

from benchtui.sessions.compare.align import LETTERS, AlignedCase, PairwiseComparison, SessionComparison
from benchtui.sessions.compare.system_facts import Fact
from benchtui.sessions.report.compare_columns import Columns, PairRow, full_columns, pair_rows
from benchtui.sessions.report.comparison import decision, systems
from benchtui.sessions.report.comparison.caveats import caveats, limitations
from benchtui.sessions.report.comparison.explained import explained
from benchtui.sessions.report.comparison.interpretation import interpretation
from benchtui.sessions.report.comparison.naming import base_name, lettered, new_name
from benchtui.sessions.report.document import render, when
from benchtui.sessions.report.explain import ExplainedBlock
from benchtui.sessions.report.overview.results import without_equal
from benchtui.sessions.report.reproduce import no_recipe_reason, recipe
from benchtui.sessions.sanitize import shell_word
from benchtui.sessions.stats.results import task_of
from benchtui.sessions.text.formatting import listed
from benchtui.sessions.text.markdown import Markdown
from benchtui.sessions.text.tables import Table, in_unit, table
from benchtui.sessions.text.wording import Remark

READING = "A ratio is the speed of the new session relative to A: above 1, it is faster."


class Block(msgspec.Struct, frozen=True):
    """Comparison of one session with the base."""

    title: str
    lead: str
    """Verdict counts, and options that were ignored to match cases."""
    table: Table | None
    same: str
    """Columns that are equal in all rows, with their value."""
    explained: list[ExplainedBlock]
    """Differences between cases with a profile in both sessions, broken down by family."""


class Setup(msgspec.Struct, frozen=True):
    """Instructions to measure one or more of the sessions again."""

    facts: tuple[Fact, ...]
    sweep: Markdown | None


class ComparisonReport(msgspec.Struct, frozen=True):
    """Everything that the comparison template renders. Empty parts are omitted there."""

    TEMPLATE: ClassVar[str] = "comparison.md.j2"

    title: str
    sessions: list[str]
    decision: list[str]
    choices: Table | None
    interpretation: Table | None
    caveats: list[Remark]
    reading: str
    against: list[Block]
    systems: Table
    differences: Table | None
    alike: str
    """Text to show if there are no differences."""
    silence: str
    """Sentence naming the sessions that don't record their machine or software; empty if all do."""
    command: str
    setups: list[Setup]
    limitations: list[str]


def markdown(compared: SessionComparison) -> str:
    """Render the comparison in GitHub's Markdown."""
    return render(report(compared))


def report(compared: SessionComparison, columns: Callable[[str], Columns] = full_columns) -> ComparisonReport:
    """Collect the contents of each section. ``columns`` maps a session's letter to its table's columns."""
    chosen = decision.choices(compared)
    files = " ".join(shell_word(f"{side.file}.json") for side in compared.sides)
    return ComparisonReport(
        title=listed([side.name for side in compared.sides]),
        sessions=[
            _session(letter, side.name, when(side.session.start)) for letter, side in lettered(compared.sides)
        ],
        decision=decision.sentences(compared),
        choices=decision.choice_table(chosen),
        interpretation=interpretation(compared),
        caveats=caveats(compared),
        reading=READING,
        against=[_block(against, columns) for against in compared.against],
        systems=systems.side_by_side(compared),
        differences=systems.differing(compared),
        alike=systems.no_differences_text(compared),
        silence=systems.unrecorded_text(compared),
        command=f"benchtui compare {files} --format md",
        setups=_setups(compared),
        limitations=limitations(compared),
    )


def row_markdown(against: PairwiseComparison, row: AlignedCase) -> str:
    """Render one case as a single-row table in GitHub's Markdown."""
    from benchtui.sessions.text.tables import markdown as render_markdown  # imports pandas when called

    shown = _table(against, full_columns, [row])
    return f"{render_markdown(shown)}\n" if shown else ""


def _table(
    against: PairwiseComparison, columns: Callable[[str], Columns], rows: Iterable[AlignedCase]
) -> Table | None:
    """Return the table of the rows with a pair. Its titles use the task's word for samples."""
    pairs = sorted(pair_rows(against, rows), key=_change, reverse=True)
    task = task_of([pair_row.pair.base for pair_row in pairs])
    return table(in_unit(columns(against.new_letter), task), pairs)


def _change(row: PairRow) -> float:
    """Return how far a ratio is from 1, to show the largest changes first."""
    value = row.pair.ratio.value if row.pair.ratio else 0.0
    return abs(log(value)) if value > 0 else 0.0


def _session(letter: str, name: str, measured: str) -> str:
    role = " (base)" if letter == LETTERS[0] else ""
    return f"{letter}{role}: {name}. {measured}."


def _block(against: PairwiseComparison, columns: Callable[[str], Columns]) -> Block:
    whole = _table(against, columns, against.rows)
    pairing = systems.pairing(against)
    shown, same = without_equal(whole, whole.titles.index("Verdict") + 1) if whole else (None, [])
    return Block(
        title=f"{new_name(against)} against {base_name(against)}",
        lead=" ".join(filter(None, (decision.tally(against), pairing))),
        table=shown,
        same=f"All rows: {', '.join(same)}." if same else "",
        explained=explained(against),
    )


def _setups(compared: SessionComparison) -> list[Setup]:
    """Return instructions to rerun each sweep. Sessions with the same sweep share them."""
    by_sweep: dict[Markdown | None, tuple[list[str], tuple[Fact, ...]]] = {}
    foreign = []
    for letter, side in lettered(compared.sides):
        made = recipe(side.session)
        if made:
            by_sweep.setdefault(made.sweep, ([], made.facts))[0].append(letter)
        elif reason := no_recipe_reason(side.session):
            foreign.append(Setup(((letter, reason),), None))
    sweeps = [
        Setup(((f"Sweep of {listed(letters)}", dict(facts).get("Command") or dict(facts)["Sweep"]),), sweep)
        for sweep, (letters, facts) in by_sweep.items()
    ]
    return [*sweeps, *foreign]
