from pathlib import Path

from benchtui.sessions.plots.render import RenderedPlot
from benchtui.sessions.report.figure_links import folder_from, with_plots

REPORT = "# Title\n\n## Summary\n\n- one\n\n## Conclusion\n\n- two\n"


def picture(name: str, section: str, title: str = "A title") -> RenderedPlot:
    return RenderedPlot(name, section, title, "How to read it.", b"", None)


def test_plots_are_linked_in_order_at_the_end_of_their_sections() -> None:
    found = [picture("a", "Summary"), picture("b", "Summary"), picture("c", "Conclusion")]
    assert with_plots(REPORT, found, "figures") == (
        "# Title\n\n## Summary\n\n- one\n\n![A title. How to read it.](figures/a.svg)\n\n"
        "![A title. How to read it.](figures/b.svg)\n\n## Conclusion\n\n- two\n\n"
        "![A title. How to read it.](figures/c.svg)\n"
    )


def test_plot_of_the_first_section_follows_its_first_block() -> None:
    link = "![A title. How to read it.](x/a.svg)"
    assert with_plots(REPORT, [picture("a", "")], "x") == REPORT.replace("- one\n", f"- one\n\n{link}\n")
    report = "# T\n\n## Answer\n\n- one\n- two\n\n| a |\n|---|\n\n## Next\n"
    assert with_plots(report, [picture("a", "")], "x") == report.replace("- two\n", f"- two\n\n{link}\n")
    assert with_plots("# T\n", [picture("a", "")], "x") == f"# T\n\n{link}\n"


def test_plot_without_a_section_gets_its_own_heading() -> None:
    text = with_plots(REPORT, [picture("a", "Step breakdown")], "x")
    assert text == REPORT + "\n## Figures\n\n![A title. How to read it.](x/a.svg)\n"


def test_report_without_plots_is_unchanged() -> None:
    assert with_plots(REPORT, [], "figures") == REPORT


def test_untrusted_text_cannot_end_a_link() -> None:
    assert "![a\\](javascript:1) b. How" in with_plots(
        REPORT, [picture("a", "Summary", "a](javascript:1)\nb")], "x"
    )


def test_plot_folder_is_relative_to_the_report() -> None:
    assert folder_from(Path("/r/report.md"), Path("/r/my figures (1)")) == "my%20figures%20%281%29"
    assert folder_from(Path("a/report.md"), Path("figures")) == "../figures"
