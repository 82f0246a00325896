"""Answer of a session: what to run so far, or at the end, and what stays open. Independent of Textual."""

from collections.abc import Sequence

import msgspec

from benchtui.themes.symbols import UNICODE, Symbols
from benchtui.tui.drawing.bars import ratio_bar
from benchtui.tui.drawing.styled_text import (
    GAP,
    Line,
    Span,
    crop,
    fitting_facts,
    hanging,
    line,
    side_by_side,
    width_of,
    wrap_facts,
)
from benchtui.tui.widgets.breakpoints import HIGH, USUAL_HEIGHT

LABEL_CELLS = 14
"""Width of what a line is about, with the indent before it."""
LEAST_COLUMN, COLUMN_GAP = 52, 2
"""Minimum width of works side by side, and the gap between them, in cells."""
HEAD_LINES = 2
"""Lines of the case to run and its figures."""
SURE = "confidence"
"""What the fact is about that says how certain the case to run is."""
WHOLE = 10_000
"""Width at which no note is wrapped."""
RIVAL_BAR, LEAST_BAR, RIVAL_SPAN = 25, 9, 1.5
"""Width of a rival's bar, the least one, and the ratio at its right end."""
TWO_LINES_FROM = 6
"""Lines of a work from which its figures may take two of them."""
MOST_LINES = {True: {USUAL_HEIGHT: 12, HIGH: 16, 0: 8}, False: {USUAL_HEIGHT: 5, HIGH: 9, 0: 0}}
"""Maximum number of lines by terminal height: of the whole answer, and next to a case."""
LEAST_AT_END = 4
"""Lines next to a case of a session that is over, whose gauges aren't shown."""
PENDING = "base pending"
"""Stands in place of the ratio to a baseline that has no result yet."""

Fact = tuple[str, str]


class Rival(msgspec.Struct, frozen=True):
    """Case that may be better than the best one."""

    name: str
    text: str
    """How many times as good the best case is."""
    role: str
    bounds: tuple[float, float] | None
    """95% interval of that ratio."""


class WorkAnswer(msgspec.Struct, frozen=True):
    """Answer for the cases of one work."""

    name: str
    """Case to run."""
    figures: tuple[str, ...]
    """Throughput, ratio to the baseline and costs, most important first."""
    certainty: str
    """How certain it is that this case is the best, in a few words."""
    decided: bool
    facts: tuple[Fact, ...] = ()
    """Further facts by what they are about, most important first."""
    rivals: tuple[Rival, ...] = ()


class Answer(msgspec.Struct, frozen=True):
    """Snapshot of what a session says."""

    word: str
    """How the session ended; ``so far`` while it is running."""
    role: str
    about: str
    """Counts of cases, or what is measured now."""
    right: str
    """Duration, or what is left of the budget."""
    over: bool
    works: tuple[WorkAnswer, ...] = ()
    notes: tuple[Fact, ...] = ()
    """What is measured next and why, or what stays open; or why there is no answer."""
    note_role: str = "plain"
    keys: tuple[str, ...] = ()
    """Next steps with their keys, most important first."""


def answer_title(answer: Answer, height: int) -> tuple[list[Span], list[Span]]:
    """Return both ends of the title. Where there are no lines below it, it names the best case so far."""
    right: list[Span] = [(answer.right, "muted")]
    if height or not answer.works:
        return [(answer.word, answer.role), (f"  {answer.about}" if answer.about else "", "muted")], right
    first = answer.works[0]
    return [
        (f"{answer.word} ", answer.role if answer.over else "muted"),
        (first.name, "strong"),
        (f"  {first.figures[0]}", "plain"),
        (f"  {first.certainty.partition(',')[0]}", "good" if first.decided else "warning"),
        *[(f"  {text}", "muted") for text in first.figures[1:2] if text == PENDING],
    ], right


def answer_height(answer: Answer, width: int, height: int, *, whole: bool) -> int:
    """Return how many lines an answer takes at a width in a terminal of a height: ``whole`` or in short."""
    limits = MOST_LINES[whole]
    most = limits[HIGH if height >= HIGH else USUAL_HEIGHT if height >= USUAL_HEIGHT else 0]
    most = max(most, LEAST_AT_END) if answer.over else most
    return min(most, len(answer_lines(answer, width, most, UNICODE)))


def answer_lines(answer: Answer, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the answers of all works, the most important lines of each, and what stays open.

    What stays open is cut to a line each if it would take the lines of the case to run and its figures. With
    several works, also if the confidence of all fits then; failing that, figures may share the case's line.
    """
    whole, brief = (_footer(answer, width, note_width) for note_width in (width, WHOLE))
    usual = brief[:height] if answer.works and len(whole) > height - HEAD_LINES else whole
    others = ((brief, False), (usual, True), (brief, True), (usual, False)) if len(answer.works) > 1 else ()
    for footer, tight in ((usual, False), *others):
        shown, sure = _works(answer.works, width, height - len(footer), symbols, tight=tight)
        if sure:
            break
    return [crop(pieces, width, symbols) for pieces in (*shown, *footer)]


def _works(
    works: Sequence[WorkAnswer], width: int, height: int, symbols: Symbols, *, tight: bool
) -> tuple[list[Line], bool]:
    """Render works with equal shares of the lines; return whether the confidence of all of them is shown."""
    across = max(1, min(len(works), (width + COLUMN_GAP) // (LEAST_COLUMN + COLUMN_GAP)))
    room = (width + COLUMN_GAP) // across - COLUMN_GAP
    rows = [works[start : start + across] for start in range(0, len(works), across)]
    shown: list[Line] = []
    sure = True
    for place, row in enumerate(rows):
        room_left = height - len(shown)
        share = max(1, room_left // (len(rows) - place)) if room_left > 0 else 0
        blocks = [_block(work, room, share, symbols, tight)[:share] for work in row]
        sure &= all(set(_confidence(work, room)) <= set(block) for work, block in zip(row, blocks, strict=True))
        cropped = [[crop(pieces, room, symbols) for pieces in block] for block in blocks]
        shown += side_by_side(cropped, room + COLUMN_GAP)
    return shown, sure


def _confidence(work: WorkAnswer, width: int) -> list[Line]:
    role = "good" if work.decided else "warning"
    return [
        drawn for about, text in work.facts if about == SURE for drawn in _wrapped(about, text, width, role)
    ]


def _block(work: WorkAnswer, width: int, most: int, symbols: Symbols, tight: bool) -> list[Line]:
    """Render the case to run with its figures, and below the facts that fit.

    The figures are in the line of the case if ``most`` is 1, or if that is ``tight`` and the first one fits.
    """
    sign = symbols.best if work.decided else symbols.about
    head: list[Span] = [(f" {sign} ", "accent"), (work.name, "strong")]
    figures: list[list[Span]] = [[(text, "plain" if at else "bright")] for at, text in enumerate(work.figures)]
    gap = (GAP, "plain")
    beside, below = (fitting_facts(figures, width - taken - len(GAP)) for taken in (width_of(head), 0))
    lines = wrap_facts(figures, width - len(GAP)) if most >= TWO_LINES_FROM else [below]
    sure = _confidence(work, width)
    joined = tight and beside[:1] == below[:1] and most < 1 + len(lines) + len(sure)
    if most == 1 or joined or beside == below == lines[0]:
        heads = [line(*head, gap, *beside)]
    else:
        heads = [line(*head), *(line(gap, *text) for text in lines)]
    lines = heads
    for about, fact in work.facts:
        wrapped = sure if about == SURE else _wrapped(about, fact, width, "plain")
        lines = [*lines, *wrapped] if len(lines) + len(wrapped) <= most else lines
    return [*lines, *(_rival(rival, width, symbols) for rival in work.rivals)]


def _rival(rival: Rival, width: int, symbols: Symbols) -> Line:
    """Render a rival. The bar is shortened, or left out, rather than the ratio with its interval."""
    low, high = rival.bounds or (1.0, 1.0)
    room = min(RIVAL_BAR, width - LABEL_CELLS - len(rival.text) - 1)
    drawn = low > 0 and room >= LEAST_BAR
    bar = ratio_bar((low, high), RIVAL_SPAN, room, symbols, rival.role) if drawn else []
    return line(
        (" " * LABEL_CELLS, "plain"), *bar, (f" {rival.text}", rival.role), (f"{GAP}{rival.name}", "plain")
    )


def _wrapped(about: str, text: str, width: int, role: str) -> list[Line]:
    """Render a fact with its label."""
    return hanging((f"   {about:<{LABEL_CELLS - 3}}", "muted"), text, width, role)


def _footer(answer: Answer, width: int, note_width: int) -> list[Line]:
    notes = [
        text for about, fact in answer.notes for text in _wrapped(about, fact, note_width, answer.note_role)
    ]
    keys: list[list[Span]] = [[(key, "muted")] for key in answer.keys]
    below = [line((" " * 3, "plain"), *pieces) for pieces in wrap_facts(keys, width - 3)[:1] if pieces]
    return [*notes, *below]
