"""Role styles: cached colors of text roles, and conversion of lines to Textual strips."""

from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.geometry import Region
from textual.strip import Strip
from textual.theme import BUILTIN_THEMES
from textual.theme import Theme as TextualTheme
from textual.widget import Widget

from benchtui import themes
from benchtui.tui.drawing.bars import HEAT
from benchtui.tui.drawing.styled_text import Line

LINES = tuple(f"line{place}" for place in range(themes.LINES))
"""Roles of a chart's lines, in order."""
MAX_HEAT = 0.85
"""Share of the accent in the background of the highest cells."""
ROLES: dict[str, tuple[str, str, str]] = {
    "plain": ("foreground", "background", ""),
    "bright": ("bright", "background", ""),
    "strong": ("bright", "background", "bold"),
    "muted": ("muted", "background", ""),
    "faint": ("faint", "background", ""),
    "accent": ("accent", "background", ""),
    "soft": ("soft", "background", ""),
    "haze": ("accent", "soft", ""),
    "good": ("success", "background", ""),
    "warning": ("warning", "background", ""),
    "bad": ("error", "background", "bold"),
    "chosen": ("bright", "cursor", "underline"),
    **{role: (role, "background", "") for role in LINES},
    **{role: ("", role, "bold" if role == HEAT[-1] else "") for role in HEAT},
}
"""Roles of text: the theme's variables for its color and its background, and the style of its letters.

Without a color, it is black or white, whichever contrasts with the background. These aren't component classes:
Textual keeps a node per class, which would take a tenth of the time to first paint.
"""
HEAT_ALPHA = 0.95
"""Opacity of text on a heatmap."""
VARIABLES = ("bright", "muted", "faint", "soft", "cursor")
"""Colors that Textual has no variable for."""


def textual_theme(theme: themes.Theme) -> TextualTheme:
    """Convert a theme to Textual's type."""
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
    """Return the CSS variables of a theme: benchtui's own colors and the scroll bar's."""
    textual = BUILTIN_THEMES["ansi-dark"].variables if theme.ansi else {}
    own = {name: str(getattr(theme, name)) for name in VARIABLES} | dict(zip(LINES, theme.lines, strict=True))
    bar = dict.fromkeys(("scrollbar", "scrollbar-hover", "scrollbar-active"), theme.faint)
    ground = ("scrollbar-background", "scrollbar-background-hover", "scrollbar-background-active")
    own |= dict(zip(HEAT, _heat_colors(theme), strict=True))
    return textual | own | bar | dict.fromkeys((*ground, "scrollbar-corner-color"), theme.background)


def _heat_colors(theme: themes.Theme) -> list[str]:
    """Blend the accent into the background step by step; the terminal's own colors can't be blended."""
    if theme.ansi:
        return [theme.background] * (len(HEAT) - 1) + [theme.cursor]
    ground, accent = Color.parse(theme.background), Color.parse(theme.accent)
    top = len(HEAT) - 1
    return [ground.blend(accent, MAX_HEAT * (0.12 + 0.88 * step / top)).hex for step in range(len(HEAT))]


PLAIN_WHEN_SELECTED = ("muted", "faint")
"""Roles shown as plain on the selected row, whose background may be the same gray as their text."""


class RoleStyles:
    """Style cache of one widget's roles. Textual clears its own on every refresh."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._styles: dict[tuple[str, bool], Style] = {}

    def clear(self) -> None:
        """Clear the cache after a theme change."""
        self._styles.clear()

    def style(self, role: str, chosen: bool = False) -> Style:
        """Return the style of a role, on the selection's background if chosen, as the terminal shows it."""
        key = role, chosen
        if key not in self._styles:
            color, ground, letters = ROLES[role]
            variables = self._widget.app.theme_variables
            style = _style(variables[color] if color else "", variables[ground], letters)
            selection = Style(bgcolor=_style("", variables[ROLES["chosen"][1]], "").bgcolor)
            self._styles[key] = self._filtered(style + selection if chosen else style)
        return self._styles[key]

    def _filtered(self, style: Style) -> Style:
        """Apply the app's filters, such as the one that removes colors."""
        background = self._widget.screen.styles.background
        for line_filter in self._widget.get_line_filters():
            style = line_filter.apply([Segment(" ", style)], background)[0].style or style
        return style

    def rendered(self, crop: Region) -> list[Strip]:
        """Render lines of the widget. It has neither border nor padding, so the lines need nothing else."""
        lines = (self._widget.render_line(y) for y in crop.line_range)
        ground = self._filtered(Style(bgcolor=self.style("plain").bgcolor))
        return [strip.crop_extend(crop.x, crop.right, ground) for strip in lines]

    def strip(self, line: Line, width: int, chosen: bool = False) -> Strip:
        """Render a line at full width, on the selection's background if it is chosen."""
        segments, cells = [], 0
        for text, role in line:
            shown = "plain" if chosen and role in PLAIN_WHEN_SELECTED else role
            segments.append(Segment(text, self.style(shown, chosen)))
            cells += cell_len(text)
        if cells < width:
            segments.append(Segment(" " * (width - cells), self.style("plain", chosen)))
        return Strip(segments, max(cells, width)).crop(0, width)


@lru_cache(maxsize=256)
def _style(color: str, ground: str, letters: str) -> Style:
    """Return the style of a color on a background; without a color, of one that contrasts."""
    background = Color(0, 0, 0, 0) + Color.parse(ground)
    ink = color or ("ansi_default" if ground.startswith("ansi") else "")  # any other color isn't the terminal's
    text = Color.parse(ink) if ink else background.get_contrast_text(HEAT_ALPHA)
    return Style.parse(letters) + Style.from_color((background + text).rich_color, background.rich_color)
