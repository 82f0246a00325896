"""Figures in their places in a report."""

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from benchtui.sessions.plots.render import RenderedPlot
from benchtui.sessions.text.markdown import plain

REST = "Figures"
"""Heading over the figures whose section the report doesn't have."""


def illustrated(report: str, found: Sequence[RenderedPlot], folder: str) -> str:
    """A report in markdown with links to figures at the end of their sections.

    A line of a session can't begin a heading, so that every heading is one of the report's own.
    """
    sections = report.split("\n## ")
    titles = [section.partition("\n")[0] for section in sections]
    for picture in found:
        if picture.section in titles:
            place = titles.index(picture.section)
            sections[place] = f"{sections[place].rstrip()}\n\n{_link(picture, folder)}\n"
    rest = [_link(picture, folder) for picture in found if picture.section not in titles]
    if rest:
        sections = [*sections[:-1], f"{sections[-1].rstrip()}\n", "\n\n".join([REST, *rest]) + "\n"]
    return "\n## ".join(sections)


def folder_from(report: Path, figures: Path) -> str:
    """The folder of figures as a link in a report names it."""
    return quote(Path(os.path.relpath(figures, report.parent)).as_posix())


def _link(picture: RenderedPlot, folder: str) -> str:
    return f"![{plain(f'{picture.title}. {picture.caption}')}]({folder}/{picture.name}.svg)"
