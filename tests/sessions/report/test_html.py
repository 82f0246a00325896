"""The report as a page: complete, without network requests, and safe from untrusted text."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest

from benchtui.sessions.compare.align import ComparedSession, compare_sessions
from benchtui.sessions.events import Message
from benchtui.sessions.payloads import Model
from benchtui.sessions.plots.render import RenderedPlot, render_plots
from benchtui.sessions.report import compare
from benchtui.sessions.report.content import Section
from benchtui.sessions.report.document import markdown, report
from benchtui.sessions.report.html import page, report_page
from benchtui.sessions.state.session import Session
from benchtui.sessions.text.tables import Table

EVIL = (
    "a|b`c`<script>alert(1)</script></title></style><img src=http://evil.example/x onerror=alert(1)>"
    "\n# h [x](javascript:1) $x$"
)
LOADING = ("src", "href", "xlink:href", "action", "formaction", "data", "poster", "srcset", "background")
VOID = ("meta", "link", "img", "br", "hr", "input")


class Elements(HTMLParser):
    """Every element with its attributes, and the text outside of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.titled: list[str] = []
        """Elements with a title inside."""
        self.controls: list[tuple[dict[str, str | None], bool]] = []
        """Fields of forms, and whether each is in a label."""
        self.texts: dict[str, list[str]] = {}
        """Texts of elements by their tag."""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag == "title":
            self.titled.append(self.open[-1])
        if tag in ("input", "select"):
            self.controls.append((dict(attrs), "label" in self.open))
        self.texts.setdefault(tag, []).append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in {*self.open}:
            self.texts[tag][-1] += data
        if not {"script", "style"} & set(self.open):
            self.text += data

    def tags(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.found if tag == name]


def session_of(bench: Any, text: str) -> Session:
    model = Model(name=text, architecture=text, weights="pretrained")
    session: Session = bench.session(
        *(bench.case(size, 10.0, model=model, marks=(text,), parts={text: [5.0] * 30}) for size in (1, 2)),
        bench.case(4, outcome="failed", end={"reason": text}),
        bench.case(8, outcome="oom", device=text),
        more=(Message(t=1.0, level="warning", text=text),),
    )
    return session


@pytest.fixture
def evil(bench: Any) -> Elements:
    session = session_of(bench, EVIL)
    return Elements("".join(report_page(report(session, full=True), *render_plots(session))))


@pytest.mark.parametrize("full", [False, True])
def test_page_has_the_same_text_as_the_markdown(bench: Any, read: Any, full: bool) -> None:
    session = session_of(bench, "tiny")
    text = markdown(session, full=full)
    found = Elements("".join(report_page(report(session, full=full), [])))
    headings = re.findall(r"^##+ (.*)$", text, re.MULTILINE)
    assert len(headings) > 5
    assert all(heading in found.text for heading in headings)
    assert len(found.tags("table")) == sum(len(section.tables) for section in read(text).sections) > 2
    text = re.sub("```(toml|python)", "```", text)
    assert set(re.findall(r"\w+(?:\.\w+)*", text)) <= set(re.findall(r"\w+(?:\.\w+)*", found.text))


def test_every_section_has_a_link(evil: Elements) -> None:
    targets = [each["id"] for each in evil.tags("h2")]
    assert [each["href"] for each in evil.tags("a")] == [f"#{target}" for target in targets]


def test_page_loads_nothing_and_its_policy_forbids_loading(evil: Elements) -> None:
    for tag, attributes in evil.found:
        links = [attributes[name] or "" for name in LOADING if name in attributes]
        assert all(link.startswith("#") for link in links), tag
    (policy,) = [each["content"] for each in evil.tags("meta") if "http-equiv" in each]
    assert policy
    assert policy.startswith("default-src 'none'; ")
    assert "'unsafe-eval'" not in policy
    assert "script-src 'unsafe-inline'" not in policy


def test_content_policy_allows_only_the_script_of_the_page(bench: Any) -> None:
    text = "".join(report_page(report(session_of(bench, EVIL))))
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in text


def test_untrusted_text_is_inert_in_the_page(evil: Elements) -> None:
    tags = {tag for tag, _ in evil.found}
    assert not {"img", "iframe", "object", "form", "foreignobject", "animate", "set"} & tags
    assert len(evil.tags("script")) == 1
    assert evil.titled.count("head") == 1
    assert set(evil.titled) == {"head", "circle", "rect"}  # the page, and values of plots
    assert len(evil.tags("style")) == 1 + len(evil.tags("figure"))  # matplotlib puts one into each drawing
    assert not [name for _, attributes in evil.found for name in attributes if name.startswith("on")]
    assert "<script>alert(1)</script>" in evil.text


def test_plots_are_inlined_with_alternative_text(evil: Elements) -> None:
    drawings = evil.tags("svg")
    assert len(drawings) == len(evil.tags("figure")) == len(evil.tags("figcaption")) == 5
    assert all(each["role"] == "img" and each["aria-label"] for each in drawings)


def test_values_of_plots_are_in_the_page_for_a_pointer(bench: Any) -> None:
    session = session_of(bench, "tiny")
    found = "".join(report_page(report(session), *render_plots(session, captioned=False)))
    assert re.search(r"<circle [^>]*><title>cpu fp32 compile=off bs=2 seq=128: 200 samples/s", found)


def test_headings_go_down_one_level_at_a_time(evil: Elements) -> None:
    levels = [int(tag[1]) for tag, _ in evil.found if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


def test_boxes_of_tables_have_different_names(evil: Elements) -> None:
    names = [each["aria-label"] for each in evil.tags("div") if each.get("role") == "region"]
    assert len(names) == len(evil.tags("table")) == len(set(names)) > 5


def compared_page(bench: Any) -> str:
    sides = [ComparedSession.of(name, session_of(bench, name)) for name in ("a", "b")]
    return "".join(page(compare.report(compare_sessions(sides)), open_sections=compare.OPEN_SECTIONS))


@pytest.mark.parametrize("compares", [False, True])
def test_page_follows_the_rules_of_accessibility_that_need_no_browser(bench: Any, compares: bool) -> None:
    session = session_of(bench, "tiny")
    whole = "".join(report_page(report(session, full=True), *render_plots(session)))
    found = Elements(compared_page(bench) if compares else whole)
    (root,) = found.tags("html")
    assert root["lang"] == "en"
    assert len(found.tags("main")) == len(found.tags("h1")) == len(found.tags("header")) == 1
    assert found.texts["title"][0].strip()
    assert found.controls and all(labeled for _, labeled in found.controls)
    for tag in ("th", "button", "a", "summary", "h2", "h3", "option"):
        assert all(text.strip() for text in found.texts.get(tag, [])), f"{tag} without a name"
    assert all(heading["scope"] in ("col", "row") for heading in found.tags("th"))
    ids = [attributes["id"] for _, attributes in found.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    boxes = [each for each in found.tags("div") if each.get("role") == "region"]
    assert all(box["tabindex"] == "0" and box["aria-label"] for box in boxes)
    assert all(nav["aria-label"] for nav in found.tags("nav"))
    assert found.tags("pre") and all(code["tabindex"] == "0" for code in found.tags("pre"))
    (viewport,) = [each["content"] for each in found.tags("meta") if each.get("name") == "viewport"]
    assert viewport and "user-scalable" not in viewport and "maximum-scale" not in viewport
    assert not [each for _, each in found.found if (each.get("tabindex") or "0") not in ("0", "-1")]


def test_page_can_be_printed_and_has_a_light_and_a_dark_scheme(bench: Any) -> None:
    text = "".join(report_page(report(session_of(bench, "tiny"))))
    assert "@media print {" in text and "@page { size: A4" in text
    assert '<meta name="color-scheme" content="light dark">' in text
    assert [each for each in Elements(text).texts["option"]] == ["auto", "light", "dark"]
    colors = re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", text)
    assert len(colors) > 10 and all(light != dark for _, light, dark in colors)
    assert ":focus-visible { outline: 2px" in text


def test_first_figure_stands_before_the_first_table(bench: Any) -> None:
    session = session_of(bench, "tiny")
    found = "".join(report_page(report(session), *render_plots(session)))
    assert found.index("<h2") < found.index("<figure") < found.index("<table")


def test_first_column_names_the_row(bench: Any) -> None:
    shown = Table(("Case", "ms"), (False, True), (("a <b>", "1"), (None, "2")))
    found = "".join(page(Section("t", (Section("One", (shown,)),))))
    assert re.findall(r'<th scope="row"[^>]*>(.*?)</th>', found) == ["a &lt;b&gt;", "–"]


def test_rows_are_cards_at_the_width_that_the_script_asks_for() -> None:
    found = "".join(page(Section("x", ())))
    (width,) = re.findall(r'NARROW = "(\(max-width: \d+rem\))"', found)
    cards = found.partition(f"@media screen and {width} {{")[2].partition("\n}")[0]
    assert "attr(data-label)" in cards
    assert ".cards thead:not(:has(button)) { display: none; }" in cards  # a row without cells is an error
    assert "display: block" in cards


def test_sections_after_the_results_are_collapsed(bench: Any) -> None:
    session = session_of(bench, "tiny")
    found = "".join(report_page(report(session)))
    headings = re.findall(r"(<summary>)?<h2[^>]*>(.*?)</h2>", found)
    assert [title for closed, title in headings if not closed] == ["Decision", "Caveats", "Results"]
    assert len(headings) > 4


def test_comparison_collapses_what_follows_its_caveats(bench: Any) -> None:
    headings = re.findall(r"(<summary>)?<h2[^>]*>(.*?)</h2>", compared_page(bench))
    closed = [title for summary, title in headings if summary]
    assert closed == ["Systems", "How to reproduce", "Limitations"]


def test_document_without_a_choice_of_sections_is_open() -> None:
    shown = Table(("a",), (True,), (("1",),))
    found = "".join(page(Section("A <b>", (Section("One", (shown,)), Section("Two", ("<i>x</i>",))))))
    elements = Elements(found)
    assert "<title>A &lt;b&gt;</title>" in found
    assert not elements.tags("details")
    assert not elements.tags("i")
    assert 'aria-label="Table: One"' in found


def test_price_of_the_report_is_the_first_on_the_page(bench: Any) -> None:
    whole = report(session_of(bench, "tiny"), 2.5)
    assert Elements("".join(report_page(whole, per_hour=2.5))).tags("input")[0]["value"] == "2.5"
    assert "value" not in Elements("".join(report_page(whole))).tags("input")[0]


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.2."""

    def luminance(color: str) -> float:
        shares = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in shares)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1])
@pytest.mark.parametrize("ink", ["ink", "faint", "accent"])
@pytest.mark.parametrize("paper", ["paper", "shade"])
def test_text_has_enough_contrast(ink: str, paper: str, scheme: int) -> None:
    found = "".join(page(Section("x", ())))
    colors = {name: pair for name, *pair in re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", found)}
    assert contrast(colors[ink][scheme], colors[paper][scheme]) >= 4.5


def test_plots_use_the_colors_of_the_page(bench: Any) -> None:
    session = session_of(bench, "tiny")
    text = "".join(report_page(report(session, full=True), *render_plots(session)))
    drawings = text[text.index("<figure") :]
    assert "var(--series-0)" in drawings
    assert not re.search(r"#(fefefe|1c1c21|0072b2)", drawings)


def test_name_that_reads_like_a_color_is_kept_in_a_plot() -> None:
    svg = b'<svg viewBox="0 0 1 1"><g><title>case #0072b2</title><path style="fill: #0072b2"/></g></svg>'
    plot = RenderedPlot("speedup", "Decision", "Speedup", "", svg, None)
    text = "".join(page(Section("t", (Section("Decision", ("a",)),)), [plot]))
    assert "<title>case #0072b2</title>" in text
    assert 'style="fill: var(--series-0)"' in text


def test_page_is_deterministic(bench: Any) -> None:
    one, other = (session_of(bench, "tiny") for _ in range(2))
    assert list(report_page(report(one), render_plots(one)[0])) == list(
        report_page(report(other), render_plots(other)[0])
    )
