"""Lines of the Why page: sentences, the step as one bar by family, and the most expensive operators."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

import msgspec

from benchtui.sessions.explain.cases import FAMILIES, SHOWN_KERNELS, ExplainedCase
from benchtui.sessions.explain.difference import CaseDifference, Part
from benchtui.sessions.explain.sentences import (
    device_sentence,
    gap_sentences,
    misfit_sentence,
    no_finding_sentence,
    profiling_notes,
    step_sentence,
)
from benchtui.sessions.explain.tables import memory_facts, peak_text, rate_text, shown_places, signed
from benchtui.sessions.explain.trials import trial_sentence
from benchtui.sessions.profiles import FamilyName, KernelTime
from benchtui.sessions.text.formatting import capitalized, number, percent
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.bars import bar
from benchtui.tui.drawing.format import clean, fit
from benchtui.tui.drawing.styled_text import BLANK, Line, Span, crop, line, side_by_side
from benchtui.tui.explain.view import CaseStatus, WhyView

WIDE = 140
"""Minimum width for two columns, in cells."""
BETWEEN = 3
MINI_BAR = 12
REMAINDER = "not in the profiles"
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
    "tokenizer": "warning",
    "input": "warning",
    "compile": "accent",
    "other": "faint",
    "python": "muted",
    "wait": "bad",
}
"""Role of each family's color. The legend names them, so that nothing depends on color alone."""
_CONFIDENCE = {"high": "good", "medium": "warning", "low": "muted"}


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
    yield from _wrapped(view.trying, width, ("", "plain"), role="accent")
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
        yield from _wrapped(f"{capitalized(why)}.", width, ("", "plain"), role="muted")


def _status(side: CaseStatus, width: int) -> Iterator[Line]:
    """Render the progress of profiling a case, or why it has no profile or no new one."""
    if side.progress:
        yield from _wrapped(f"{side.label}: {side.progress}", width, ("", "plain"), role="accent")
        yield line(("No measured number changes. You can leave this page in the meantime.", "muted"))
    else:
        lacks = "has no new profile" if side.case else "has no profile"
        problem = clean(side.problem or "not profiled yet")
        yield from _wrapped(f"{side.label} {lacks}: {problem}", width, ("", "plain"), role="strong")


def _wrapped(text: str, width: int, sign: Span, role: str = "plain") -> Iterator[Line]:
    rows = wrap(clean(text), max(width - len(sign[0]), 20), break_on_hyphens=False)
    for place, row in enumerate(rows):
        yield line(sign if place == 0 else (" " * len(sign[0]), "plain"), (row, role))


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


def _mark(family: FamilyName, symbols: Symbols) -> Span:
    return f"{_fill(family, symbols)} ", _COLORS[family]


def _one_case(case: ExplainedCase, width: int, symbols: Symbols) -> list[Line]:
    if width < WIDE:
        return [
            *_parts(case, width, symbols),
            *_families(case, width, symbols),
            BLANK,
            *_kernels(case, width, symbols),
            *_rest(case, width, symbols),
        ]
    left_width = (width - BETWEEN) * 2 // 5
    right_width = width - BETWEEN - left_width
    first = [
        *_parts(case, left_width, symbols),
        *_families(case, left_width, symbols),
        *_rest(case, left_width, symbols),
    ]
    return side_by_side([first, _kernels(case, right_width, symbols, WIDE_KERNELS)], left_width + BETWEEN)


def _name_room(width: int) -> int:
    """Return the width of names in the tables of families and of memory."""
    return max(width - 2 - 12 - 8 - 9 - MINI_BAR - 1, 12)


def _parts(case: ExplainedCase, width: int, symbols: Symbols) -> Iterator[Line]:
    """Render the parts of a step without the profiler, before what they consist of; none for a single part."""
    room = _name_room(width)
    shares = case.part_shares
    if shares:
        yield crop([(f"  {'part':<{room}}{'ms':>12}{'%':>8}", "muted")], width, symbols)
    for name, share in shares.items():
        spans: list[Span] = [
            (f"  {fit(clean(name), room, symbols):<{room}}", "plain"),
            (f"{number(case.profile.parts_ms[name]):>12}", "bright"),
            (f"{percent(share, 1):>8}", "plain"),
            (" " * 10, "plain"),
            *bar(share, MINI_BAR, symbols, "soft"),
        ]
        yield crop(spans, width, symbols)
    if shares:
        yield BLANK


def _places(case: ExplainedCase, width: int, symbols: Symbols) -> Iterator[Line]:
    """Render the lines of code at which the main thread was found most often."""
    places = shown_places(case)
    if places:
        yield BLANK
        yield crop([("      %  line of code", "muted")], width, symbols)
    for place in places:
        text = f"{percent(place.share, 0):>7}  {place.where} ({place.activity})  {place.code}"
        yield crop([(clean(text), "plain")], width, symbols)


def _families(case: ExplainedCase, width: int, symbols: Symbols) -> list[Line]:
    room = _name_room(width)
    lines = [crop([(f"  {'family':<{room}}{'ms':>12}{'%':>8}{'calls':>9}", "muted")], width, symbols)]
    for family in case.profile.families:
        share = family.ms / case.profile.step_ms if case.profile.step_ms else 0.0
        calls = f"{family.launches:,.0f}" if family.launches else ""
        spans: list[Span] = [
            _mark(family.family, symbols),
            (f"{fit(FAMILIES[family.family], room, symbols):<{room}}", "plain"),
            (f"{number(family.ms):>12}", "bright"),
            (f"{percent(share, 1):>8}", "plain"),
            (f"{calls:>9} ", "muted"),
            *bar(share, MINI_BAR, symbols, _COLORS[family.family]),
        ]
        lines.append(crop(spans, width, symbols))
    return lines


def _kernels(case: ExplainedCase, width: int, symbols: Symbols, most: int = SHOWN_KERNELS) -> list[Line]:
    """Render the most expensive operators; their inputs and families where there is room."""
    numbers = 9 + 7 + 8 + 15 + 8
    room = max(width - numbers, 16)
    name = min(room, max((len(kernel.name) for kernel in case.profile.kernels[:SHOWN_KERNELS]), default=16) + 2)
    name = max(min(name, 48), 16)
    heading = f"{'operator or kernel':<{name}}{'ms':>9}{'%':>7}{'calls':>8}{'rate':>15}{'% peak':>8}"
    inputs = "  inputs" if width - name - numbers > 12 else ""
    lines = [crop([(heading + inputs, "muted")], width, symbols)]
    for kernel in case.profile.kernels[:most]:
        lines.append(crop(_kernel(case, kernel, name, symbols), width, symbols))
    return lines


def _kernel(case: ExplainedCase, kernel: KernelTime, name: int, symbols: Symbols) -> list[Span]:
    rate = case.rate(kernel)
    share = kernel.ms / case.profile.step_ms if case.profile.step_ms else 0.0
    return [
        (f"{fit(clean(kernel.name), name - 1, symbols):<{name}}", _COLORS[kernel.family]),
        (f"{number(kernel.ms):>9}", "bright"),
        (f"{percent(share, 1):>7}", "plain"),
        (f"{kernel.count:>8,.0f}", "muted"),
        (f"{rate_text(rate) or '':>15}", "plain"),
        (f"{peak_text(rate) or '':>8}", "plain"),
        (f"  {clean(kernel.shape or '')}", "muted"),
    ]


def _rest(case: ExplainedCase, width: int, symbols: Symbols) -> Iterator[Line]:
    """Yield the compiler's graph breaks and recompiles, memory, and how the step was timed."""
    profile = case.profile
    yield from _places(case, width, symbols)
    yield from _memory(case, width, symbols)
    for graph_break in profile.graph_breaks:
        yield from _wrapped(
            f"Graph break at {graph_break.where}: {graph_break.reason}", width, ("", "plain"), role="muted"
        )
    for again in profile.recompiles:
        yield from _wrapped(f"Recompile of {again.where}: {again.guard}", width, ("", "plain"), role="muted")
    yield BLANK
    yield from _wrapped(f"Step: {step_sentence(case)}.", width, ("", "plain"), role="muted")
    yield from _wrapped(f"{capitalized(device_sentence(case))}.", width, ("", "plain"), role="muted")
    for what, why in profile.absent.items():
        yield from _wrapped(f"No {what.replace('_', ' ')}: {why}", width, ("", "plain"), role="muted")


def _memory(case: ExplainedCase, width: int, symbols: Symbols) -> Iterator[Line]:
    """Yield the memory of a step by kind, with bars as shares of the largest."""
    facts = list(memory_facts(case))
    most_mb = max((mb for _, mb in facts), default=0.0)
    room = _name_room(width)
    if facts:
        yield BLANK
        yield crop([(f"  {'memory':<{room}}{'MB':>12}", "muted")], width, symbols)
    for name, mb in facts:
        mini = bar(mb / most_mb, MINI_BAR, symbols, "soft")
        numbers: Span = (f"{number(mb):>12}", "bright")
        yield crop(
            [(f"  {fit(name, room, symbols):<{room}}", "plain"), numbers, (" " * 18, "plain"), *mini],
            width,
            symbols,
        )


def _gap(gap: CaseDifference, names: tuple[str, str], width: int, symbols: Symbols) -> list[Line]:
    """Render families and operators of two cases side by side, with the gap. ``names`` are base and new."""
    shown = _GapTable(gap, names, width if width < WIDE else (width - BETWEEN) // 2, symbols)
    families = [*gap.families, Part(REMAINDER, None, gap.remainder_ms)]
    first = [*shown.lines("family", families), *_whole(gap, shown.width)]
    second = list(shown.lines("operator or kernel", gap.kernels[:SHOWN_KERNELS]))
    return [*first, BLANK, *second] if width < WIDE else side_by_side([first, second], shown.width + BETWEEN)


class _GapTable(msgspec.Struct, frozen=True):
    """Tables of the parts that make up the difference between two cases."""

    gap: CaseDifference
    names: tuple[str, str]
    width: int
    symbols: Symbols

    def lines(self, title: str, parts: Sequence[Part]) -> Iterator[Line]:
        """Yield the heading, and a line for each part."""
        heads = "".join(f"{fit(name, self._cell - 1, self.symbols):>{self._cell}}" for name in self.names)
        heading = f"  {title:<{self._room}}{heads}{'gap, ms':>10}{'% of it':>9}"
        yield crop([(heading, "muted")], self.width, self.symbols)
        marks = self._marks()
        for part in parts:
            yield crop([marks.get(part.name, ("  ", "plain")), *self._cells(part)], self.width, self.symbols)

    def _cells(self, part: Part) -> list[Span]:
        rest, cell, share = part.name == REMAINDER, self._cell, self.gap.share(part)
        times = "" if rest else f"{number(part.base_ms) or '':>{cell}}{number(part.new_ms) or '':>{cell}}"
        role = "muted" if rest or signed(part.gap_ms) == "0" else "bad" if part.gap_ms > 0 else "good"
        name = fit(clean(part.name), self._room - 1, self.symbols)
        return [
            (f"{name:<{self._room}}", "muted" if rest else "plain"),
            (f"{times:>{2 * cell}}", "plain"),
            (f"{signed(part.gap_ms):>10}", role),
            (f"{'' if share is None else percent(share, 0):>9}", "muted"),
        ]

    def _marks(self) -> dict[str, Span]:
        """Return the mark of each family, and for each operator the mark of its family."""
        kernels = (*self.gap.base.profile.kernels, *self.gap.new.profile.kernels)
        families = {kernel.name: kernel.family for kernel in kernels}
        families |= {title: family for family, title in FAMILIES.items()}
        return {name: _mark(family, self.symbols) for name, family in families.items()}

    @property
    def _cell(self) -> int:
        return min(max(10, *(len(name) + 1 for name in self.names)), 24)

    @property
    def _room(self) -> int:
        return max(self.width - 2 - 2 * self._cell - 10 - 9, 12)


def _whole(gap: CaseDifference, width: int) -> list[Line]:
    per = " per sample" if gap.per_sample else ""
    text = f"measured difference: {signed(gap.measured_gap_ms)} ms{per}"
    if all(gap.whole_ms):
        text += f" ({number(gap.whole_ms[0])} to {number(gap.whole_ms[1])} ms)"
    return [line((capitalized(text)[:width], "strong"))]
