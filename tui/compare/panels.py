"""Comparison panels: sessions, differences, summary, and the selected pair. Independent of Textual."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

import msgspec

import benchtui.tui.library.screen  # noqa: F401 -- defines the keys of the Library, which the hint names
from benchtui.sessions.compare.align import LETTERS, ComparedSession, PairwiseComparison, SessionComparison
from benchtui.sessions.compare.environment_diff import missing_groups
from benchtui.sessions.report.compare_columns import own_marks
from benchtui.sessions.report.comparison.systems import no_differences_text, pairing, unrecorded_text
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.verdicts import Ratio, Verdict
from benchtui.sessions.text.wording import ratio_value, verdict_reason
from benchtui.themes.symbols import Symbols
from benchtui.tui.compare.distributions import Times, overlay_lines
from benchtui.tui.compare.rows import VERDICTS, CompareEntry, arrangement, interval, times, why_unpaired
from benchtui.tui.drawing.format import clean, fit, memory, significant
from benchtui.tui.drawing.styled_text import BLANK, Line, Span, crop, justify, line, width_of, wrap_line
from benchtui.tui.shell.keymap import key
from benchtui.tui.table.case_names import CaseNames
from benchtui.tui.table.layout import TableRow
from benchtui.tui.widgets.long_list import SCROLL_BAR

LABEL = 18
"""Width of a difference's label in cells."""
ROWS_PER_DECISION_LINE = 12
"""Number of screen rows required per line of the decision."""
MOST_REASON = 3
"""Maximum number of lines for the reason of a verdict."""


class ComparisonSummary(msgspec.Struct, frozen=True):
    """Snapshot of the summary: decision, verdict counts, filter, and sort order."""

    compared: SessionComparison
    decision: tuple[str, ...]
    """Setup to run, in the report's words: a sentence per compared session."""
    shown: int
    all: int
    words: str
    order: str


def title_lines(
    names: CaseNames, letter: str, unit: str, width: int, height: int, symbols: Symbols
) -> list[Line]:
    """Render the column titles of the case table, for the new session's letter and the unit of samples."""
    columns = arrangement(width - SCROLL_BAR, names, letter, unit)
    cells = {column.key: (column.title, "muted") for column in columns.columns}
    return [columns.line(TableRow(("case", "muted"), cells), width, symbols)]


def side_lines(compared: SessionComparison, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render each session with its machine."""
    lines = []
    for letter, side in zip(LETTERS, compared.sides, strict=False):
        role = ("base", "accent") if letter == LETTERS[0] else ("    ", "muted")
        head: list[Span] = [(f"{letter} ", "accent"), role, (f"  {clean(side.name)}", "strong")]
        lines.append(crop([*head, (f"   {_machine(side, symbols)}", "muted")], width, symbols))
    return _truncate(lines, height, "sessions")


def difference_lines(compared: SessionComparison, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the differences between the sessions, machine first, as many as fit."""
    rows = compared.differences
    if not rows:
        role = "plain" if any(missing_groups(side.session) for side in compared.sides) else "good"
        return [crop([(no_differences_text(compared), role)], width, symbols)]
    if height == 1:
        names = ", ".join(clean(row.what) for row in rows)
        return [justify([("differs  ", "muted"), (names, "plain")], [_shows_all()], width, symbols)]
    share = max(8, (width - LABEL - 10) // len(compared.sides) - 2)
    title = [("differs".ljust(LABEL + 10), "muted")]
    head = line(
        *title, *((fit(letter, share, symbols) + "  ", "muted") for letter in LETTERS[: len(compared.sides)])
    )
    lines = [head]
    for row in rows:
        values = [clean(value) if value is not None else symbols.absent for value in row.values]
        cells = ((fit(value, share, symbols) + "  ", "plain") for value in values)
        label = fit(clean(row.what), LABEL - 1, symbols)
        lines.append(line((f"{row.group:<10}", "muted"), (f"{label} ", "bright"), *cells))
    return _truncate(lines, height, _shows_all()[0])


def all_differences(compared: SessionComparison, decision: Sequence[str], width: int) -> list[Line]:
    """Render the decision and all differences in full, one entry per session."""
    lines = [line(("Decision", "strong")), *_decision_lines(decision, width), BLANK]
    if not compared.differences:
        return [*lines, line((no_differences_text(compared), "plain"))]
    lines += [line(("What differs", "strong"))]
    for row in compared.differences:
        lines += [BLANK, line((f"{row.group}: ", "muted"), (clean(row.what), "bright"))]
        for letter, value in zip(LETTERS, row.values, strict=False):
            text = "not recorded" if value is None else clean(value)
            room = max(10, width - 6)
            parts = [text[at : at + room] for at in range(0, max(len(text), 1), room)]
            leads = (f"  {letter}  ", *["     "] * (len(parts) - 1))
            lines += [line((lead, "accent"), (part, "plain")) for lead, part in zip(leads, parts, strict=True)]
    return [*lines, BLANK, line((clean(text), "plain"))] if (text := unrecorded_text(compared)) else lines


def summary_lines(summary: ComparisonSummary, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the decision, the number of cases per verdict, and the table's filter and sort order.

    A decision that is too long for the height is cut; its page has all of it.
    """
    pieces: list[Span] = []
    for against in summary.compared.against:
        pieces += [(f"{against.new_letter} against A  ", "muted"), *_counts(against)]
    if len(summary.compared.against) == 1:  # there is no room for several
        pieces += _together(summary.compared.against[0])
    shown = f'{summary.shown} of {summary.all} with "{clean(summary.words)}"   ' if summary.words else ""
    right = [(f"{shown}by {summary.order}", "accent" if summary.words else "muted")]
    fits = summary.words or width_of(pieces) + width_of(right) < width
    lines = [justify(pieces, right, width, symbols)] if fits else wrap_line(pieces, width)
    if ignored := " ".join(filter(None, map(pairing, summary.compared.against))):
        lines.append(crop([(clean(ignored), "warning")], width, symbols))
    decision = _decision_lines(summary.decision, width)
    room = max(height - len(lines), 1)
    if len(decision) > room:
        cut = line(*decision[room - 1], (f" {symbols.ellipsis}", "plain"))
        decision = [*decision[: room - 1], justify(cut, [_shows_all()], width, symbols)]
    return [*decision, *lines][:height]


def summary_height(summary: ComparisonSummary, width: int, rows: int) -> int:
    """Return the number of lines for a summary on a screen with ``rows`` rows."""
    ignored = any(against.ignored for against in summary.compared.against)
    return min(len(_decision_lines(summary.decision, width)), rows // ROWS_PER_DECISION_LINE) + 1 + ignored


def _shows_all() -> Span:
    return f"{key('compare.differences')} shows all", "muted"


def _decision_lines(decision: Sequence[str], width: int) -> list[Line]:
    parts = [part for sentence in decision for part in wrap(_for_screen(sentence), max(width, 20))]
    return [line((part, "bright")) for part in parts]


def detail_lines(entry: CompareEntry | None, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the selected pair: ratio, verdict, metrics of both sides, and step times on a common axis."""
    if entry is None:
        return []
    pair, letter = entry.row.pair, entry.against.new_letter
    if pair is None:
        return [line((entry.name, "strong")), line((why_unpaired(entry), "muted"))]
    verdict = VERDICTS[entry.row.verdict or Verdict.UNSURE]
    ratio, bounds = times(entry.row.ratio, symbols), interval(entry.row.ratio, symbols)
    text: list[Span] = [(f"{letter} is ", "muted"), (ratio, "strong"), (f" as fast ({bounds})  ", "muted")]
    text = [verdict] if ratio == symbols.absent else [*text, verdict]
    name: list[Span] = [(entry.name, "strong"), (f"   {letter}: {entry.other}" if entry.other else "", "muted")]
    head = justify(name, text, width, symbols)
    both = (("A", pair.base, "soft"), (letter, pair.new, "accent"))
    lines = [head, *(_metrics_line(*side, width, symbols) for side in both)]
    if entry.row.ratio:
        lines[1:1] = _reason_lines(entry.row.ratio, width, symbols)
    marks = own_marks(entry.row, pair, letter)
    if marks:
        lines.append(crop([(f"{symbols.flag} {_for_screen(marks)}", "warning")], width, symbols))
    return [*lines, *_steps(both, width, height - len(lines), symbols)]


def _reason_lines(ratio: Ratio, width: int, symbols: Symbols) -> list[Line]:
    word, role = VERDICTS[ratio.verdict]
    lead = f"{word[2:]}: "
    parts = wrap(_for_screen(verdict_reason(ratio)), max(width - len(lead), 20), break_long_words=False)
    whole = [*parts[: MOST_REASON - 1], " ".join(parts[MOST_REASON - 1 :])]
    leads = (lead, *[" " * len(lead)] * (MOST_REASON - 1))
    pairs = zip(leads, filter(None, whole), strict=False)
    return [crop([(head, role), (part, "plain")], width, symbols) for head, part in pairs]


def hint_lines(words: Sequence[tuple[str, str]]) -> list[Line]:
    """Render a status message, and how to select sessions to compare."""
    return [
        *(line(piece) for piece in words),
        BLANK,
        line(
            (key("app.library"), "accent"),
            ("  go to the Library, mark two sessions with ", "plain"),
            (key("library.mark"), "accent"),
        ),
        line(("   and compare them with ", "plain"), (key("library.compare"), "accent")),
        BLANK,
        line(("without the screen: ", "muted"), ("benchtui compare BASE NEW", "plain")),
    ]


def _for_screen(text: str) -> str:
    """Convert report text for the screen: ``x`` marks a ratio, since every terminal can show it."""
    return clean(text).replace(" ×", "x")


def _steps(both: Sequence[tuple[str, Result, str]], width: int, height: int, symbols: Symbols) -> list[Line]:
    timed = [
        Times(letter, result.case.measured.wall_ms, result.typical_ms, role)
        for letter, result, role in both
        if len(result.case.measured)
    ]
    if len(timed) < len(both):
        return [line(("no steps to plot: a session recorded none", "muted"))]
    return overlay_lines(timed, width, height, symbols)


def _metrics_line(letter: str, result: Result, role: str, width: int, symbols: Symbols) -> Line:
    spread = result.metrics.latency_ms
    name = "mean" if spread.median is None else "step"
    power_w = result.metrics.mean_power_w
    least, most = (significant(value, symbols) for value in (spread.least, spread.most))
    words = [
        f"n {spread.n:,}",
        f"{name} {significant(result.typical_ms, symbols)} ms",
        f"{least} to {most} ms" if spread.least is not None else "",
        f"{significant(result.metrics.samples_per_s, symbols)} {result.metrics.task.unit}",
        memory(result.case.peak_memory_mb, symbols) if result.case.peak_memory_mb is not None else "",
        f"{significant(power_w, symbols)} W" if power_w is not None else "",
    ]
    parts = [word for word in words if word]
    text = next((text for gap in ("   ", "  ") if len(text := gap.join(parts)) <= width - 3), " ".join(parts))
    return crop([(f"{letter}  ", role), (text, "plain")], width, symbols)


def _counts(against: PairwiseComparison) -> Iterator[Span]:
    for verdict, (word, role) in VERDICTS.items():
        if amount := against.count(verdict):
            yield (f"{amount} {word[2:]}  ", role)
    if lost := sum(row.lost for row in against.rows):
        yield (f"{lost} lost  ", "bad")
    if not against.compared:
        yield ("no case was measured in both sessions  ", "warning")


def _together(against: PairwiseComparison) -> Iterator[Span]:
    if (whole := against.overall) and whole.cases > 1:
        word, role = VERDICTS[whole.ratio.verdict]
        shown = ratio_value(whole.ratio)
        yield (f"all {f'{shown}x ' if shown else ''}{word[2:]}  ", role)


def _machine(side: ComparedSession, symbols: Symbols) -> str:
    start, runtime = side.session.start, side.session.runtime
    gpus = dict.fromkeys(gpu.name for gpu in start.host.gpus)
    words = [start.host.hostname, *gpus, f"torch {runtime.torch}" if runtime else None, start.created[:16]]
    return f" {symbols.dot} ".join(clean(word) for word in words if word)


def _truncate(lines: list[Line], height: int, rest: str) -> list[Line]:
    """Return as many lines as fit. If some are left out, the last line counts them."""
    if len(lines) <= height:
        return lines
    return [*lines[: height - 1], line((f"and {len(lines) - height + 1} more: {rest}", "muted"))]
