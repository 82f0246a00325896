import pytest

from benchtui.sessions.estimates.eta import StepsLeft
from benchtui.themes.symbols import UNICODE
from benchtui.tui.drawing.styled_text import Line
from benchtui.tui.panels.case_panel import Current, PanelMetrics, Part, current_lines, needs_words, part_lines

PARTS = (
    Part("tokenize", 0.93, 0.033),
    Part("transfer", 0.21, 0.007),
    Part("forward", 26.54, 0.95),
    Part("result", 0.31, 0.01),
)
METRICS = PanelMetrics(212, 27.87, 28.61, 0.3, 574.1)


def text(lines: list[Line]) -> list[str]:
    return ["".join(part for part, _ in row) for row in lines]


def current(metrics: PanelMetrics | None = METRICS) -> Current:
    needed = StepsLeft(40, rough=True)
    return Current("cuda:0 bs=16", "case 15 of 32", "measuring", "accent", 212, 252, needed, metrics=metrics)


@pytest.mark.parametrize(
    ("needed", "words"),
    [
        (StepsLeft(15), "15 more steps"),
        (StepsLeft(1), "1 more step"),
        (StepsLeft(40, percent=0.3, rough=True), "about 40 more steps for ±0.3 %"),
        (StepsLeft(230, rough=True, min_time_s=2.5), "about 230 more steps for 2.5 s"),
        (StepsLeft(250, rough=True), "about 250 more steps to estimate the noise"),
        (StepsLeft(90, limited=True), "time for 90 more steps"),
    ],
)
def test_steps_that_a_round_still_needs_are_shown_with_what_they_are_for(needed: StepsLeft, words: str) -> None:
    assert needs_words(needed, UNICODE) == words


def test_metrics_are_one_line_with_what_is_still_needed() -> None:
    assert text(current_lines(current(), 120, 2, UNICODE))[1] == (
        "step 27.9 ms   p99 28.6   ±0.30 %   n 212   574 samples/s   about 40 more steps to estimate the noise"
    )


def test_an_interval_wider_than_the_median_has_no_number() -> None:
    (row,) = text(
        current_lines(current(PanelMetrics(3, 20.0, None, 872.5, 50.0, unsteady=True)), 120, 2, UNICODE)
    )[1:]
    assert "±>100 %" in row and "872" not in row and "p99" not in row
    assert "≈50 samples/s" in row, "two digits, since the figures are a guess"


def test_parts_have_a_row_each_with_name_time_bar_and_share() -> None:
    rows = text(part_lines(PARTS, 30, 6, UNICODE))
    assert rows[0] == "tokenize 0.930 ms ▎        3 %"
    assert rows[2] == "forward   26.5 ms █████▊  95 %"
    assert {len(row) for row in rows} == {30}


def test_the_smallest_of_too_many_parts_are_summed_up() -> None:
    rows = text(part_lines(PARTS, 76, 2, UNICODE))
    assert [row.split()[0] for row in rows] == ["forward", "others"]
    assert f"{100 * (1 - PARTS[2].share):.0f} %" in rows[1]
    assert part_lines(PARTS, 19, 2, UNICODE) == part_lines(PARTS, 76, 0, UNICODE) == []
