from collections.abc import Sequence
from math import exp, log, sqrt
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.compare.align import ComparedSession, PairwiseComparison, compare_sessions
from benchtui.sessions.compare.overall import Overall, overall, overall_of_records
from benchtui.sessions.payloads import Environment, Reported
from benchtui.sessions.report.compare import case_table
from benchtui.sessions.report.compare_columns import full_columns
from benchtui.sessions.report.comparison.decision import setup_sentence
from benchtui.sessions.stats.quantiles import student_t_quantile
from benchtui.sessions.stats.ratios import MACHINE_SPEED, Comparison
from benchtui.sessions.stats.sampling import Bounds
from benchtui.sessions.stats.verdicts import Doubt, Ratio, Verdict

SHARED = {"environment": Environment(processors=2, gpu_processes=1)}


def compared(bench: Any, *times_ms: tuple[float, float], disturbed: int = 0) -> PairwiseComparison:
    """Two sessions with these steps of each case; the first cases of the new one were disturbed."""
    old = [bench.case(size, before) for size, (before, _) in enumerate(times_ms, 1)]
    new = [
        bench.case(size, after, end=SHARED if size <= disturbed else {})
        for size, (_, after) in enumerate(times_ms, 1)
    ]
    sides = [ComparedSession.of(name, bench.session(*made)) for name, made in (("old", old), ("new", new))]
    return compare_sessions(sides).against[0]


def test_all_cases_together_show_what_no_case_alone_does(bench: Any) -> None:
    losses = (1.045, 1.05, 1.055, 1.05)
    against = compared(bench, *((10.0 * size, 10.0 * size * by) for size, by in enumerate(losses, 1)))
    assert {row.verdict for row in against.rows} == {Verdict.UNSURE}
    found = against.overall
    assert found is not None
    logs = [-log(by) for by in losses]
    center = sum(logs) / 4
    error = sqrt(sum((each - center) ** 2 for each in logs) / 3 / 4 + 2 * 0.003**2)
    half, sure = (student_t_quantile(share, 3) * error for share in (0.975, 0.995))
    bounds = found.ratio.bounds
    assert bounds is not None and (found.cases, found.disturbed) == (4, 0)
    ends = (bounds.value, bounds.low, bounds.high, bounds.sure_low, bounds.sure_high)
    assert ends == pytest.approx([exp(center + by) for by in (0, -half, half, -sure, sure)], rel=1e-4)
    assert found.ratio.verdict is Verdict.SLOWER
    assert against.loss == pytest.approx(exp(-center - sure) - 1, rel=1e-3)


def test_cases_that_differ_in_direction_are_no_loss(bench: Any) -> None:
    against = compared(bench, (10.0, 12.0), (20.0, 18.0), (30.0, 33.0), (40.0, 36.0))
    assert against.overall is not None
    assert (against.overall.ratio.verdict, against.overall.ratio.doubt) == (Verdict.UNSURE, Doubt.WIDE)
    assert against.loss == 0


def test_a_single_case_is_itself_and_a_few_keep_their_bounds(bench: Any) -> None:
    one = compared(bench, (10.0, 11.0))
    assert one.overall is not None and one.overall.ratio == one.rows[0].ratio
    two = compared(bench, (10.0, 11.0), (10.0, 11.0))
    assert two.overall is not None and two.overall.ratio.bounds is not None
    single = two.rows[0].ratio
    assert single is not None and single.low is not None
    assert two.overall.ratio.low == pytest.approx(single.low, rel=1e-3)


def test_disturbed_cases_are_left_out_while_there_are_enough_others(bench: Any) -> None:
    times = [(10.0, 30.0), *((10.0 * size, 10.5 * size) for size in range(2, 6))]
    found = compared(bench, *times, disturbed=1).overall
    assert found is not None
    assert (found.cases, found.disturbed) == (4, 1)
    assert found.ratio.value == pytest.approx(1 / 1.05, rel=1e-3)
    few = compared(bench, *times[:4], disturbed=1).overall
    assert few is not None and (few.cases, few.disturbed) == (3, 1), "one that isn't shown counts for nothing"
    assert few.ratio.value == pytest.approx(1 / 1.05, rel=1e-3)


def test_mean_without_an_interval_names_what_was_outside(bench: Any) -> None:
    against = compared(bench, (10.0, 10.5), (20.0, 21.0), disturbed=2)
    found = against.overall
    assert found is not None and found.ratio.bounds is None and found.ratio.shown is None
    doubt = "UNSURE: load or clock may explain it"
    assert setup_sentence(against) == f"Undecided: B (new) against A (old) over 2 cases, {doubt}."
    table = case_table(against, full_columns, against.rows)
    assert table is not None and "Ratio (×)" not in table.titles
    assert {row[table.titles.index("Verdict")] for row in table.rows} == {doubt}
    assert (found.ratio.doubt, found.ratio.outside) == (Doubt.OUTSIDE, ("another process used the GPU",))


def test_of_nothing_there_is_no_mean() -> None:
    assert overall([], []) is None


def test_cases_without_an_interval_are_left_out_while_there_are_enough_others(bench: Any) -> None:
    short = bench.case(9, [90.0, 91.0])
    cases = [*(bench.steady(size, 10.0 * size) for size in range(1, 5)), short]
    sides = [ComparedSession.of(name, bench.session(*cases)) for name in ("old", "new")]
    against = compare_sessions(sides).against[0]
    assert against.count(Verdict.SAME) == 4 and against.count(Verdict.UNSURE) == 1
    found = against.overall
    assert found is not None and (found.cases, found.disturbed, found.unbounded) == (4, 0, 1)
    assert found.ratio.verdict is Verdict.SAME
    assert setup_sentence(against).startswith(
        "Run either: B (new) is 1.000 × as fast as A (old) over 4 of 5 cases ("
    )
    assert setup_sentence(against).endswith("), SAME; 4 SAME and 1 UNSURE.")


def test_mean_of_reported_ratios_is_reported(bench: Any) -> None:
    def session(factor: float) -> Any:
        figures = [Reported(latency_mean_ms=10.0 * factor, samples_per_s=100.0 / factor)] * 2
        return bench.session(
            *(bench.case(size, outcome="ok", end={"reported": each}) for size, each in enumerate(figures, 1))
        )

    sides = [ComparedSession.of(name, session(factor)) for name, factor in (("old", 2.0), ("new", 1.0))]
    found = compare_sessions(sides).against[0].overall
    assert found is not None and found.ratio.verdict is Verdict.REPORTED


def together(*ratios: Ratio, paces: Sequence[tuple[float, float] | None] = ()) -> Overall:
    nobody: Any = None
    found = overall([Comparison(nobody, nobody, ratio, None) for ratio in ratios], paces)
    assert found is not None
    return found


def ratio(value: float, **fields: Any) -> Ratio:
    bounds = Bounds(value, value / 1.1, value * 1.1, value / 1.2, value * 1.2)
    return Ratio(value, **{"bounds": bounds, "rounds": 3} | fields)


FOUR = [ratio(value) for value in (1.1, 1.2, 1.1, 1.2)]


def test_mean_names_neighbors_by_what_they_did_and_not_by_their_processes() -> None:
    why = ("other processes were running: make (bob)",), ("other processes were running: cc1 (eve)", "heat")
    found = together(*(ratio(1.1, bounds=None, outside=outside) for outside in why))
    assert found.ratio.outside == ("other processes were running", "heat")
    assert together(*FOUR[:2]).ratio.outside == ()


def test_case_without_a_rate_is_no_part_of_the_mean() -> None:
    nobody: Any = None
    assert overall([Comparison(nobody, nobody, Ratio(0.0), None)], ()) is None
    assert together(Ratio(0.0), *FOUR).cases == 4


def test_speed_of_the_machine_is_no_disturbance_and_widens_the_mean_once() -> None:
    paced = [replace(each, outside=(MACHINE_SPEED,)) for each in FOUR]
    found = together(*paced, ratio(3.0, outside=(MACHINE_SPEED, "heat")), paces=[(0.9, 1.0), None, (0.95, 1.2)])
    assert (found.cases, found.disturbed) == (4, 1)
    plain = together(*FOUR).ratio
    assert plain.bounds is not None and found.ratio.bounds == plain.bounds.wider(1.2, 1 / 0.9)
    assert (found.ratio.outside, plain.outside) == ((MACHINE_SPEED,), ())
    assert together(*FOUR, paces=[None, None]).ratio == plain
    few = together(*FOUR[:3], paces=[(0.5, 2.0)]).ratio
    assert few.bounds == together(*FOUR[:3]).ratio.bounds, "their own intervals are wider already"


def test_mean_is_as_doubtful_as_its_cases() -> None:
    unlike = ratio(1.1, rounds=5, same_within=0.04, reported=True, unlike_files=True)
    both, alike = together(ratio(1.1, same_within=0.02), unlike).ratio, together(unlike, unlike).ratio
    assert (both.rounds, both.same_within, both.reported, both.unlike_files) == (3, 0.04, False, True)
    assert (alike.rounds, alike.reported) == (5, True)
    assert not together(*FOUR).ratio.unlike_files


def test_errors_of_speeds_relative_to_records_are_independent() -> None:
    one = Bounds(1.0, 1 / 1.1, 1.2, 1 / 1.3, 1.4)
    found = overall_of_records([Ratio(1.0, one), Ratio(1.21, one.times(1.21))])
    by = 1 / sqrt(2)
    ends = (1.1, 1.1 / 1.1**by, 1.1 * 1.2**by, 1.1 / 1.3**by, 1.1 * 1.4**by)
    assert found and found.ratio.bounds == Bounds(*(pytest.approx(end) for end in ends))


BARE, HOT = ratio(3.0, bounds=None), ratio(1.1, outside=("heat",))


@pytest.mark.parametrize(
    ("ratios", "counts"),
    [
        ([], None),
        ([BARE] * 2, (2, 0, 0)),
        ([ratio(1.1), HOT], (2, 0, 0)),
        ([ratio(1.1), HOT, BARE, BARE, replace(BARE, outside=("heat",))], (2, 1, 2)),
    ],
)
def test_records_without_an_interval_are_left_out_while_there_are_others(
    ratios: Sequence[Ratio], counts: tuple[int, int, int] | None
) -> None:
    found = overall_of_records(ratios)
    assert (found and (found.cases, found.disturbed, found.unbounded)) == counts
    assert found is None or found.ratio.value == pytest.approx(3.0 if BARE in ratios[:1] else 1.1)


def test_mean_that_needs_a_case_without_an_interval_has_none() -> None:
    assert (together(*FOUR[:3], BARE).cases, together(*FOUR[:3], BARE).ratio.bounds) == (4, None)


def test_bounds_of_a_few_cases_are_the_mean_of_theirs() -> None:
    bounds = together(ratio(1.0), ratio(1.21), ratio(1.1)).ratio.bounds
    ends = (1.1, 1.0, 1.21, 1.1 / 1.2, 1.32)
    assert bounds == Bounds(*(pytest.approx(end) for end in ends))
