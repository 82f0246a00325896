"""What a screen copies to the clipboard: small tables in GitHub's markdown."""

from collections.abc import Iterable, Sequence


def pipe_table(titles: Sequence[str], rows: Iterable[Sequence[str]], words: int = 0) -> str:
    """A table, every cell escaped; the column of words stands at the left, figures at the right."""
    from benchtui.sessions.text.markdown import (
        plain,  # the report's words are read only when something is copied
    )

    rule = "|".join(" :--- " if column == words else " ---: " for column in range(len(titles)))
    head, *body = (f"| {' | '.join(map(plain, row))} |" for row in (titles, *rows))
    return "\n".join([head, f"|{rule}|", *body])


def heading(text: str) -> str:
    """A line of bold text, escaped."""
    from benchtui.sessions.text.markdown import plain  # the same

    return f"**{plain(text)}**"
