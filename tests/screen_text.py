"""A screen of the app as text: its lines, and under each the role or color of every run that isn't plain."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from benchtui.tui.app import BenchtuiApp
from benchtui.tui.widgets.role_styles import ROLES, VARIABLES, _style

LETTERS = ("bold", "dim", "italic", "underline", "reverse", "strike")
COLORS = ("background", "foreground", *VARIABLES, "accent", "success", "warning", "error")


class Names:
    """Names of a theme's styles: a role, or letters and colors. Of those that look alike, the first."""

    def __init__(self, app: BenchtuiApp) -> None:
        self._roles: dict[Style, str] = {}
        self._colors: dict[RichColor, str] = {}
        variables = app.theme_variables
        for role, (color, ground, letters) in ROLES.items():
            style = _style(variables[color] if color else "", variables[ground], letters)
            self._roles.setdefault(style, role)
        for name in COLORS:
            self._colors.setdefault(Color.parse(variables[name]).rich_color, name)

    def of(self, segment: Segment) -> str:
        """Return the name of a segment's style. The color of blanks can't be seen."""
        style = segment.style or Style.null()
        blank = not segment.text.strip() and not style.underline and not style.reverse
        if blank and self._color(style.bgcolor) == "background":
            return "plain"
        shown = style.without_color + Style.from_color(style.color, style.bgcolor)
        return self._roles.get(shown) or self._described(shown)

    def _described(self, style: Style) -> str:
        letters = [letter for letter in LETTERS if getattr(style, letter)]
        return " ".join([*letters, self._color(style.color), "on", self._color(style.bgcolor)])

    def _color(self, color: RichColor | None) -> str:
        return "default" if color is None else self._colors.get(color, color.name)


def screen_text(app: BenchtuiApp) -> str:
    """Return what the terminal shows, reviewable in a diff."""
    names = Names(app)
    update: Any = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    rows = ([segment for strip in row for segment in strip] for row in update.strips)
    lines = (line for number, row in enumerate(rows, 1) for line in _described(number, row, names))
    return f"{app.size.width}x{app.size.height} {app.theme}\n" + "".join(f"{line}\n" for line in lines)


def _described(number: int, row: list[Segment], names: Names) -> Iterator[str]:
    yield f"{number:3} {''.join(segment.text for segment in row)}".rstrip()
    runs, start = [], 1
    for name, segments in groupby(row, key=names.of):
        width = sum(segment.cell_length for segment in segments)
        if name != "plain":
            runs.append(f"{start}-{start + width - 1} {name}" if width > 1 else f"{start} {name}")
        start += width
    if runs:
        yield f"    · {', '.join(runs)}"
