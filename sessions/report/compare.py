"""Comparison report: the sum and what would decide it; then cases, differences and systems."""

from collections.abc import Callable, Iterable, Iterator

from benchtui.sessions.compare.align import (
    LETTERS,
    AlignedCase,
    PairwiseComparison,
    SessionComparison,
    by_change,
)
from benchtui.sessions.compare.system_facts import Fact
from benchtui.sessions.explain.cases import explained_cases
from benchtui.sessions.report.compare_columns import Columns, full_columns, pair_rows
from benchtui.sessions.report.comparison import decision, systems
from benchtui.sessions.report.comparison.caveats import caveats, limitations
from benchtui.sessions.report.comparison.interpretation import interpretation
from benchtui.sessions.report.comparison.naming import base_name, lettered, new_name
from benchtui.sessions.report.content import Code, Content, Section, items, render, section
from benchtui.sessions.report.document import when
from benchtui.sessions.report.explain import MOST_CASES, difference_section
from benchtui.sessions.report.overview.results import without_equal
from benchtui.sessions.report.reproduce import no_recipe_reason, recipe
from benchtui.sessions.sanitize import shell_word
from benchtui.sessions.stats.results import task_of
from benchtui.sessions.text import tables
from benchtui.sessions.text.formatting import listed
from benchtui.sessions.text.tables import Table, in_unit, table

OPEN_SECTIONS = ("Decision", "Cases", "What differs", "Interpretation", "Best session for each need", "Caveats")
"""Sections that a page doesn't collapse: the answer, the cases, and what may explain them."""
READING = "A ratio is the speed relative to A: above 1, it is faster than A."


def markdown(compared: SessionComparison) -> str:
    """Render the comparison in GitHub's Markdown."""
    return render(report(compared))


def report(compared: SessionComparison, columns: Callable[[str], Columns] = full_columns) -> Section:
    """Collect the contents of each section. ``columns`` maps a session's letter to its table's columns."""
    sections = (
        section("Decision", _sentences(decision.sentences(compared))),
        section("Cases", *(_pair(against, columns) for against in compared.against), lead=READING),
        section("What differs", *_differences(compared)),
        section("Interpretation", interpretation(compared)),
        section("Best session for each need", decision.choice_table(compared)),
        section("Caveats", items(caveats(compared), quoted=True)),
        section("Systems", systems.side_by_side(compared)),
        section("How to reproduce", *_how_to_reproduce(compared)),
        section("Limitations", _sentences(limitations(compared))),
    )
    content = (_sentences(_sessions(compared)), *sections)
    title = f"Comparison: {listed([side.name for side in compared.sides])}"
    return Section(title, tuple(filter(None, content)))


def case_table(
    against: PairwiseComparison, columns: Callable[[str], Columns], rows: Iterable[AlignedCase]
) -> Table | None:
    """Return the rows with a pair, the largest change first. Titles have the task's word for samples."""
    pairs = pair_rows(by_change(rows))
    task = task_of([pair_row.pair.base for pair_row in pairs])
    return table(in_unit(columns(against.new_letter), task), pairs)


def row_markdown(against: PairwiseComparison, row: AlignedCase) -> str:
    """Render one case as a single-row table in GitHub's Markdown."""
    shown = case_table(against, full_columns, [row])
    return f"{tables.markdown(shown)}\n" if shown else ""


def _sentences(texts: Iterable[str]) -> Content | None:
    return items(("", text) for text in texts)


def _sessions(compared: SessionComparison) -> Iterator[str]:
    for letter, side in lettered(compared.sides):
        role = " (base)" if letter == LETTERS[0] else ""
        yield f"{letter}{role}: {side.name}. {when(side.session.start)}."


def _pair(against: PairwiseComparison, columns: Callable[[str], Columns]) -> Section | None:
    """Return the cases of a session and the base, and the profiles of those that have some in both."""
    whole = case_table(against, columns, against.rows)
    shown, same = without_equal(whole, whole.titles.index("Verdict") + 1) if whole else (None, [])
    return section(
        f"{new_name(against)} against {base_name(against)}",
        systems.pairing(against),
        shown,
        f"All rows: {', '.join(same)}." if same else None,
        *explained(against),
    )


def _differences(compared: SessionComparison) -> tuple[Content | None, ...]:
    differing = systems.differing(compared)
    if differing is None:
        return (systems.no_differences_text(compared),)
    return differing, systems.unrecorded_text(compared)


def _how_to_reproduce(compared: SessionComparison) -> list[Content | None]:
    """Return the command, and how to rerun each sweep. Sessions with the same sweep share them."""
    files = " ".join(shell_word(f"{side.file}.json") for side in compared.sides)
    by_sweep: dict[Code | None, tuple[list[str], dict[str, str]]] = {}
    texts: list[Fact] = [("Comparison", f"benchtui compare {files} --format md")]
    for letter, side in lettered(compared.sides):
        if made := recipe(side.session):
            facts, sweep = made
            by_sweep.setdefault(sweep, ([], dict(facts)))[0].append(letter)
        elif reason := no_recipe_reason(side.session):
            texts.append((letter, reason))
    content: list[Content | None] = []
    for sweep, (letters, named) in by_sweep.items():
        texts.append((f"Sweep of {listed(letters)}", named.get("Command") or named["Sweep"]))
        content += [items(texts), sweep]
        texts = []
    return [*content, items(texts)]


def explained(against: PairwiseComparison) -> list[Section | None]:
    """Return a section for each case with a profile in both sessions, up to ``MOST_CASES``."""
    base, new = (
        {case.case.index: case for case in explained_cases(side.session)}
        for side in (against.base, against.new)
    )
    parts = []
    for row in against.compared:
        if row.base and row.new and row.base.index in base and row.new.index in new:
            name = row.case.name
            names = (f"{LETTERS[0]}, {name}", f"{against.new_letter}, {name}")
            title = f"Where the difference comes from: {name}"
            parts.append(difference_section(title, base[row.base.index], new[row.new.index], names))
    return parts[:MOST_CASES]
