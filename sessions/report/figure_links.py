"""Plots in the sections of a report."""

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from benchtui.sessions.plots.render import RenderedPlot
from benchtui.sessions.plots.spec import SkippedPlot
from benchtui.sessions.report.content import Content, Picture, Section

REST = "Figures"
"""Heading of the plots whose section isn't in the report."""


def with_plots(
    document: Section, plots: Sequence[RenderedPlot], folder: str, skipped: Sequence[SkippedPlot] = ()
) -> Section:
    """Add plots at the end of their sections, and list the skipped plots.

    Plots of the first section stand after its first block, because they decide.
    """
    by_title: dict[str, list[Picture]] = {}
    for plot in plots:
        drawn = Picture(plot.title, plot.caption, f"{folder}/{plot.name}.svg")
        by_title.setdefault(plot.section, []).append(drawn)
    leading = by_title.pop("", [])
    content: list[Content] = []
    for part in document.content:
        if isinstance(part, Section):
            first, *others = part.content
            part = Section(part.title, (first, *leading, *others, *by_title.pop(part.title, ())))
            leading = []
        content.append(part)
    if rest := [*leading, *(picture for pictures in by_title.values() for picture in pictures)]:
        content.append(Section(REST, tuple(rest)))
    if skipped:
        reasons = "; ".join(f"{plot.name} ({plot.reason})" for plot in skipped)
        content.append(f"Figures left out: {reasons}.")
    return Section(document.title, tuple(content))


def folder_from(report: Path, figures: Path) -> str:
    """Return the relative path from a report to its plot folder, quoted for a link."""
    return quote(Path(os.path.relpath(figures, report.parent)).as_posix())
