"""Report as one HTML file without network requests: rendered Markdown with inline plots.

Tables are rendered here, not by markdown-it. It needs five objects per cell, and a report of 20,000 cases has a
million cells.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files

import jinja2
from markdown_it import MarkdownIt
from markdown_it.token import Token

from benchtui.sessions.plots.render import RenderedPlot
from benchtui.sessions.plots.spec import SkippedPlot
from benchtui.sessions.plots.style import COLORS, FAINT, GRID, INK, PAPER
from benchtui.sessions.report.document import Document, render
from benchtui.sessions.report.figure_links import with_plots
from benchtui.sessions.report.reproduce import FENCE
from benchtui.sessions.text.markdown import Markdown
from benchtui.sessions.text.tables import Table, html

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
_GROUP_ID = re.compile(r'<g id="[^"]*"')


def page(
    report: Document, found: Sequence[RenderedPlot] = (), skipped: Sequence[SkippedPlot] = ()
) -> Iterator[str]:
    """Render a document with its plots as HTML, in pieces. A whole page would be in memory several times."""
    tables: list[Table] = []

    def placeholder(table: Table) -> Markdown:
        tables.append(table)
        return Markdown(f"{FENCE}{TABLE}\n{len(tables) - 1}\n{FENCE}")

    tokens = _parser().parse(with_plots(render(report, placeholder), found, FIGURES, skipped))
    drawings = {f"{FIGURES}/{picture.name}.svg": picture for picture in found}
    contents = _number_sections(tokens)
    script = _data("page.js")
    return _template().generate(
        title=_text(next((tokens[place + 1] for place, each in enumerate(tokens) if each.tag == "h1"), None)),
        contents=contents,
        body=_body(_inline_plots(tokens, drawings), tables),
        style=_data("page.css"),
        script=script,
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
    )


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).disable(["link", "autolink"])


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("benchtui.sessions.report", "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    return environment.get_template("page.html.j2")


def _data(name: str) -> str:
    return files("benchtui.sessions.report").joinpath("templates", name).read_text("utf-8")


def _number_sections(tokens: Sequence[Token]) -> list[tuple[str, str]]:
    """Give each section an id. Return the ids with their headings."""
    found: list[tuple[str, str]] = []
    for place, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h2":
            name = f"section-{len(found) + 1}"
            token.attrSet("id", name)
            found.append((name, _text(tokens[place + 1])))
    return found


def _text(heading: Token | None) -> str:
    return "".join(each.content for each in (heading.children if heading else None) or ())


def _body(tokens: Sequence[Token], tables: Sequence[Table]) -> Iterator[str]:
    """Render the tokens, with each table in its place."""
    between: list[Token] = []
    for token in tokens:
        if token.type == "fence" and token.info == TABLE:
            yield _render(between)
            yield html(tables[int(token.content)])
            between = []
        else:
            between.append(token)
    yield _render(between)


def _render(tokens: Sequence[Token]) -> str:
    text: str = _parser().renderer.render(tokens, _parser().options, {})
    return text


def _inline_plots(tokens: Sequence[Token], drawings: dict[str, RenderedPlot]) -> list[Token]:
    """Replace paragraphs that only link a plot with the plot itself."""
    drawn = {
        place: drawings[link] for place, token in enumerate(tokens) if (link := _source(token)) in drawings
    }
    found: list[Token] = []
    for place, token in enumerate(tokens):
        if place in drawn:
            found.append(Token("html_block", "", 0, content=_figure(drawn[place])))
        elif place - 1 not in drawn and place + 1 not in drawn:  # drop the paragraph's open and close tokens
            found.append(token)
    return found


def _source(token: Token) -> str:
    """Return the image link if the image is the paragraph's only content; empty for any other token."""
    children = token.children if token.type == "inline" else None
    only = children[0] if children and len(children) == 1 else None
    return str(only.attrs.get("src")) if only and only.type == "image" else ""


def _figure(picture: RenderedPlot) -> str:
    """Inline a plot as SVG in the page's colors, without group ids, which would clash between plots."""
    svg = picture.svg.decode()
    svg = _GROUP_ID.sub("<g", svg[svg.index("<svg") :])
    svg = _COLOR.sub(lambda color: f"var(--{_VARIABLES[color[0]]})", svg)
    label = escape(f"{picture.title}. {picture.caption}")
    return f'<figure role="img" aria-label="{label}">\n{svg}</figure>\n'
