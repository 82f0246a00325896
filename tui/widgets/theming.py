"""Turns our themes into Textual's, and names the roles in which text is drawn."""

from textual.theme import BUILTIN_THEMES
from textual.theme import Theme as TextualTheme

from benchtui import themes

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
