"""Lines of the Why page: sentences, the step as one bar by family, and the most expensive operators."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from benchtui.sessions.explain.cases import FAMILIES, SHOWN_KERNELS, ExplainedCase
from benchtui.sessions.explain.difference import CaseDifference, Part
from benchtui.sessions.explain.sentences import gap_sentences, profiling_notes, step_sentence
from benchtui.sessions.explain.tables import memory_facts, peak_text, rate_text, signed
from benchtui.sessions.profiles import FamilyName, KernelTime
from benchtui.sessions.text.formatting import capitalized, number, percent
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.bars import bar
from benchtui.tui.drawing.format import clean, fit
from benchtui.tui.drawing.styled_text import BLANK, Line, Span, crop, line, side_by_side
from benchtui.tui.explain.view import CaseStatus, WhyView

WIDE = 140
"""Least width for two columns."""
BETWEEN = 3
MINI_BAR = 12
WIDE_KERNELS = 25
"""Number of operators shown next to the families, which leaves room for more than below them."""
_COLORS: dict[FamilyName, str] = {
    "matmul": "line0",
    "attention": "line1",
    "elementwise": "line2",
    "gather": "line3",
    "copy": "line4",
    "optimizer": "soft",
    "collective": "accent",
    "tokenizer": "warning",
    "other": "faint",
    "python": "muted",
    "wait": "bad",
}
"""Role of each family's color. The legend names them, so that nothing depends on color alone."""
_CONFIDENCE = {"high": "good", "medium": "warning", "low": "muted"}


def why_lines(view: WhyView, width: int, symbols: Symbols) -> list[Line]:
    """Render the page's content."""
    sides = [side for side in (view.case, view.base) if side is not None]
    lines = [*_sentences(view, width, symbols)]
    known = [side for side in sides if side.case]
    if known:
        lines += [BLANK, *_bars(known, width, symbols)]
    if view.gap:
        return [*lines, BLANK, *_gap(view, view.gap, width, symbols)]
    if view.case.case:
        lines += [BLANK, *_one_case(view.case.case, width, symbols)]
    return lines


def _sentences(view: WhyView, width: int, symbols: Symbols) -> Iterator[Line]:
    for side in (view.case, view.base):
        if side is not None and side.case is None:
            yield from _missing(side, width)
    if view.gap:
        names = (view.base.label, view.case.label) if view.base else None
        for sentence in gap_sentences(view.gap, names):
            yield from _wrapped(sentence, width, (f"{symbols.chosen} ", "accent"))
        for finding in view.findings:
            yield from _wrapped(finding.sentence, width, (f"{symbols.dot} ", _CONFIDENCE[finding.confidence]))
        return
    for finding in view.findings:
        sign: Span = (f"{symbols.chosen} ", _CONFIDENCE[finding.confidence])
        yield from _wrapped(f"{finding.sentence} [{finding.confidence} confidence]", width, sign)
    if case := view.case.case:
        if not view.findings:
            yield line(("No rule found anything unusual.", "muted"))
        for note in profiling_notes(case):
            yield from _wrapped(note, width, (f"{symbols.flag} ", "warning"), role="muted")


def _missing(side: CaseStatus, width: int) -> Iterator[Line]:
    """Say why a case has no profile, or how far it is."""
    if side.progress:
        yield from _wrapped(f"{side.label}: {side.progress}", width, ("", "plain"), role="accent")
        yield line(("No measured number changes. You can leave this page in the meantime.", "muted"))
    else:
        problem = side.problem or "not profiled yet"
        yield from _wrapped(
            f"{side.label} has no profile: {clean(problem)}", width, ("", "plain"), role="strong"
        )


def _wrapped(text: str, width: int, sign: Span, role: str = "plain") -> Iterator[Line]:
    rows = wrap(clean(text), max(width - len(sign[0]), 20), break_on_hyphens=False)
    for place, row in enumerate(rows):
        yield line(sign if place == 0 else (" " * len(sign[0]), "plain"), (row, role))


def _bars(sides: Sequence[CaseStatus], width: int, symbols: Symbols) -> list[Line]:
    """Render each step as one bar by family, on one scale, with the families' names below."""
    cases = [side.case for side in sides if side.case]
    most_ms = max(case.profile.step_ms for case in cases) or 1.0
    label = max(len(side.label) for side in sides) + 2 if len(sides) > 1 else 0
    lines = []
    for side, case in zip(sides, cases, strict=True):
        after = f" {number(case.profile.step_ms)} ms"
        room = max(width - label - len(after), 10)
        spans: list[Span] = [(side.label.ljust(label)[:label], "muted")] if label else []
        spans += _stacked(case, room * case.profile.step_ms / most_ms, symbols)
        lines.append(line(*spans, (after, "bright")))
    return lines


def _stacked(case: ExplainedCase, width: float, symbols: Symbols) -> list[Span]:
    """Draw the families of a case as one bar, in the order of all families."""
    spans: list[Span] = []
    done, drawn = 0.0, 0
    for place, family in enumerate(FAMILIES):
        done += case.share(family) * width
        size = max(0, min(round(done), round(width)) - drawn)  # a file may say anything
        spans.append((_fill(place, symbols) * size, _COLORS[family]))
        drawn += size
    return spans


def _fill(place: int, symbols: Symbols) -> str:
    return symbols.fills[place % len(symbols.fills)]


def _one_case(case: ExplainedCase, width: int, symbols: Symbols) -> list[Line]:
    if width < WIDE:
        return [
            *_families(case, width, symbols),
            BLANK,
            *_kernels(case, width, symbols),
            *_rest(case, width, symbols),
        ]
    left = (width - BETWEEN) * 2 // 5
    right = width - BETWEEN - left
    first = [*_families(case, left, symbols), *_rest(case, left, symbols)]
    return side_by_side([first, _kernels(case, right, symbols, WIDE_KERNELS)], left + BETWEEN)


def _families(case: ExplainedCase, width: int, symbols: Symbols) -> list[Line]:
    room = max(width - 2 - 12 - 8 - 9 - MINI_BAR - 1, 12)
    lines = [crop([(f"  {'family':<{room}}{'ms':>12}{'%':>8}{'calls':>9}", "muted")], width, symbols)]
    for each in case.profile.families:
        share = each.ms / case.profile.step_ms if case.profile.step_ms else 0.0
        calls = f"{each.launches:,.0f}" if each.launches else ""
        place = list(FAMILIES).index(each.family)
        spans: list[Span] = [
            (f"{_fill(place, symbols)} ", _COLORS[each.family]),
            (f"{fit(FAMILIES[each.family], room, symbols):<{room}}", "plain"),
            (f"{number(each.ms):>12}", "bright"),
            (f"{percent(share, 1):>8}", "plain"),
            (f"{calls:>9} ", "muted"),
            *bar(share, MINI_BAR, symbols, _COLORS[each.family]),
        ]
        lines.append(crop(spans, width, symbols))
    return lines


def _kernels(case: ExplainedCase, width: int, symbols: Symbols, most: int = SHOWN_KERNELS) -> list[Line]:
    """Render the most expensive operators; their inputs and families where there is room."""
    numbers = 9 + 7 + 8 + 15 + 8
    room = max(width - numbers, 16)
    name = min(room, max((len(each.name) for each in case.profile.kernels[:SHOWN_KERNELS]), default=16) + 2)
    name = max(min(name, 48), 16)
    heading = f"{'operator or kernel':<{name}}{'ms':>9}{'%':>7}{'calls':>8}{'rate':>15}{'% peak':>8}"
    inputs = "  inputs" if width - name - numbers > 12 else ""
    lines = [crop([(heading + inputs, "muted")], width, symbols)]
    for each in case.profile.kernels[:most]:
        lines.append(crop(_kernel(case, each, name, symbols), width, symbols))
    return lines


def _kernel(case: ExplainedCase, each: KernelTime, name: int, symbols: Symbols) -> list[Span]:
    rate = case.rate(each)
    share = each.ms / case.profile.step_ms if case.profile.step_ms else 0.0
    return [
        (f"{fit(clean(each.name), name - 1, symbols):<{name}}", _COLORS[each.family]),
        (f"{number(each.ms):>9}", "bright"),
        (f"{percent(share, 1):>7}", "plain"),
        (f"{each.count:>8,.0f}", "muted"),
        (f"{rate_text(rate) or '':>15}", "plain"),
        (f"{peak_text(rate) or '':>8}", "plain"),
        (f"  {clean(each.shape or '')}", "muted"),
    ]


def _rest(case: ExplainedCase, width: int, symbols: Symbols) -> Iterator[Line]:
    """Yield the compiler's graph breaks and recompiles, memory, and how the step was timed."""
    profile = case.profile
    facts = [(f"{name} ", f"{number(mb)} MB") for name, mb in memory_facts(case)]
    if facts:
        yield BLANK
        text = ", ".join(f"{name}{value}" for name, value in facts)
        yield from _wrapped(f"Memory: {text}.", width, ("", "plain"))
    for each in profile.graph_breaks:
        yield from _wrapped(f"Graph break at {each.where}: {each.reason}", width, ("", "plain"), role="muted")
    for again in profile.recompiles:
        yield from _wrapped(f"Recompile of {again.where}: {again.guard}", width, ("", "plain"), role="muted")
    yield BLANK
    yield from _wrapped(f"Step: {step_sentence(case)}.", width, ("", "plain"), role="muted")
    for what, why in profile.absent.items():
        yield from _wrapped(f"No {what.replace('_', ' ')}: {why}", width, ("", "plain"), role="muted")


def _gap(view: WhyView, gap: CaseDifference, width: int, symbols: Symbols) -> list[Line]:
    """Render the families and operators of both cases side by side, with the gap."""
    base = view.base.label if view.base else ""
    families = [
        *gap.families,
        Part("not in the profiles", None, gap.remainder_ms),
    ]
    if width < WIDE:
        tables = (
            _parts("family", families, gap, view.case.label, base, width, symbols),
            _parts(
                "operator or kernel", gap.kernels[:SHOWN_KERNELS], gap, view.case.label, base, width, symbols
            ),
        )
        return [*tables[0], *_whole(gap, width), BLANK, *tables[1]]
    left = (width - BETWEEN) // 2
    first = [*_parts("family", families, gap, view.case.label, base, left, symbols), *_whole(gap, left)]
    second = _parts(
        "operator or kernel", gap.kernels[:SHOWN_KERNELS], gap, view.case.label, base, left, symbols
    )
    return side_by_side([first, second], left + BETWEEN)


def _parts(
    title: str, parts: Sequence[Part], gap: CaseDifference, new: str, base: str, width: int, symbols: Symbols
) -> list[Line]:
    cell = max(10, len(base) + 1, len(new) + 1)
    room = max(width - 2 * cell - 10 - 9, 12)
    heading = f"{fit(title, room, symbols):<{room}}{base:>{cell}}{new:>{cell}}{'gap, ms':>10}{'% of it':>9}"
    lines = [crop([(heading, "muted")], width, symbols)]
    for part in parts:
        share = gap.share(part)
        role = "muted" if signed(part.gap_ms) == "0" else "bad" if part.gap_ms > 0 else "good"
        missing = part.base_ms is None and part.name == "not in the profiles"
        spans: list[Span] = [
            (f"{fit(clean(part.name), room - 1, symbols):<{room}}", "muted" if missing else "plain"),
            (f"{number(part.base_ms) or '':>{cell}}", "plain"),
            (f"{'' if missing else number(part.new_ms) or '':>{cell}}", "plain"),
            (f"{signed(part.gap_ms):>10}", "muted" if missing else role),
            (f"{'' if share is None else percent(share, 0):>9}", "muted"),
        ]
        lines.append(crop(spans, width, symbols))
    return lines


def _whole(gap: CaseDifference, width: int) -> list[Line]:
    text = f"measured difference: {signed(gap.measured_gap_ms)} ms"
    if gap.base.measured_ms and gap.new.measured_ms:
        text += f" ({number(gap.base.measured_ms)} to {number(gap.new.measured_ms)} ms)"
    return [line((capitalized(text)[:width], "strong"))]
