import pytest
from msgspec.structs import replace

from benchtui.themes.symbols import UNICODE
from benchtui.tui.drawing.styled_text import Span
from benchtui.tui.panels.header import SweepHeading, heading_lines, percent_text

HEADING = SweepHeading(
    name="s", host="", device="", done=3, total=10, progress=0.3, state="running", left=None, about=""
)


@pytest.mark.parametrize(
    ("progress", "text"), [(0.0, "   0 %"), (0.29, "  29 %"), (0.9999, "  99 %"), (1.0, " 100 %")]
)
def test_progress_is_100_percent_only_at_the_end(progress: float, text: str) -> None:
    assert percent_text(progress) == text


def test_marks_are_shortened_but_never_cut() -> None:
    """In 80 columns there is no room for "shared GPU with 1 other process, in 1 of 2 rounds"."""
    heading = replace(HEADING, marks=("random weights", "shared GPU with 1 other process, in 1 of 2 rounds"))
    for width, text in (
        (138, "2 rounds"),
        (96, "⚑ random weights   ⚑ shared GPU"),
        (88, "⚑ random   ⚑ shared GPU"),
        (80, "⚑ random +1"),
        (68, "Compare"),
    ):
        second = "".join(piece for piece, _ in heading_lines(heading, width, 2, UNICODE)[1])
        assert second.rstrip().endswith(text) and len(second) <= width


def test_a_narrow_heading_names_the_sweep_and_every_view() -> None:
    heading = replace(HEADING, name="llama-1b-sweep", state="interrupted", done=32, total=32)
    first, second = ("".join(piece for piece, _ in row) for row in heading_lines(heading, 58, 2, UNICODE))
    assert "llama-1b-sweep" in first and first.endswith("30 %  interrupted")
    assert "▸2 Monitor" in second and "5 Compare" in second


NOISY = tuple(
    (words, "warning") for words in ("⚑ noisy: other processes use 150% CPU", "⚑ noisy 150%", "⚑ noisy", "⚑")
)
QUIET = tuple((words, "good") for words in ("● quiet machine", "● quiet", "●"))


@pytest.mark.parametrize(
    ("light", "notes", "width", "end"),
    [
        (NOISY, ("2 Hz",), 118, "⚑ noisy: other processes use 150% CPU   2 Hz"),
        (NOISY, ("2 Hz",), 78, "⚑ noisy   2 Hz"),
        (QUIET, ("quiet, 1 Hz",), 78, "●   quiet, 1 Hz"),
        (QUIET, ("frozen: space", "quiet, 1 Hz"), 78, "●   frozen: space"),
        (NOISY, ("/a filter that is as long as a line", "2 Hz"), 78, "⚑ noisy   2 Hz"),
        (NOISY, (), 64, "⚑"),
        (NOISY, (), 61, "Compare"),
    ],
)
def test_noise_light_and_notes_never_cut_the_navigation(
    light: tuple[Span, ...], notes: tuple[str, ...], width: int, end: str
) -> None:
    heading = replace(HEADING, light=light, notes=notes)
    second = "".join(piece for piece, _ in heading_lines(heading, width, 2, UNICODE)[1])
    assert "5 Compare" in second and second.rstrip().endswith(end) and len(second) <= width
