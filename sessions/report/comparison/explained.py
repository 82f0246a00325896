"""Cases that are explained in both sessions: the difference between their steps, by family."""

from benchtui.sessions.compare.align import LETTERS, PairwiseComparison
from benchtui.sessions.explain.cases import explained_cases
from benchtui.sessions.report.comparison.naming import place
from benchtui.sessions.report.content import Section
from benchtui.sessions.report.explain import MOST_CASES, difference_section


def explained(against: PairwiseComparison) -> list[Section | None]:
    """Return a section for each case with a profile in both sessions, up to ``MOST_CASES``."""
    base, new = (
        {case.case.index: case for case in explained_cases(side.session)}
        for side in (against.base, against.new)
    )
    letters = LETTERS[0], against.new_letter
    parts = []
    for row in against.compared:
        if row.base and row.new and row.base.index in base and row.new.index in new:
            name = place(against, row)
            names = (f"{letters[0]}, {name}", f"{letters[1]}, {name}")
            title = f"Where the difference comes from: {name}"
            parts.append(difference_section(title, base[row.base.index], new[row.new.index], names))
    return parts[:MOST_CASES]
