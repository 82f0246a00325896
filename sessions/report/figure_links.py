"""Links from a Markdown report to its plots."""

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from benchtui.sessions.plots.render import RenderedPlot
from benchtui.sessions.plots.spec import SkippedPlot
from benchtui.sessions.text.markdown import plain

REST = "Figures"
"""Heading of the plots whose section isn't in the report."""


def with_plots(
    report: str, pictures: Sequence[RenderedPlot], folder: str, skipped: Sequence[SkippedPlot] = ()
) -> str:
    """Add links to plots at the end of their sections in a Markdown report, and list the skipped plots.

    Plots of the first section stand after its first block, because they decide. Text from a session can't begin
    a heading, so the report can be split at its headings.
    """
    leading = [_link(picture, folder) for picture in pictures if not picture.section]
    if leading:
        report = in_first_section(report, "\n\n".join(leading))
    pictures = [picture for picture in pictures if picture.section]
    sections = report.split("\n## ")
    titles = [section.partition("\n")[0] for section in sections]
    for picture in pictures:
        if picture.section in titles:
            place = titles.index(picture.section)
            sections[place] = f"{sections[place].rstrip()}\n\n{_link(picture, folder)}\n"
    rest = [_link(picture, folder) for picture in pictures if picture.section not in titles]
    if rest:
        sections = [*sections[:-1], f"{sections[-1].rstrip()}\n", "\n\n".join([REST, *rest]) + "\n"]
    return "\n## ".join(sections) + _left_out(skipped)


def in_first_section(report: str, block: str) -> str:
    """Insert a block after the first one of a report's first section; at the end of one without sections."""
    before, heading, section = report.partition("\n## ")
    if not heading:
        return f"{report}\n{block}\n"
    title, lead, *rest = section.split("\n\n", 2)
    return before + heading + "\n\n".join((title, lead.rstrip("\n"), block, *(rest or ("",))))


def folder_from(report: Path, figures: Path) -> str:
    """Return the relative path from a report to its plot folder, quoted for a link."""
    return quote(Path(os.path.relpath(figures, report.parent)).as_posix())


def _left_out(skipped: Sequence[SkippedPlot]) -> str:
    reasons = "; ".join(f"{plot.name} ({plot.reason})" for plot in skipped)
    return f"\n{plain(f'Figures left out: {reasons}.')}\n" if reasons else ""


def _link(picture: RenderedPlot, folder: str) -> str:
    return f"![{plain(f'{picture.title}. {picture.caption}')}]({folder}/{picture.name}.svg)"
