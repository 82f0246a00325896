from pathlib import Path

from benchtui.sessions.plots.render import RenderedPlot
from benchtui.sessions.report.content import Items, Section, render
from benchtui.sessions.report.figure_links import folder_from, with_plots

DOCUMENT = Section(
    "Title",
    (Section("Summary", (Items((("", "one"),)),)), Section("Conclusion", (Items((("", "two"),)),)), "More."),
)
REPORT = render(DOCUMENT)


def linked(plots: list[RenderedPlot], folder: str, document: Section = DOCUMENT) -> str:
    return render(with_plots(document, plots, folder))


def picture(name: str, section: str, title: str = "A title") -> RenderedPlot:
    return RenderedPlot(name, section, title, "How to read it.", b"", None)


def test_plots_are_linked_in_order_at_the_end_of_their_sections() -> None:
    found = [picture("a", "Summary"), picture("b", "Summary"), picture("c", "Conclusion")]
    assert linked(found, "figures") == (
        "# Title\n\n## Summary\n\n- one\n\n![A title. How to read it.](figures/a.svg)\n\n"
        "![A title. How to read it.](figures/b.svg)\n\n## Conclusion\n\n- two\n\n"
        "![A title. How to read it.](figures/c.svg)\n\nMore.\n"
    )


def test_plot_of_the_first_section_follows_its_first_block() -> None:
    link = "![A title. How to read it.](x/a.svg)"
    assert linked([picture("a", "")], "x") == REPORT.replace("- one\n", f"- one\n\n{link}\n")
    answer = Section("T", (Section("Answer", ("one", "two")), Section("Next", ("three",))))
    assert linked([picture("a", "")], "x", answer) == render(answer).replace("one\n", f"one\n\n{link}\n")
    assert linked([picture("a", "")], "x", Section("T", ())) == f"# T\n\n## Figures\n\n{link}\n"


def test_plot_without_a_section_gets_its_own_heading() -> None:
    text = linked([picture("a", "Step breakdown")], "x")
    assert text == REPORT + "\n## Figures\n\n![A title. How to read it.](x/a.svg)\n"


def test_untrusted_text_cannot_end_a_link() -> None:
    assert "![a\\](javascript:1) b. How" in linked([picture("a", "Summary", "a](javascript:1)\nb")], "x")


def test_plot_folder_is_relative_to_the_report() -> None:
    assert folder_from(Path("/r/report.md"), Path("/r/my figures (1)")) == "my%20figures%20%281%29"
    assert folder_from(Path("a/report.md"), Path("figures")) == "../figures"
