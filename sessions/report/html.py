"""A document as one HTML file without network requests, with inline plots."""

import re
from base64 import b64encode
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from itertools import count, groupby
from pathlib import Path

from jinja2 import StrictUndefined, Template

from benchtui.sessions.plots.render import RenderedPlot
from benchtui.sessions.plots.spec import SkippedPlot
from benchtui.sessions.plots.style import COLORS, FAINT, GRID, INK, PAPER
from benchtui.sessions.report.content import Code, Content, Items, Note, Picture, Section
from benchtui.sessions.report.document import OPEN_SECTIONS
from benchtui.sessions.report.figure_links import with_plots
from benchtui.sessions.text.markdown import in_one_line
from benchtui.sessions.text.tables import Table, html

Drawings = Mapping[str, bytes]
"""Plots as SVG, by the source of their pictures."""
FIGURES = "figure"
"""Placeholder for the plot folder in links. The plots are inlined in the page."""
_VARIABLES = {
    PAPER: "paper",
    INK: "ink",
    FAINT: "faint",
    GRID: "grid",
    **{color: f"series-{place}" for place, color in enumerate(COLORS)},
}
_COLOR = re.compile("|".join(_VARIABLES))
_STYLE = re.compile(r'(<[^<>]* style=")([^"]*)')
"""Matches a tag up to the value of its style attribute, and that value."""
_GROUP_ID = re.compile(r'<g id="[^"]*"')


def report_page(
    report: Section,
    plots: Sequence[RenderedPlot] = (),
    skipped: Sequence[SkippedPlot] = (),
    per_hour: float | None = None,
) -> Iterator[str]:
    """Render a report with its plots as HTML, in pieces. ``per_hour`` is the initial price on the page."""
    return page(report, plots, skipped, open_sections=OPEN_SECTIONS, per_hour=per_hour)


def page(
    document: Section,
    plots: Sequence[RenderedPlot] = (),
    skipped: Sequence[SkippedPlot] = (),
    *,
    open_sections: Collection[str] | None = None,
    per_hour: float | None = None,
) -> Iterator[str]:
    """Render a document with its plots as HTML, in pieces. A whole page would be in memory several times.

    ``open_sections`` are the headings of the sections that aren't collapsed; None for all. ``per_hour`` is the
    initial price on the page.
    """
    drawn = with_plots(document, plots, FIGURES, skipped)
    drawings = {f"{FIGURES}/{plot.name}.svg": plot.svg for plot in plots}
    script = _data("page.js")
    return _template().generate(
        title=in_one_line(document.title),
        contents=[in_one_line(part.title) for part in drawn.content if isinstance(part, Section)],
        body=_body(drawn, drawings, open_sections),
        style=_data("page.css"),
        script=script,
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
        price="" if per_hour is None else f"{per_hour:.10g}",
    )


@cache
def _template() -> Template:
    page = _data("page.html.j2")
    template: Template = Template(page, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return template


def _data(name: str) -> str:
    return Path(__file__).with_name("templates").joinpath(name).read_text("utf-8")


def _body(document: Section, drawings: Drawings, open_sections: Collection[str] | None) -> Iterator[str]:
    """Render a document. Sections that aren't open are collapsed, with their heading as the summary."""
    yield f"<h1>{_text(document.title)}</h1>\n"
    numbers = count(1)
    for part in document.content:
        if not isinstance(part, Section):
            yield from _block(part, (), drawings)
            continue
        heading = f'<h2 id="section-{next(numbers)}">{_text(part.title)}</h2>'
        if open_sections is None or part.title in open_sections:
            yield f"{heading}\n"
            yield from _blocks(part, (part.title,), drawings)
        else:
            yield f'<details class="section"><summary>{heading}</summary>\n'
            yield from _blocks(part, (part.title,), drawings)
            yield "</details>\n"


def _blocks(shown: Section, headings: tuple[str, ...], drawings: Drawings) -> Iterator[str]:
    """Render what a section contains, below these headings. Adjacent pictures form a group."""
    for are_pictures, parts in groupby(shown.content, lambda part: isinstance(part, Picture)):
        blocks = (block for part in parts for block in _block(part, headings, drawings))
        yield from ('<div class="figures">\n', *blocks, "</div>\n") if are_pictures else blocks


def _block(part: Content, headings: tuple[str, ...], drawings: Drawings) -> Iterator[str]:
    match part:
        case Section():
            level = len(headings) + 2
            yield f"<h{level}>{_text(part.title)}</h{level}>\n"
            yield from _blocks(part, (*headings, part.title), drawings)
        case Items():
            yield _list(part)
        case Table():
            yield html(part, f"Table: {', '.join(headings)}")
        case Picture():
            yield _figure(part, drawings[part.source])
        case Note():
            yield f"<p><em>{_text(part.text)}</em></p>\n"
        case Code():
            lines = "".join(f"{escape(line)}\n" for line in part.lines)
            # a phone scrolls it
            yield f'<pre tabindex="0"><code class="language-{part.language}">{lines}</code></pre>\n'
        case str():
            yield f"<p>{_text(part)}</p>\n"


def _list(shown: Items) -> str:
    whole = f"<ul>\n{''.join(_item(*item) for item in shown.items)}</ul>\n"
    return f"<blockquote>\n{whole}</blockquote>\n" if shown.quoted else whole


def _item(subject: str, text: str) -> str:
    lead = f"<strong>{_text(subject)}</strong>: " if subject else ""
    return f"<li>{lead}{_text(text)}</li>\n"


def _text(text: str) -> str:
    return escape(in_one_line(text))


def _with_variables(style: str) -> str:
    """Replace the colors in a style attribute. Elsewhere in a plot, the same text may be a case's name."""
    return _COLOR.sub(lambda color: f"var(--{_VARIABLES[color[0]]})", style)


def _figure(picture: Picture, drawing: bytes) -> str:
    """Inline a plot as SVG in the page's colors, without group ids, which would clash between plots."""
    svg = drawing.decode()
    svg = _GROUP_ID.sub("<g", svg[svg.index("<svg") :])
    svg = _STYLE.sub(lambda tag: tag[1] + _with_variables(tag[2]), svg)
    title, caption = _text(picture.title), _text(picture.caption)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)
    return (
        f"<figure>\n<figcaption><strong>{title}</strong> {caption}</figcaption>\n"
        f'<div class="drawing">{svg}</div>\n</figure>\n'
    )
