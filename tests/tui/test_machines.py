import pytest

from benchtui.tui.machines import held_down


@pytest.mark.parametrize(
    ("throttle", "said"),
    [
        ([], ("", False)),
        ([None, ""], ("", False)),
        (["hw_thermal", ""], ("", False)),
        (["", "sw_power_cap"], ("clock held by sw power cap", False)),
        (["sw_power_cap+hw_thermal", None], ("clock held by sw power cap, hw thermal", True)),
        (["\x1b[2Jhw_slowdown"], ("clock held by [2Jhw slowdown", False)),
    ],
)
def test_the_newest_word_on_the_clock(throttle: list[str | None], said: tuple[str, bool]) -> None:
    assert held_down(throttle) == said
