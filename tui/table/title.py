"""Title and subtitle of the case table: number of rows, filter, and a sort order that no column shows."""

from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.styled_text import Span
from benchtui.tui.table.columns import BY_KEY
from benchtui.tui.table.layout import Arrangement, Rows


def table_title(rows: Rows, arrangement: Arrangement) -> list[Span]:
    """Return the table's title, such as ``cases /sdpa [7 of 32]``, and what its rows leave out."""
    if rows.filter:
        count = f"[{rows.count:,} of {rows.total:,}]"
        return [("cases ", "plain"), (f"/{rows.filter}", "accent"), (f" {count}", "muted")]
    same = rows.names.shared_text(rows.row(0).config, arrangement.names) if rows.count else ""
    return [("cases ", "plain"), (f"[{rows.total:,}]{f'  all {same}' if same else ''}", "muted")]


def table_subtitle(arrangement: Arrangement, symbols: Symbols) -> list[Span]:
    """Return the sort order if its column isn't shown, such as ``sorted by p99 ms ▾``; else nothing."""
    sorting = arrangement.sorting
    if sorting is None or not arrangement.hides_sorting:
        return []
    title = BY_KEY[sorting.key].title.replace("+-", symbols.plus_minus)
    return [(f"sorted by {title} {symbols.down if sorting.reverse else symbols.upward}", "muted")]
