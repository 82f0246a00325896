import pytest

from benchtui.themes.symbols import UNICODE
from benchtui.tui.panels.case_panel import Part
from benchtui.tui.panels.zoom import Zoomed, zoom_lines


@pytest.mark.parametrize("count", [1, 4, 5, 12])
def test_zoomed_step_breakdown_names_each_part_once(count: int) -> None:
    parts = tuple(Part(f"part-{index:02}", 1.0, 1 / count) for index in range(count))
    rows = ["".join(text for text, _ in row) for row in zoom_lines(Zoomed("parts", parts), 80, 30, UNICODE)]
    assert [row[:7] for row in rows] == [part.name for part in parts]


def test_zoomed_step_breakdown_without_parts_has_a_hint() -> None:
    ((hint, *_),) = zoom_lines(Zoomed("parts", ()), 80, 30, UNICODE)
    assert hint[0] == "no measured steps with parts"
