"""Small tables for the clipboard, in GitHub-flavored Markdown."""

from collections.abc import Iterable, Sequence

from benchtui.tui.drawing.listing import Listing


def pipe_table(titles: Sequence[str], rows: Iterable[Sequence[str]], words: int = 0) -> str:
    """Format a table with escaped cells. Column ``words`` is left-aligned, the others right-aligned."""
    from benchtui.sessions.text.markdown import (
        plain,  # needed only when something is copied
    )

    rule = "|".join(" :--- " if column == words else " ---: " for column in range(len(titles)))
    head, *body = (f"| {' | '.join(map(plain, row))} |" for row in (titles, *rows))
    return "\n".join([head, f"|{rule}|", *body])


def heading(text: str) -> str:
    """Format a line of bold text, escaped."""
    from benchtui.sessions.text.markdown import plain  # needed only when something is copied

    return f"**{plain(text)}**"


def titled_table(title: str, listing: Listing) -> str:
    """Format all rows of a listing below its title; empty if there are none."""
    rows = [[text for text, _ in row] for row in listing.rows]
    return f"{heading(title)}\n\n{pipe_table(listing.titles, rows, listing.words)}\n" if rows else ""
