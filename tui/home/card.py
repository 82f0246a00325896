"""Card of the selected model on Home: its keys, and what its files say. Independent of Textual."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from benchtui.sessions.estimates.fit import needed_mb
from benchtui.sessions.sweep import Config, Sweep
from benchtui.sessions.sweep.options import AXES
from benchtui.sessions.text.formatting import count
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean, compact, memory
from benchtui.tui.drawing.styled_text import Line, Span, line, wrap_facts, wrap_line
from benchtui.tui.home.models import ModelEntry, age_text
from benchtui.tui.home.reading import Offered
from benchtui.tui.home.rows import Room, rate_text
from benchtui.tui.home.sweeps import proposal_for
from benchtui.tui.shell.keymap import key
from benchtui.tui.table.case_names import config_name

BUNDLED = "its architecture comes with benchtui"
KEY, LABEL = 7, 14
"""Cells of a key, and of what it does."""


class HomeCard(msgspec.Struct, frozen=True):
    """Snapshot of the selected model; None if there is none."""

    entry: ModelEntry | None = None
    offered: Offered = Offered()
    """Sweeps to run, once they are built."""
    room: Room | None = None
    now: datetime | None = None


def card_lines(card: HomeCard, width: int, height: int, symbols: Symbols) -> Sequence[Line]:
    """Render the keys with what they do, then facts about the model."""
    if card.entry is None:
        demo = f"{key('home.demo')} plays the demo: a sweep on four simulated GPUs"
        return wrap_line([(demo, "muted")], width)[:height]
    rows = (*_actions(card, symbols), *_facts(card, width, symbols))
    return [part for row in rows for part in wrap_line(row, width)][:height]


def _actions(card: HomeCard, symbols: Symbols) -> Iterator[Sequence[Span]]:
    if card.offered.problem:
        yield [(f"{symbols.failed} {clean(card.offered.problem)}", "bad")]
        return
    measure = quick = ""
    if offers := card.offered.offers:
        measure = _search_text(offers.measure, offers.measure_cases)
        quick = _search_text(offers.quick, offers.quick_cases)
    yield _action("home.measure", "measure it", measure)
    yield _action("home.quick", "quick look", quick)
    yield _action("home.edit", "choose", "a small sweep of it, in the editor")
    if card.entry and (known := card.entry.known):
        age = age_text(known.created, card.now) if card.now else ""
        flag = f"{symbols.flag} " if known.marked else ""
        text = f"{flag}{rate_text(known, symbols)} with {clean(config_name(known.best.config))}"
        yield _action(
            "home.open", "known result", f"{text}, {age}; {count(len(card.entry.sessions), 'session')}"
        )


def _action(name: str, does: str, text: str) -> Sequence[Span]:
    return [(f"{key(name):<{KEY}}", "accent"), (f"{does:<{LABEL}}", "strong"), (text, "plain")]


def _search_text(sweep: Sweep, planned: int) -> str:
    """Format the cases of a search, its time limit, and what varies."""
    limit = f", at most {sweep.run.budget_s / 60:g} m" if sweep.run.budget_s else ""
    sizes = sweep.axes.batch_size
    varied = [
        axis.replace("_", " ") for axis in AXES if len(getattr(sweep.axes, axis)) > 1 and axis != "batch_size"
    ]
    return f"{count(planned, 'case')}{limit}: {', '.join([f'batch size {sizes[0]} to {sizes[-1]}', *varied])}"


def _facts(card: HomeCard, width: int, symbols: Symbols) -> list[Line]:
    """Render what the model's files say, and the memory of its largest batch."""
    entry = card.entry
    if entry is None or not entry.read:
        return [line(("reading its files", "muted"))]
    if entry.folder is None:
        return [line((f"{symbols.flag} not in the cache of the hub: measuring it downloads it", "warning"))]
    reasons = proposal_for(entry.stored).reasons
    texts = (*reasons, *_sizes(card, symbols), BUNDLED if entry.bundled else str(entry.folder))
    return wrap_facts([[(clean(text), "muted")] for text in texts], width)


def _sizes(card: HomeCard, symbols: Symbols) -> Iterator[str]:
    """Yield the model's size, and the memory that its largest batch needs, with the source of the estimate."""
    stored, room = card.entry.stored if card.entry else None, card.room
    if stored is None or not stored.parameters:
        return
    yield f"{symbols.about}{compact(stored.parameters)} parameters"
    if room is None or room.free_mb is None:
        return
    size = room.sizes[-1]
    needed = needed_mb(stored, Config(device=room.device, precision=room.precision, batch_size=size))
    needs, free = memory(needed, symbols), memory(room.free_mb, symbols)
    yield f"needs {needs}? of {free} free at batch size {size} (from config.json)"


def card_title(card: HomeCard) -> tuple[list[Span], list[Span]]:
    """Return the title: the model."""
    return [(card.entry.name if card.entry else "no model selected", "strong" if card.entry else "muted")], []
