from typing import Any

import pytest

from benchtui.sessions.stats.distribution import distribution
from benchtui.themes.symbols import ASCII, UNICODE, Symbols
from benchtui.tui.panels.signs import Signs
from benchtui.tui.panels.step_axis import Axis, Spread
from benchtui.tui.panels.step_band import Band, band_lines

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


def test_the_axis_starts_at_zero_in_a_low_plot() -> None:
    for height in (4, 5, 8):
        assert any(row.strip().startswith("0 ┤") for row in text(band(STEADY), height=height))
        assert not any("≈" in row for row in text(band(STEADY), height=height))


def test_a_tall_plot_of_steady_steps_marks_the_break_of_its_axis() -> None:
    rows = text(band(STEADY), height=12)
    (at,) = [place for place, row in enumerate(rows) if "≈" in row]
    assert rows[at].split() == ["≈" * len(rows[at].strip())]
    assert rows[at + 1].strip().startswith("0 ┤") and rows[at - 1].split()[0] == "345"
    assert text(band(STEADY), height=12, symbols=ASCII)[at].strip().startswith("~~~")


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


def test_the_axis_below_counts_time_where_steps_are_long() -> None:
    below = text(band([12_000.0] * 40, planned=60), height=4)[-1]
    plot = text(band([12_000.0] * 40, planned=60), height=4)[0]
    assert below.index("5 m") - plot.index("┼") - 1 == 300 // 12 - 1
    assert "10 m" in below and "step" not in below


def test_throttling_is_named_where_a_low_plot_has_no_room_for_its_strip() -> None:
    rows = text(band([10.0] * 60, signs=Signs(throttled=((5, 9),))), height=4)
    assert "⚑ throttled" in rows[-1]


def test_nothing_is_drawn_without_steps_or_space() -> None:
    assert text(Band([], [], (0, 0), 20, None)) == []
    assert text(band([1.0]), width=15) == [] and text(band([1.0]), height=2) == []


def test_more_steps_than_planned_still_fit() -> None:
    rows = text(band([10.0] * 100), width=42, height=7)
    assert "4 steps per column" in rows[-1]
