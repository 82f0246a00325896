"""Lines of the Why page: sentences, the step as one bar by family, and the most expensive operators."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from rich.cells import cell_len

from benchtui.sessions.explain.cases import FAMILIES, SHOWN_KERNELS, ExplainedCase
from benchtui.sessions.explain.difference import CaseDifference
from benchtui.sessions.explain.finding import Finding
from benchtui.sessions.explain.sentences import (
    device_sentence,
    gap_sentences,
    misfit_sentence,
    no_finding_sentence,
    profiling_notes,
    step_sentence,
)
from benchtui.sessions.explain.tables import (
    difference_tables,
    families_table,
    kernels_table,
    memory_facts,
    memory_table,
    parts_table,
    places_table,
)
from benchtui.sessions.explain.trials import Trial, trial_sentence
from benchtui.sessions.profiles import FamilyName
from benchtui.sessions.text.formatting import capitalized, number
from benchtui.sessions.text.tables import Table
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.bars import bar
from benchtui.tui.drawing.format import clean, fit
from benchtui.tui.drawing.styled_text import BLANK, Line, Span, crop, hanging, line, side_by_side

WIDE = 140
"""Minimum width for two columns, in cells."""
BETWEEN = 3
MINI_BAR = 12
LEAST_NAME, MOST_TITLE = 16, 14
"""Minimum width of the names of rows, in cells, and maximum width of the title of numbers."""
WIDE_KERNELS = 25
"""Number of operators shown next to the families, where there is room for more than below them."""
_COLORS: dict[FamilyName, str] = {
    "matmul": "line0",
    "attention": "line1",
    "elementwise": "line2",
    "gather": "line3",
    "copy": "line4",
    "optimizer": "soft",
    "collective": "accent",
    "tokenizer": "bright",
    "input": "plain",
    "compile": "accent",
    "other": "faint",
    "python": "muted",
    "wait": "bad",
}
"""Role of each family's color. The legend names them, so that nothing depends on color alone."""
_BY_TITLE = {title: family for family, title in FAMILIES.items()}
NO_FAMILIES: Mapping[str, FamilyName] = {}
_CONFIDENCE = {"high": "good", "medium": "warning", "low": "muted"}


class CaseStatus(msgspec.Struct, frozen=True):
    """A case of the page, and what is known about its profile."""

    name: str
    number: int
    """Number of the case, from 1."""
    session: str = ""
    """Name of its session, if the page shows cases of two."""
    case: ExplainedCase | None = None
    """None without a profile."""
    progress: str = ""
    """Progress of profiling; empty if none is running."""
    problem: str = ""
    """Why there is no profile; empty if that isn't known."""

    @property
    def label(self) -> str:
        """Short name of the case."""
        return f"{self.session} case {self.number}" if self.session else f"case {self.number}"


class WhyView(msgspec.Struct, frozen=True):
    """Everything that the page shows."""

    case: CaseStatus
    base: CaseStatus | None = None
    """Case that it is compared with."""
    findings: tuple[Finding, ...] = ()
    gap: CaseDifference | None = None
    """None unless both have a profile."""
    trials: tuple[Trial, ...] = ()
    """Remedies of the findings, with the measured gain of those that were tried."""
    trying: str = ""
    """Progress of trying the remedies, or why none was tried."""


def why_lines(view: WhyView, width: int, symbols: Symbols) -> list[Line]:
    """Render the page's content."""
    sides = [side for side in (view.base, view.case) if side is not None]
    lines = [*_sentences(view, width, symbols)]
    explained = [side for side in sides if side.case]
    if explained:
        lines += [BLANK, *_bars(explained, width, symbols, labeled=view.base is not None)]
    if view.gap and view.base:
        return [*lines, BLANK, *_gap(view.gap, (view.base.label, view.case.label), width, symbols)]
    if view.case.case:
        lines += [BLANK, *_one_case(view.case.case, width, symbols)]
    return lines


def _sentences(view: WhyView, width: int, symbols: Symbols) -> Iterator[Line]:
    for side in (view.case, view.base):
        if side is not None and (side.case is None or side.progress or side.problem):
            yield from _status(side, width)
    if view.gap:
        names = (view.base.label, view.case.label) if view.base else None
        for sentence in gap_sentences(view.gap, names):
            yield from _wrapped(sentence, width, (f"{symbols.chosen} ", "accent"))
    yield from _findings(view, width, symbols)
    yield from _wrapped(view.trying, width, role="accent")
    if (case := view.case.case) and not view.gap:
        for note in profiling_notes(case):
            yield from _wrapped(note, width, (f"{symbols.flag} ", "warning"), role="muted")


def _findings(view: WhyView, width: int, symbols: Symbols) -> Iterator[Line]:
    """Render each finding, or that there is none; first that the breakdown isn't the measured step's."""
    if (case := view.case.case) and not view.gap and (misfit := misfit_sentence(case)):
        yield from _wrapped(misfit, width, (f"{symbols.flag} ", "bad"))
    before, sign = (f"{view.case.label}: ", symbols.dot) if view.gap else ("", symbols.chosen)
    for finding in view.findings:
        text = f"{before}{finding.sentence} [{finding.confidence} confidence]"
        text = text.replace("µs", "us") if symbols.about.isascii() else text
        yield from _wrapped(text, width, (f"{sign} ", _CONFIDENCE[finding.confidence]))
        for trial in view.trials:
            if trial.finding == finding and (tried := trial_sentence(trial)):
                yield from _wrapped(tried, width, ("  ", "plain"), role="accent")
    if view.case.case and not view.gap and not view.findings and (why := no_finding_sentence(view.case.case)):
        yield from _wrapped(f"{capitalized(why)}.", width, role="muted")


def _status(side: CaseStatus, width: int) -> Iterator[Line]:
    """Render the progress of profiling a case, or why it has no profile or no new one."""
    if side.progress:
        yield from _wrapped(f"{side.label}: {side.progress}", width, role="accent")
        yield line(("No measured number changes. You can leave this page in the meantime.", "muted"))
    else:
        lacks = "has no new profile" if side.case else "has no profile"
        problem = clean(side.problem or "not profiled yet")
        yield from _wrapped(f"{side.label} {lacks}: {problem}", width, role="strong")


def _wrapped(text: str, width: int, sign: Span = ("", "plain"), role: str = "plain") -> list[Line]:
    return hanging(sign, clean(text), width, role) if text else []


def _bars(sides: Sequence[CaseStatus], width: int, symbols: Symbols, *, labeled: bool) -> list[Line]:
    """Render each step as one bar by family, on one scale, with the names of its larger parts below."""
    cases = [side.case for side in sides if side.case]
    most_ms = max(case.profile.step_ms for case in cases) or 1.0
    label = max(len(side.label) for side in sides) + 2 if labeled else 0
    lines = []
    for side, case in zip(sides, cases, strict=True):
        after = f" {number(case.profile.step_ms)} ms"
        room = max(width - label - len(after), 10)
        spans: list[Span] = [(side.label.ljust(label)[:label], "muted")] if label else []
        sizes = _sizes(case, room * case.profile.step_ms / most_ms)
        parts = [(_fill(family, symbols) * size, _COLORS[family]) for family, size in sizes.items()]
        names = [(_short_name(family, size).ljust(size), _COLORS[family]) for family, size in sizes.items()]
        lines += [line(*spans, *parts, (after, "bright")), line((" " * label, "plain"), *names)]
    return lines


def _sizes(case: ExplainedCase, width: float) -> dict[FamilyName, int]:
    """Return the cells of each family in a bar of this width, in the order of all families."""
    sizes: dict[FamilyName, int] = {}
    done, drawn = 0.0, 0
    for family in FAMILIES:
        done += case.share(family) * width
        sizes[family] = max(0, min(round(done), round(width)) - drawn)  # the shares in a file may be invalid
        drawn += sizes[family]
    return sizes


def _short_name(family: FamilyName, size: int) -> str:
    """Return as many words of a family's name as fit in its part of a bar; empty if none do."""
    words = FAMILIES[family].split()
    fitting = (" ".join(words[:amount]) for amount in range(len(words), 0, -1))
    return next((name for name in fitting if len(name) < size and not name.endswith(" and")), "")


def _fill(family: FamilyName, symbols: Symbols) -> str:
    return symbols.fills[list(FAMILIES).index(family) % len(symbols.fills)]


def _one_case(case: ExplainedCase, width: int, symbols: Symbols) -> list[Line]:
    if width < WIDE:
        parts = _families(case, width, symbols), _kernels(case, width, symbols), _rest(case, width, symbols)
        return [row for part in parts for row in (*part, BLANK)][:-1]
    left_width = (width - BETWEEN) * 2 // 5
    first = [*_families(case, left_width, symbols), BLANK, *_rest(case, left_width, symbols)]
    second = _kernels(case, width - BETWEEN - left_width, symbols, WIDE_KERNELS)
    return side_by_side([first, second], left_width + BETWEEN)


def _families(case: ExplainedCase, width: int, symbols: Symbols) -> list[Line]:
    """Render the parts of a step without the profiler, if it has several, then the families."""
    parts = _grid(parts_table(case), width, symbols, bars=list(case.part_shares.values()))
    shares = [case.share(family.family) for family in case.profile.families]
    families = _grid(families_table(case), width, symbols, families=_BY_TITLE, bars=shares)
    return [*parts, *([BLANK] if parts else []), *families]


def _kernels(case: ExplainedCase, width: int, symbols: Symbols, most: int = SHOWN_KERNELS) -> list[Line]:
    families = {kernel.title: kernel.family for kernel in case.profile.kernels}
    return _grid(kernels_table(case, most, family=False), width, symbols, families=families)


def _rest(case: ExplainedCase, width: int, symbols: Symbols) -> Iterator[Line]:
    """Yield lines of code, memory, the compiler's graph breaks and recompiles, and how the step was timed."""
    memory = [mb for _, mb in memory_facts(case)]
    bars = [mb / max(memory) for mb in memory]
    for block in (
        _grid(places_table(case), width, symbols),
        _grid(memory_table(case), width, symbols, bars=bars),
    ):
        yield from (*block, BLANK) if block else ()
    for text in _notes(case):
        yield from _wrapped(text, width, role="muted")


def _notes(case: ExplainedCase) -> Iterator[str]:
    for graph_break in case.profile.graph_breaks:
        yield f"Graph break at {graph_break.where}: {graph_break.reason}"
    for again in case.profile.recompiles:
        yield f"Recompile of {again.where}: {again.guard}"
    yield f"Step: {step_sentence(case)}."
    yield f"{capitalized(device_sentence(case))}."
    for what, why in case.profile.absent.items():
        yield f"No {what.replace('_', ' ')}: {why}"


def _gap(gap: CaseDifference, names: tuple[str, str], width: int, symbols: Symbols) -> list[Line]:
    """Render families and operators of two cases side by side, with the gap. ``names`` are base and new."""
    room = width if width < WIDE else (width - BETWEEN) // 2
    kernels = (*gap.base.profile.kernels, *gap.new.profile.kernels)
    marked = _BY_TITLE | {kernel.title: kernel.family for kernel in kernels}
    tables = difference_tables(gap, names)
    first, second = (_grid(table, room, symbols, families=marked) for table in tables)
    return [*first, BLANK, *second] if width < WIDE else side_by_side([first, second], room + BETWEEN)


def _grid(
    shown: Table | None,
    width: int,
    symbols: Symbols,
    *,
    families: Mapping[str, FamilyName] = NO_FAMILIES,
    bars: Sequence[float] = (),
) -> list[Line]:
    """Render a table whose first column names its rows. The last columns are left out if they don't fit.

    ``families`` has the families of rows that get a mark. ``bars`` are shares, drawn at the end of each row if
    there is room beside whole names.
    """
    if shown is None:
        return []
    named = zip(map(clean, shown.titles), shown.right, strict=True)
    titles = [
        fit(name, MOST_TITLE, symbols) if right and len(name) > MOST_TITLE else name for name, right in named
    ]
    cells = [titles, *([clean(cell or "") for cell in row] for row in shown.rows)]
    sizes = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    numbers = sum(size + 2 for size, right in zip(sizes[1:], shown.right[1:], strict=True) if right)
    natural, room = sizes[0], width - 2 - numbers
    bars = bars if natural + MINI_BAR + 2 <= room else ()
    sizes[0], right = min(natural, max(room, LEAST_NAME)), shown.right
    while len(sizes) > 2 and _narrowest(sizes, cells[0][-1], right[-1]) > width:
        right, sizes, cells = right[:-1], sizes[:-1], [row[:-1] for row in cells]
    sizes[0] = min(natural, max(sizes[0], width - 2 - sum(size + 2 for size in sizes[1:])))
    head = "".join(_aligned(right, cells[0], sizes, symbols)).rstrip()
    lines = [crop([(f"  {head}", "muted")], width, symbols)]
    for place, row in enumerate(cells[1:]):
        *texts, last = _aligned(right, row, sizes, symbols)
        family = families.get(row[0])
        mark = (f"{_fill(family, symbols)} ", _COLORS[family]) if family else ("  ", "plain")
        spans = [(text, _role(at, text)) for at, text in enumerate([*texts, last if bars else last.rstrip()])]
        color = _COLORS[family] if family else "soft"
        drawn = [("  ", "plain"), *bar(bars[place], MINI_BAR, symbols, color)] if bars else []
        lines.append(crop([mark, *spans, *drawn], width, symbols))
    return lines


def _narrowest(sizes: Sequence[int], title: str, right: bool) -> int:
    """Return the minimum width of a table with its marks. Only words of the last column may be cropped."""
    return sum(sizes[:-1]) + 2 * len(sizes) + (sizes[-1] if right else cell_len(title))


def _aligned(right: Sequence[bool], row: Sequence[str], sizes: Sequence[int], symbols: Symbols) -> list[str]:
    first, *others = row
    texts = [fit(first, sizes[0], symbols).ljust(sizes[0])]
    for text, size, numeric in zip(others, sizes[1:], right[1:], strict=True):
        blank = " " * (size - cell_len(text))
        texts.append(f"  {blank}{text}" if numeric else f"  {text}{blank}")
    return texts


def _role(column: int, text: str) -> str:
    """Return the role of a cell: signed times are gains and losses."""
    sign = text.strip()[:1]
    return "plain" if column == 0 else "bad" if sign == "+" else "good" if sign == "-" else "bright"
