"""A report on a terminal: rendered to its width in the colors of the theme, in a pager if it is long."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable

from rich.console import Console
from rich.style import Style
from rich.text import Text

from benchtui import themes
from benchtui.sessions.report.content import Section
from benchtui.themes import symbols, user_themes
from benchtui.tui.cli.text import streams
from benchtui.tui.drawing.format import clean
from benchtui.tui.drawing.styled_text import Line
from benchtui.tui.report.lines import report_lines
from benchtui.tui.shell import settings

_ROLES = {"plain": ("", ""), "bright": ("", "bold"), "strong": ("", "bold"), "bad": ("bad", "bold")}
"""Color and letters of roles whose color isn't the theme's of that name. Without one, it is the terminal's."""
_ADDRESS = r"https?://[^\s)]+"
_LESS = {"LESS": "-RFX"}
"""Options of less, unless the user has set some: show colors, and leave the text on the terminal."""


def show_report(document: Section, *, paged: bool = True) -> None:
    """Print a report, rendered to the terminal's width. A pager shows one that is longer than the screen."""
    width, height = shutil.get_terminal_size()
    signs = symbols.UNICODE if "utf" in (sys.stdout.encoding or "").lower() else symbols.ASCII
    lines = report_lines(document, width, signs).lines
    text = _styled(lines, width)
    pager = _pager() if paged and len(lines) >= height and sys.stdin.isatty() else None
    if pager:
        _page(text, pager)
    else:
        print(text, end="", file=streams.unguarded_stdout(), flush=True)


def _pager() -> list[str] | None:
    """Return the command of the user's pager; None if there is none, or an empty PAGER asks for none."""
    words = shlex.split(os.environ.get("PAGER", "less"))
    return words if words and shutil.which(words[0]) else None


def _page(text: str, command: list[str]) -> None:
    """Show a text in a pager, which Ctrl-C doesn't end."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        subprocess.run(command, input=text.encode(), env=_LESS | os.environ, check=False)
    finally:
        signal.signal(signal.SIGINT, before)


def _styled(lines: Iterable[Line], width: int) -> str:
    """Return the lines with the codes of colors and links; without colors if NO_COLOR is set."""
    styles = _styles()
    console = Console(width=width, force_terminal=True, no_color=bool(os.environ.get("NO_COLOR")))
    with console.capture() as captured:
        for drawn in lines:
            text = Text.assemble(*((clean(part), styles.get(role, Style.null())) for part, role in drawn))
            text.highlight_regex(_ADDRESS, lambda address: Style(link=address))
            console.print(text, soft_wrap=True, highlight=False)
    return captured.get()


def _styles() -> dict[str, Style]:
    """Return the styles of roles in the user's theme; without a chosen one, in the terminal's own colors."""
    chosen = settings.read(settings.path())[0].theme or themes.TERMINAL
    theme = user_themes.load_all().themes.get(chosen) or themes.load(themes.TERMINAL)
    colors = {role: (role, "") for role in themes.COLORS} | _ROLES
    return {role: Style.parse(f"{letters} {_color(theme, name)}") for role, (name, letters) in colors.items()}


def _color(theme: themes.Theme, name: str) -> str:
    return str(getattr(theme, name)).removeprefix("ansi_") if name else ""
