"""Compact view: the essentials of a sweep in a terminal too small for panels. Independent of Textual."""

from textwrap import wrap

import msgspec

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing import format
from benchtui.tui.drawing.styled_text import Line, Span, crop, wrap_facts
from benchtui.tui.panels.answer_card import Answer, answer_lines, answer_title
from benchtui.tui.panels.case_panel import Current
from benchtui.tui.panels.gauges import Machines, gauge_height, gauge_lines
from benchtui.tui.panels.header import SweepHeading, percent_text, time_left
from benchtui.tui.panels.step_band import Band, band_lines

LEAST_WIDTH, LEAST_HEIGHT = 40, 8
"""Size in cells from which gauges and steps are drawn below the facts."""


class Compact(msgspec.Struct, frozen=True):
    """Snapshot of a sweep, its case and its machine."""

    heading: SweepHeading
    current: Current
    machines: Machines
    band: Band
    answer: Answer
    """What the sweep says."""
    word: str
    """Question or message of the screen; empty if there is none."""


def compact_lines(compact: Compact | str, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the facts, most important first, as many as fit; or a message if there is no session yet.

    Gauges and steps follow if there is room.
    """
    if isinstance(compact, str):
        return [crop([(compact, "muted")], width, symbols)]
    parts = wrap(compact.word, max(width, 1), break_on_hyphens=False)[:height]
    word = [crop([(part, "bright")], width, symbols) for part in parts]
    height -= len(word)
    if compact.answer.over:
        head = wrap_facts(_progress(compact), width)
        return [*head, *answer_lines(compact.answer, width, height - len(head), symbols)][:height] + word
    drawn = width >= LEAST_WIDTH and height >= LEAST_HEIGHT
    facts = _facts(compact, symbols, readings=not drawn)
    lines = wrap_facts(facts, width)[:height]
    if drawn:
        if compact.answer.works:
            lines.append(crop(answer_title(compact.answer, 0)[0], width, symbols))
        room = min(gauge_height(compact.machines, width), (height - len(lines)) // 2)
        lines += gauge_lines(compact.machines, width, room, symbols)
        lines += band_lines(compact.band, width, height - len(lines), symbols)
    return [*lines, *word]


def _facts(compact: Compact, symbols: Symbols, *, readings: bool) -> list[list[Span]]:
    heading, current = compact.heading, compact.current
    facts = _progress(compact)
    facts.append([(current.phase, current.role)])
    if current.planned:
        facts.append([(f"{current.done}/{current.planned}", "plain")])
    if (metrics := current.metrics) is not None:
        facts.append([("step ", "muted"), (f"{format.significant(metrics.step_ms, symbols)} ms", "bright")])
        facts.append([(f"{format.significant(metrics.rate, symbols)} {metrics.unit}", "plain")])
    facts += [[(reading, "plain")] for reading in _readings(compact.machines)] if readings else []
    left = time_left(heading.left, symbols)
    return [*facts, *([[(left, "plain")]] if left else []), [(current.title, "muted")]]


def _progress(compact: Compact) -> list[list[Span]]:
    heading, answer = compact.heading, compact.answer
    state = [[(answer.word, answer.role)]] if answer.over else []
    percent = (percent_text(heading.progress), "bright")
    return [[(heading.name, "strong")], [(f"{heading.done}/{heading.total}", "plain"), percent], *state]


def _readings(machines: Machines) -> list[str]:
    """Return power and memory of the case's GPU; without GPUs, nothing."""
    gauges = (machine.gauge(label) for machine in machines.devices(1) for label in ("power", "memory"))
    return [gauge.value for gauge in gauges if gauge is not None and gauge.fraction is not None]
