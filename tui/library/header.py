"""Library header: heading, column titles, keys, and hints for an empty list."""

from collections.abc import Sequence

from benchtui.sessions.compare.align import LETTERS
from benchtui.sessions.text.formatting import count
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import BLANK, Line, Span, line
from benchtui.tui.library.rows import COLUMNS, ORDERS, LibrarySelection
from benchtui.tui.shell.keymap import key
from benchtui.tui.table.layout import Arrangement, TableRow
from benchtui.tui.widgets.long_list import SCROLL_BAR

NARROWEST, WIDEST = 18, 48
"""Minimum and maximum width of a session's name in cells."""
OTHER_COLUMNS_WIDTH = 40
"""Cells reserved next to the name for outcome, cases, and best throughput."""


def list_title(selection: LibrarySelection) -> tuple[list[Span], list[Span]]:
    """Return the title of the list: the number of sessions, the filter, and the sort order."""
    sessions = count(len(selection.all), "session")
    amount = f"{len(selection.rows):,} of {sessions}" if selection.words else sessions
    left: list[Span] = [(amount, "strong")]
    if selection.words:
        left.append((f' matching "{clean(selection.words)}"', "accent"))
    return left, [(f"by {selection.order}", "muted")] if selection.all else []


def heading_lines(total: int, marked: Sequence[str], width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the names of the marked sessions, the base first, or how to mark some of the total."""
    if not total:
        return []
    if not marked:
        return [line((f"{key('library.mark')} marks sessions to compare; the first is the base", "muted"))]
    pieces: list[Span] = [("marked  ", "muted")]
    for letter, name in zip(LETTERS, marked, strict=False):
        base = " (base)" if letter == LETTERS[0] else ""
        pieces += [(f"{letter} ", "accent"), (f"{name}{base}   ", "plain")]
    return [line(*pieces)]


def arrangement(width: int, longest: int) -> Arrangement:
    """Return the columns that fit a width, given the length of the longest name."""
    share = max(NARROWEST, min(longest + 2, WIDEST, width - OTHER_COLUMNS_WIDTH))
    return Arrangement.of(width, share, COLUMNS)


def header_lines(longest: int, order: str, width: int, height: int, symbols: Symbols) -> list[Line]:
    """Render the column titles, with the sort column highlighted; nothing without an order."""
    if not order:
        return []
    columns = arrangement(width - SCROLL_BAR, longest)
    cells = {
        column.key: (column.title, "accent" if order in (column.title.split(",")[0], column.title) else "muted")
        for column in columns.columns
    }
    name = ("  session", "accent" if order == "name" else "muted")
    return [columns.line(TableRow(name, cells), width, symbols)]


def order_at(cell: int, width: int, longest: int) -> str | None:
    """Return the sort order of the column at a cell of the header; None if sessions can't be sorted by it."""
    columns = arrangement(width - SCROLL_BAR, longest)
    key = columns.key_at(cell)
    title = next((column.title for column in columns.columns if column.key == key), "name")
    return next((order for order in ORDERS if order in (title.split(",")[0], title)), None)


def empty_lines(folder: str) -> list[Line]:
    """Render how to get a first session, for an empty library."""
    return [
        line(("no sessions yet", "strong")),
        BLANK,
        line(
            (key("app.sweep"), "accent"), ("  edit and start a sweep; its session is then listed here", "plain")
        ),
        line((key("library.import"), "accent"), ("  import a session file", "plain")),
        BLANK,
        line(("from the command line: ", "muted"), ("benchtui run quick", "plain")),
        line((f"sessions are stored in {clean(folder)}", "muted")),
    ]


def unmatched_lines(words: str) -> list[Line]:
    """Render a hint for a filter without matches."""
    return [
        line((f'no session matches "{clean(words)}"', "strong")),
        line((key("library.back"), "accent"), ("  shows all", "plain")),
    ]
