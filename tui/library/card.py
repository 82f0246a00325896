"""Session card: facts about one session, most important first. Independent of Textual."""

from collections.abc import Iterator

from benchtui.sessions.sanitize import shell_word
from benchtui.sessions.sweep import UNKNOWN, Axes
from benchtui.sessions.sweep.options import AXES
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean, counted, duration
from benchtui.tui.drawing.styled_text import BLANK, Line, crop, hanging, justify
from benchtui.tui.library.rows import ROLES, Item
from benchtui.tui.panels.answer_card import Answer, answer_lines
from benchtui.tui.shell.keymap import key

Fact = tuple[str, str, str]
"""Label, text, and the text's color role."""

LABEL = 10
IN_ANSWER = ("left", "why")
"""Facts that the answer says, too."""
LEAST_FACTS = 2
"""Lines kept for facts below the answer."""
MOST_VALUES = 8
"""Maximum number of axis values listed. The rest is only counted."""


def card_lines(item: Item | None, said: Answer | None, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render name and outcome, what the session says if that is read, then as many facts as fit."""
    if item is None:
        return []
    outcome = item.outcome or "reading"
    head = justify([(item.name, "strong")], [(outcome, ROLES.get(outcome, "muted"))], width, symbols)
    room = max(height - 1 - LEAST_FACTS, 1)
    answer = answer_lines(said, width, room, symbols) if said else []
    facts = [fact for fact in _facts(item, symbols) if not (answer and fact[0] in IN_ANSWER)]
    heads = [(f"{label:<{LABEL}}", "muted") for label, _, _ in facts]
    rows = list(zip(heads, facts, strict=True))
    lines = [made for head, (_, text, role) in rows for made in hanging(head, text, width, role)]
    if len(answer) + len(lines) >= height:
        lines = [crop((head, fact[1:]), width, symbols) for head, fact in rows]
    blank = [BLANK] if height > len(answer) + len(lines) + 1 else []
    return [head, *answer, *blank, *lines][:height]


def _facts(item: Item, symbols: Symbols) -> Iterator[Fact]:
    """Yield the known facts, most important first."""
    for label, text, role in (
        ("cases", _cases(item), "plain"),
        ("left", _left(item), "accent"),
        ("note", item.note, "plain"),
        ("why", clean(item.summary.reason or "") if item.summary else "", "warning"),
        ("marks", _marks(item, symbols), "warning"),
        ("host", _host(item, symbols), "plain"),
        ("sweep", _sweep(item, symbols), "plain"),
        ("axes", _axes(item.entry.started.sweep.axes, symbols), "plain"),
        ("software", _software(item, symbols), "plain"),
        ("file", _file(item), "muted"),
    ):
        if text:
            yield label, text, role


def _cases(item: Item) -> str:
    planned = len(item.entry.started.plan)
    if item.summary is None or not item.summary.counts:
        return f"{planned:,} planned"
    counts = ", ".join(f"{amount:,} {state}" for state, amount in item.summary.counts.items())
    lasted = duration(item.summary.duration_s) if item.summary.duration_s else ""
    return f"{item.summary.cases:,}: {clean(counts)}{f', in {lasted}' if lasted else ''}"


def _left(item: Item) -> str:
    return (
        f"{item.left:,} to run: {key('library.resume')}, or benchtui run --resume {shell_word(item.path.stem)}"
        if item.left
        else ""
    )


def _marks(item: Item, symbols: Symbols) -> str:
    marks = item.summary.marks if item.summary else ()
    return f"{symbols.flag} {clean(', '.join(marks))}" if marks else ""


def _host(item: Item, symbols: Symbols) -> str:
    host = item.entry.started.host
    gpus = counted(gpu.name for gpu in host.gpus)
    processors = f"{host.cpu_count} processors" if host.cpu_count else ""
    return _joined(symbols, item.host, gpus, clean(host.processor or ""), processors)


def _sweep(item: Item, symbols: Symbols) -> str:
    sweep = item.entry.started.sweep
    stated = [name for name in (sweep.model, sweep.task) if name != UNKNOWN]
    if item.entry.started.source:
        return _joined(symbols, sweep.name, *stated)
    weights = f"{sweep.weights} weights"
    return _joined(symbols, sweep.name, sweep.model, weights, sweep.task, f"dataset {sweep.dataset}")


def _axes(axes: Axes, symbols: Symbols) -> str:
    shown = (
        f"{axis.replace('_', ' ')} {_values(getattr(axes, axis))}"
        for axis in AXES
        if getattr(axes, axis) not in (getattr(Axes(), axis), (UNKNOWN,))
    )
    return _joined(symbols, *shown, "batch size by search" if axes.batch_size_auto else "")


def _values(values: tuple[object, ...]) -> str:
    more = len(values) - MOST_VALUES
    shown = ", ".join(str(value) for value in values[:MOST_VALUES])
    return f"{shown}, {more} more" if more > 0 else shown


def _software(item: Item, symbols: Symbols) -> str:
    host, torch = item.entry.started.host, item.summary.torch if item.summary else None
    driver = f"driver {host.driver}" if host.driver else ""
    return _joined(symbols, f"torch {torch}" if torch else "", driver, host.platform or "")


def _file(item: Item) -> str:
    return clean(str(item.path))


def _joined(symbols: Symbols, *words: str) -> str:
    return f" {symbols.dot} ".join(clean(word) for word in words if word)
