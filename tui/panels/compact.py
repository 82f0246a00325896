"""Compact view: what matters of a sweep in a terminal too small for panels. Independent of Textual."""

import msgspec

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing import format
from benchtui.tui.drawing.styled_text import Line, Span, crop, wrap_facts
from benchtui.tui.panels.case_panel import Current
from benchtui.tui.panels.gauges import Machines
from benchtui.tui.panels.header import Heading, time_left


class Compact(msgspec.Struct, frozen=True):
    """Snapshot of a sweep, its case and its machine."""

    heading: Heading
    current: Current
    machines: Machines
    word: str
    """Question or message of the screen; empty if there is none."""


def compact_lines(compact: Compact | str, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the facts, most important first, as many as fit; or a message if there is no session yet."""
    if isinstance(compact, str):
        return [crop([(compact, "muted")], width, symbols)]
    heading, current = compact.heading, compact.current
    facts: list[list[Span]] = [[(heading.name, "strong")]]
    facts.append([(f"{heading.done}/{heading.total}", "plain"), (f"  {100 * heading.progress:.0f}%", "bright")])
    facts.append([(current.phase, current.role)])
    if current.planned:
        facts.append([(f"{current.done}/{current.planned}", "plain")])
    if (metrics := current.metrics) is not None:
        facts.append([("p50 ", "muted"), (f"{format.milliseconds(metrics.p50_ms, symbols)} ms", "bright")])
        facts.append([(f"{format.rate(metrics.samples_per_s, symbols)} {metrics.unit}", "plain")])
    facts += [[(reading, "plain")] for reading in _readings(compact.machines)]
    state = time_left(heading.left, symbols) if heading.state == "running" else heading.state
    facts += [[(state, "plain")]] if state else []
    facts.append([(current.title, "muted")])
    word = [crop([(compact.word, "bright")], width, symbols)] if compact.word else []
    return [*wrap_facts(facts, width)[: max(1, height - len(word))], *word][:height]


def _readings(machines: Machines) -> list[str]:
    """Return power and memory of the case's GPU; without GPUs, nothing."""
    gauges = (machine.gauge(label) for machine in machines.devices(1) for label in ("power", "memory"))
    return [gauge.value for gauge in gauges if gauge is not None and gauge.fraction is not None]
