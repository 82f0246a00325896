from typing import Any

import pytest

from benchtui.sessions.stats.distribution import distribution
from benchtui.themes.symbols import ASCII, UNICODE, Symbols
from benchtui.tui.panels.signs import Grid, Signs
from benchtui.tui.panels.step_axis import Axis, Spread
from benchtui.tui.panels.step_band import Band, Frame, StepColumn, band_lines

STEADY = [360.0 + step % 9 for step in range(120)]
HEAVY = [10.0 + (step % 10) ** 2 / 3 for step in range(120)]


def axis_of(times_ms: list[float], before: Axis | None = None) -> Axis:
    stats = distribution(times_ms)
    assert stats is not None and stats.least is not None and stats.median is not None and stats.most is not None
    spread = Spread(stats.n, stats.least, stats.median, stats.most, stats.p5_to_p95)
    return Axis.of(spread, before)


def band(times_ms: list[float], warmup: tuple[float, ...] = (), planned: int = 0, **more: Any) -> Band:
    stats = distribution(times_ms)
    assert stats is not None
    total = len(times_ms) + len(warmup)
    return Band(
        list(warmup),
        times_ms,
        (len(warmup), len(times_ms)),
        max(planned, total),
        axis_of(times_ms),
        stats.median,
        stats.p99,
        stats.p5_to_p95,
        **more,
    )


def text(drawn: Band, width: int = 76, height: int = 5, symbols: Symbols = UNICODE) -> list[str]:
    return ["".join(part for part, _ in row) for row in band_lines(drawn, width, height, symbols)]


def frame(top: float, rows: int, **more: Any) -> Frame:
    axis = Axis(top)
    return Frame.of(axis.rows(rows), Band([], [], (0, 0), 0, axis, **more), UNICODE)


def test_the_axis_starts_at_zero_in_a_low_plot() -> None:
    for height in (4, 5, 8):
        assert any(row.strip().startswith("0 ┤") for row in text(band(STEADY), height=height))
        assert not any("≈" in row for row in text(band(STEADY), height=height))


def test_bars_are_as_high_as_their_times_on_an_axis_from_zero() -> None:
    heights = frame(400.0, 4)
    assert heights.rows.height(300.0) == 2 * heights.rows.height(150.0) == 3


def test_a_tall_plot_of_steady_steps_marks_the_break_of_its_axis() -> None:
    rows = text(band(STEADY), height=12)
    (at,) = [place for place, row in enumerate(rows) if "≈" in row]
    assert rows[at].split() == ["≈" * len(rows[at].strip())]
    assert rows[at + 1].strip().startswith("0 ┤") and rows[at - 1].split()[0] == "345"
    assert text(band(STEADY), height=12, symbols=ASCII)[at].strip().startswith("~~~")


def test_a_tall_plot_of_varying_steps_starts_at_zero() -> None:
    assert not any("≈" in row for row in text(band(HEAVY), height=20))


def test_the_kind_of_axis_is_chosen_once_and_then_only_grows() -> None:
    noise = [100.0 + (step * 7919 % 13) for step in range(200)]
    axis, seen = None, []
    for n in range(1, 200):
        axis = axis_of(noise[:n], axis)
        seen.append(axis)
    kinds = [axis.narrow is not None for axis in seen]
    assert kinds == [False] * 39 + [True] * 160
    tops = [axis.top for axis in seen]
    assert tops == sorted(tops)
    lows = [axis.narrow.low for axis in seen if axis.narrow]
    assert lows == sorted(lows, reverse=True)


def test_an_axis_that_starts_at_zero_is_never_broken_later() -> None:
    varying = axis_of(HEAVY)
    assert varying.narrow is None and axis_of(STEADY, varying).narrow is None


def test_slow_first_steps_do_not_flatten_all_others() -> None:
    first = axis_of([500.0])
    assert axis_of([500.0, 10.0, 10.0, 10.0], first).top <= 20.0


def test_one_slow_step_does_not_flatten_the_rest() -> None:
    assert axis_of([10.0] * 60 + [500.0]).top <= 20.0


def test_the_axis_of_zero_length_steps_is_not_empty() -> None:
    assert axis_of([0.0] * 60).top > 0
    assert len(text(band([0.0] * 60), height=12)) == 12


def test_a_column_is_solid_up_to_its_minimum_wherever_that_is() -> None:
    drawn = frame(3.0, 3)
    for least, most in ((0.0, 0.0), (1.0, 1.0), (1.0, 2.5), (2.0, 3.0), (2.25, 2.75), (3.0, 3.0), (0.5, 9.0)):
        solid = [cell == ("█", "accent") for cell in drawn.cells(StepColumn(least, most, False))]
        assert sum(solid) == int(least) and solid == sorted(solid)


def test_the_grid_fits_all_planned_steps() -> None:
    assert Grid.of(25, 76) == Grid(steps=1, cells=3)
    assert Grid.of(76, 76) == Grid(steps=1, cells=1)
    assert Grid.of(77, 76) == Grid(steps=2, cells=1)
    assert Grid.of(0, 76) == Grid(steps=1, cells=4)


def test_a_cell_is_filled_in_eighths() -> None:
    assert [glyph for glyph, _ in frame(4.0, 4).cells(StepColumn(2.5, 2.5, False))] == [" ", "▄", "█", "█"]


def test_a_column_is_shaded_above_its_minimum() -> None:
    assert frame(4.0, 4).cells(StepColumn(0.5, 2.5, False)) == [
        (" ", "plain"),
        ("▄", "soft"),
        ("█", "soft"),
        ("▄", "haze"),
    ]


def test_warm_up_steps_are_hatched() -> None:
    assert frame(2.0, 2).cells(StepColumn(1.5, 1.5, True)) == [("▄", "muted"), ("╱", "muted")]


def test_a_step_above_the_scale_is_marked() -> None:
    assert frame(2.0, 2).cells(StepColumn(1.0, 9.0, False))[0] == ("▴", "warning")
    assert "▴ off scale" in text(band([10.0] * 60 + [90.0]))[-1]


def test_an_outlier_is_marked_above_its_bar() -> None:
    cells = frame(4.0, 4).cells(StepColumn(1.5, 1.5, False, outlier=True))
    assert [glyph for glyph, _ in cells] == [" ", "▾", "▄", "█"]


def test_the_range_of_most_steps_is_shaded_where_no_bar_stands() -> None:
    cells = frame(10.0, 10, typical=(2.0, 6.0)).cells(StepColumn(4.0, 4.0, False))
    assert [glyph for glyph, _ in cells] == [" "] * 4 + ["░"] * 2 + ["█"] * 4
    assert "░ p5 to p95" in text(band([100.0 + step % 20 for step in range(60)]), height=12)[-1]


def test_lines_of_median_and_p99_are_labeled() -> None:
    rows = text(band(STEADY, planned=300), height=12)
    (p50,) = [row for row in rows if row.startswith("p50 364 ms ┼")]
    (p99,) = [row for row in rows if row.startswith("p99 368 ms ┼")]
    assert p50.endswith("──────") and p99.endswith("╌╌╌╌╌")
    assert not any("p99" in row for row in text(band(STEADY[:60], planned=300), height=12))


@pytest.mark.parametrize(
    ("step_ms", "label"), [(0.056, "0.0560 ms"), (5.6, "5.60 ms"), (360.0, "360 ms"), (12_500.0, "12.5 s")]
)
def test_labels_have_one_unit_and_never_push_the_axis(step_ms: float, label: str) -> None:
    for height in (4, 12, 20):
        rows = text(band([step_ms] * 60), height=height)
        assert any(row.startswith(f"p50 {label} ┼") for row in rows)
        drawn = [row for row in rows if any(sign in row[:16] for sign in "┤│┼")]
        assert len({next(at for at, sign in enumerate(row) if sign in "┤│┼") for row in drawn}) == 1
        assert {row.split("┤")[0].split()[-1] for row in drawn if "┤" in row} <= {label.split()[1], "0"}


@pytest.mark.parametrize("symbols", [UNICODE, ASCII])
@pytest.mark.parametrize("size", [(76, 4), (76, 5), (82, 10), (116, 12), (190, 20)])
def test_every_row_fits_the_panel(size: tuple[int, int], symbols: Symbols) -> None:
    signs = Signs(outliers=(3,), throttled=((5, 27),), compiling=(1,), rounds=((2, 30),))
    for times_ms in (STEADY, HEAVY, [12_500.0] * 40, [5.6] * 3, [0.4] * 10_000):
        rows = text(band(times_ms, (900.0,), signs=signs), *size, symbols)
        assert len(rows) == size[1] and max(map(len, rows)) <= size[0]
        assert symbols is UNICODE or "".join(rows).isascii()


def test_the_axis_below_counts_steps_after_the_warm_up() -> None:
    rows = text(band([10.0] * 60, (20.0,) * 4), width=80)
    below, plot = rows[-1], rows[0]
    start = plot.index("┼") + 1
    assert below[start:].startswith("warm-up")
    assert plot[below.index("step 20") + len("step ")] == plot[start + 4 + 19]


def test_the_axis_below_counts_time_where_steps_are_long() -> None:
    below = text(band([12_000.0] * 40, planned=60), height=4)[-1]
    plot = text(band([12_000.0] * 40, planned=60), height=4)[0]
    assert below.index("5 m") - plot.index("┼") - 1 == 300 // 12 - 1
    assert "10 m" in below and "step" not in below


def test_rounds_are_marked_at_their_first_step() -> None:
    rows = text(band([10.0] * 60, signs=Signs(rounds=((2, 30),))))
    assert rows[-1].index("round 2") - rows[0].index("┼") - 1 == 30


def test_strips_show_throttling_and_compilation_only_if_there_was_any() -> None:
    plain = text(band([10.0] * 60), height=10)
    assert not any("throttled" in row or "compiling" in row for row in plain)
    signs = Signs(throttled=((5, 9),), compiling=(1,))
    rows = text(band([10.0] * 60, signs=signs), height=10)
    start = rows[0].index("┼" if "┼" in rows[0] else "┤") + 1
    (throttled,) = [row for row in rows if row.startswith("throttled")]
    (compiling,) = [row for row in rows if row.startswith("compiling")]
    assert [at - start for at, sign in enumerate(throttled) if sign == "━"] == [5, 6, 7, 8]
    assert [at - start for at, sign in enumerate(compiling) if sign == "━"] == [1]


def test_throttling_is_named_where_a_low_plot_has_no_room_for_its_strip() -> None:
    rows = text(band([10.0] * 60, signs=Signs(throttled=((5, 9),))), height=4)
    assert "⚑ throttled" in rows[-1]


def test_nothing_is_drawn_without_steps_or_space() -> None:
    assert text(Band([], [], (0, 0), 20, None)) == []
    assert text(band([1.0]), width=15) == [] and text(band([1.0]), height=2) == []


def test_the_phase_replaces_missing_steps() -> None:
    (row,) = text(Band((), (), (0, 0), 0, None, caption="loading model"))
    assert row == "loading model"


def test_more_steps_than_planned_still_fit() -> None:
    rows = text(band([10.0] * 100), width=42, height=7)
    assert "4 steps per column" in rows[-1]
