"""Heights of the Monitor's panels."""

import pytest

from benchtui.tui.monitor.layout import MIN_CASE_ROWS, MIN_TABLE_ROWS, sizes


@pytest.mark.parametrize("height", [20, 24, 33, 34, 40, 46, 50, 100])
@pytest.mark.parametrize("gauges", [1, 2, 5, 9, 40])
@pytest.mark.parametrize("reserved", [3, 5])
def test_every_panel_keeps_its_minimum_and_all_fit(height: int, gauges: int, reserved: int) -> None:
    found = sizes(height, reserved, gauges, cases=100)
    frame = 2 if height >= 34 else 1
    table = height - reserved - found.machine - found.top - found.log
    assert table >= MIN_TABLE_ROWS + frame or gauges == 1
    assert found.top >= MIN_CASE_ROWS + frame
    assert found.machine >= 1 + frame


def test_all_gpus_of_a_large_machine_have_a_row_on_a_usual_screen() -> None:
    assert sizes(40, 3, 9, cases=32).machine == 9 + 2
