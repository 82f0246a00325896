"""A document as one HTML file without network requests: rendered Markdown with inline plots.

Tables are rendered here rather than by markdown-it, which needs five objects per cell. A report of 20,000 cases
has a million cells.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, partial
from hashlib import sha256
from html import escape
from importlib.resources import files

from markdown_it import MarkdownIt
from markdown_it.token import Token

from benchtui.sessions.plots.render import RenderedPlot
from benchtui.sessions.plots.spec import SkippedPlot
from benchtui.sessions.plots.style import COLORS, FAINT, GRID, INK, PAPER
from benchtui.sessions.report.document import OPEN_SECTIONS, Report, render, template
from benchtui.sessions.report.figure_links import with_plots
from benchtui.sessions.report.reproduce import FENCE
from benchtui.sessions.text.markdown import Markdown
from benchtui.sessions.text.tables import Table, html

DocumentText = Callable[[Callable[[Table], Markdown]], str]
"""Renders a document as Markdown, with a function that renders its tables."""
TABLE = "table"
"""Info string of the fenced block that marks a table's place. Text from a session can't begin a block."""
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
SECTION_START, SUMMARY_END, SECTION_END = '<details class="section"><summary>', "</summary>\n", "</details>\n"
GROUP_START, GROUP_END = '<div class="figures">\n', "</div>\n"


def report_page(
    report: Report,
    plots: Sequence[RenderedPlot] = (),
    skipped: Sequence[SkippedPlot] = (),
    per_hour: float | None = None,
) -> Iterator[str]:
    """Render a report with its plots as HTML, in pieces. ``per_hour`` is the initial price on the page."""
    return page(partial(render, report), plots, skipped, open_sections=OPEN_SECTIONS, per_hour=per_hour)


def page(
    text: DocumentText,
    plots: Sequence[RenderedPlot] = (),
    skipped: Sequence[SkippedPlot] = (),
    *,
    open_sections: Collection[str] | None = None,
    per_hour: float | None = None,
) -> Iterator[str]:
    """Render a document with its plots as HTML, in pieces. A whole page would be in memory several times.

    ``text`` renders the document, whose first heading becomes the title. ``open_sections`` are the headings of
    the sections that aren't collapsed; None for all. ``per_hour`` is the initial price on the page.
    """
    tables: list[Table] = []

    def placeholder(table: Table) -> Markdown:
        tables.append(table)
        return Markdown(f"{FENCE}{TABLE}\n{len(tables) - 1}\n{FENCE}")

    tokens = _parser().parse(with_plots(text(placeholder), plots, FIGURES, skipped))
    drawings = {f"{FIGURES}/{picture.name}.svg": picture for picture in plots}
    contents = _number_sections(tokens)
    script = _data("page.js")
    return template("page.html.j2").generate(
        title=next((_text(tokens[place + 1]) for place, token in enumerate(tokens) if token.tag == "h1"), ""),
        contents=contents,
        body=_body(_collapse(_inline_plots(tokens, drawings), open_sections), tables),
        style=_data("page.css"),
        script=script,
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
        price="" if per_hour is None else f"{per_hour:.10g}",
    )


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).disable(["link", "autolink"])


def _data(name: str) -> str:
    return files("benchtui.sessions.report").joinpath("templates", name).read_text("utf-8")


def _number_sections(tokens: Sequence[Token]) -> list[tuple[str, str]]:
    """Give each section an id. Return the ids with their headings."""
    contents: list[tuple[str, str]] = []
    for place, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h2":
            name = f"section-{len(contents) + 1}"
            token.attrSet("id", name)
            contents.append((name, _text(tokens[place + 1])))
    return contents


def _text(heading: Token) -> str:
    return "".join(child.content for child in heading.children or ())


def _body(tokens: Sequence[Token], tables: Sequence[Table]) -> Iterator[str]:
    """Render the tokens, with each table in its place, named by the headings above it."""
    between: list[Token] = []
    headings: dict[str, str] = {}
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            above = {tag: heading for tag, heading in headings.items() if tag < token.tag}
            headings = {**above, token.tag: _text(tokens[place + 1])}
        if token.type == "fence" and token.info == TABLE:
            yield _render(between)
            yield html(tables[int(token.content)], f"Table: {', '.join(list(headings.values())[1:])}")
            between = []
        else:
            between.append(token)
    yield _render(between)


def _render(tokens: Sequence[Token]) -> str:
    text: str = _parser().renderer.render(tokens, _parser().options, {})
    return text


def _collapse(tokens: Sequence[Token], open_sections: Collection[str] | None) -> list[Token]:
    """Wrap each section that isn't open in a ``details`` element, with its heading as the summary."""
    wrapped: list[Token] = []
    inside = False
    for place, token in enumerate(tokens):
        opens = token.type == "heading_open" and token.tag == "h2"
        if opens and inside:
            wrapped.append(_html_block(SECTION_END))
        if opens:
            inside = open_sections is not None and _text(tokens[place + 1]) not in open_sections
        if opens and inside:
            wrapped.append(_html_block(SECTION_START))
        wrapped.append(token)
        if inside and token.type == "heading_close" and token.tag == "h2":
            wrapped.append(_html_block(SUMMARY_END))
    return [*wrapped, _html_block(SECTION_END)] if inside else wrapped


def _html_block(content: str) -> Token:
    return Token("html_block", "", 0, content=content)


def _inline_plots(tokens: Sequence[Token], drawings: dict[str, RenderedPlot]) -> list[Token]:
    """Replace paragraphs that only link a plot with the plot itself. Adjacent plots form a group."""
    drawn = {
        place: drawings[link] for place, token in enumerate(tokens) if (link := _source(token)) in drawings
    }
    replaced: list[Token] = []
    for place, token in enumerate(tokens):
        if place in drawn:  # a paragraph is three tokens long
            start = "" if place - 3 in drawn else GROUP_START
            end = "" if place + 3 in drawn else GROUP_END
            replaced.append(_html_block(f"{start}{_figure(drawn[place])}{end}"))
        elif place - 1 not in drawn and place + 1 not in drawn:  # drop the paragraph's open and close tokens
            replaced.append(token)
    return replaced


def _source(token: Token) -> str:
    """Return the image link if the image is the paragraph's only content; empty for any other token."""
    children = token.children if token.type == "inline" else None
    only = children[0] if children and len(children) == 1 else None
    return str(only.attrs.get("src")) if only and only.type == "image" else ""


def _with_variables(style: str) -> str:
    """Replace the colors in a style attribute. Elsewhere in a plot, the same text may be a case's name."""
    return _COLOR.sub(lambda color: f"var(--{_VARIABLES[color[0]]})", style)


def _figure(picture: RenderedPlot) -> str:
    """Inline a plot as SVG in the page's colors, without group ids, which would clash between plots."""
    svg = picture.svg.decode()
    svg = _GROUP_ID.sub("<g", svg[svg.index("<svg") :])
    svg = _STYLE.sub(lambda tag: tag[1] + _with_variables(tag[2]), svg)
    title, caption = escape(picture.title), escape(picture.caption)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)
    return (
        f"<figure>\n<figcaption><strong>{title}</strong> {caption}</figcaption>\n"
        f'<div class="drawing">{svg}</div>\n</figure>\n'
    )
