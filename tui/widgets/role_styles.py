"""The colours of a widget's roles, looked up once, and lines in them as Textual wants them."""

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.theme import BUILTIN_THEMES
from textual.theme import Theme as TextualTheme
from textual.widget import Widget

from benchtui import themes
from benchtui.tui.drawing.styled_text import Line

LINES = tuple(f"line{place}" for place in range(themes.LINES))
"""Colours of a chart's lines, in turn."""
ROLES = (
    "plain",
    "bright",
    "strong",
    "muted",
    "faint",
    "accent",
    "soft",
    "haze",
    "good",
    "warning",
    "bad",
    "chosen",
    *LINES,
)
"""What a piece of text is; ``app.tcss`` gives each role its colour."""
VARIABLES = ("bright", "muted", "faint", "soft", "cursor")
"""Colours that Textual's own set of names lacks."""


def textual_theme(theme: themes.Theme) -> TextualTheme:
    """A theme as Textual wants it."""
    return TextualTheme(
        name=theme.name,
        dark=theme.dark,
        ansi=theme.ansi,
        primary=theme.accent,
        secondary=theme.soft,
        accent=theme.accent,
        foreground=theme.foreground,
        background=theme.background,
        surface=theme.background,
        panel=theme.background,
        success=theme.good,
        warning=theme.warning,
        error=theme.bad,
        variables=variables(theme),
    )


def variables(theme: themes.Theme) -> dict[str, str]:
    """The colours of a theme that have names of our own, and those of the scroll bar."""
    textual = BUILTIN_THEMES["ansi-dark"].variables if theme.ansi else {}
    own = {name: str(getattr(theme, name)) for name in VARIABLES} | dict(zip(LINES, theme.lines, strict=True))
    bar = dict.fromkeys(("scrollbar", "scrollbar-hover", "scrollbar-active"), theme.faint)
    ground = ("scrollbar-background", "scrollbar-background-hover", "scrollbar-background-active")
    return textual | own | bar | dict.fromkeys((*ground, "scrollbar-corner-color"), theme.background)


CLASSES = {f"ink--{role}" for role in ROLES}
"""Component classes that a screen needs for its widgets to be drawn with these.

One screen has them for all of its widgets: Textual keeps a node for each, and had each widget its own, they
would take half of the time to the first paint.
"""
RETIRING = ("muted", "faint")
"""Roles that could be read on no other ground: a terminal's own grey is that of its chosen row as well."""


class RoleStyles:
    """The styles of one widget's roles; Textual forgets its own at every refresh."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._styles: dict[str, Style] = {}

    def forget(self) -> None:
        """Look the colours up again, after a change of theme."""
        self._styles.clear()

    def style(self, role: str) -> Style:
        """The style of a role."""
        if role not in self._styles:
            self._styles[role] = self._widget.screen.get_component_rich_style(f"ink--{role}")
        return self._styles[role]

    def strip(self, line: Line, width: int, chosen: bool = False) -> Strip:
        """A line as wide as its widget, on the ground of the chosen row where it is that."""
        ground = Style(bgcolor=self.style("chosen").bgcolor) if chosen else Style.null()
        roles = ("plain" if chosen and role in RETIRING else role for _, role in line)
        segments = [
            Segment(text, self.style(role) + ground) for (text, _), role in zip(line, roles, strict=True)
        ]
        return Strip(segments).adjust_cell_length(width, self.style("plain") + ground)
