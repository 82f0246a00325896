from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.compare import align
from benchtui.sessions.compare.align import (
    ComparedSession,
    PairwiseComparison,
    SessionComparison,
    compare_sessions,
)
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Peaks, Runtime
from benchtui.sessions.report.compare import markdown
from benchtui.sessions.report.compare_columns import own_marks
from benchtui.sessions.report.compare_json import as_json
from benchtui.sessions.report.comparison import systems
from benchtui.sessions.report.comparison.interpretation import OTHER_WEIGHTS, interpretation
from benchtui.sessions.state.judging import VerdictSettings
from benchtui.sessions.stats.verdicts import Doubt, Verdict
from benchtui.sessions.sweep import Sweep


def against(
    bench: Any,
    base: tuple[Any, ...],
    new: tuple[Any, ...],
    sweeps: tuple[Sweep | None, Sweep | None] = (None, None),
) -> PairwiseComparison:
    sides = [
        ComparedSession.of(name, bench.session(*made, sweep=sweep))
        for name, made, sweep in zip(("base", "new"), (base, new), sweeps, strict=True)
    ]
    return compare_sessions(sides).against[0]


def verdicts(found: PairwiseComparison) -> list[str | None]:
    return [row.verdict.name if row.verdict else None for row in found.rows]


def test_cases_are_aligned_by_options_not_by_position(bench: Any) -> None:
    found = against(
        bench,
        (bench.steady(1, 10.0), bench.steady(2, 20.0), bench.steady(4, 40.0)),
        (bench.steady(4, 20.0), bench.steady(1, 10.0), bench.steady(2, 30.0)),
    )
    assert verdicts(found) == ["SAME", "SLOWER", "FASTER"]
    assert found.rows[2].ratio is not None
    assert found.rows[2].ratio.value == pytest.approx(2.0)
    assert found.ignored == ()
    assert [found.count(verdict) for verdict in Verdict] == [1, 1, 1, 0, 0]


def test_unmatched_cases_are_listed_after_the_pairs(bench: Any) -> None:
    found = against(
        bench, (bench.steady(1, 10.0), bench.steady(2, 20.0)), (bench.steady(1, 10.0), bench.steady(8, 10.0))
    )
    assert verdicts(found) == ["SAME", None, None]
    assert [case.config.batch_size for case in found.only("base")] == [2]
    assert [case.config.batch_size for case in found.only("new")] == [8]
    assert not any(row.lost for row in found.rows)


def test_case_that_is_no_longer_measured_is_lost(bench: Any) -> None:
    found = against(
        bench,
        (bench.case(1, 10.0), bench.case(2, 20.0), bench.case(4, outcome="oom")),
        (bench.case(1, outcome="oom"), bench.case(2, outcome=None), bench.case(4, 40.0)),
    )
    assert [row.lost for row in found.rows] == [True, True, False]
    assert found.compared == ()


def test_sessions_on_two_devices_are_aligned_ignoring_the_device(bench: Any) -> None:
    found = against(
        bench,
        (bench.case(8, 450.0, device="cpu"), bench.case(16, 900.0, device="cpu")),
        (bench.case(8, 16.0, device="cuda:0"), bench.case(16, 30.0, device="cuda:0")),
    )
    assert found.ignored == ("device",)
    assert verdicts(found) == ["FASTER", "FASTER"]


def test_default_of_an_ignored_option_has_a_name(bench: Any) -> None:
    sides = [
        ComparedSession.of(f"{threads}", bench.session(bench.case(8, 10.0, threads=threads)))
        for threads in (1, 0)
    ]
    found = compare_sessions(sides)
    assert found.against[0].ignored == ("threads",)
    (difference,) = [each for each in found.differences if each.what == "threads"]
    assert difference.values == ("1", "default")
    assert systems.pairing(found.against[0]) == "Cases are paired ignoring threads: A is 1, B is default."


def test_only_options_constant_within_each_session_are_ignored(bench: Any) -> None:
    found = against(
        bench,
        (bench.case(8, 450.0, device="cpu"),),
        (bench.case(8, 16.0, device="cuda:0"), bench.case(8, 8.0, device="cuda:0", precision="fp16")),
    )
    assert found.ignored == ("device",)
    assert verdicts(found) == ["FASTER", None]
    assert found.only("new")[0].config.precision == "fp16"


@pytest.mark.parametrize("option", ["batch_size", "sequence_length"])
def test_cases_with_different_work_are_never_aligned(bench: Any, option: str) -> None:
    options = {"batch_size": 1, "sequence_length": 32}
    other = options | {option: 64, "device": "cuda:0"}
    found = against(bench, (bench.case(ms=1.0, **options),), (bench.case(ms=1.0, **other),))
    assert found.compared == found.ignored == ()


def test_different_models_are_aligned_if_each_session_has_one(bench: Any) -> None:
    sweeps = (Sweep(name="s", model="bert"), Sweep(name="s", model="gpt2"))
    found = against(bench, (bench.case(1, 10.0),), (bench.case(1, 20.0),), sweeps)
    assert found.ignored == ("model",)
    tasks = (Sweep(name="s", model="m"), Sweep(name="s", model="m", task="lm-train"))
    assert against(bench, (bench.case(1, 10.0),), (bench.case(1, 20.0),), tasks).compared == ()


def test_newest_successful_run_of_a_rerun_case_counts(bench: Any) -> None:
    again = (bench.steady(1, 10.0), bench.steady(1, 20.0), bench.case(1, outcome="failed"))
    found = against(bench, (bench.steady(1, 20.0),), again)
    assert verdicts(found) == ["SAME"]


def test_cases_of_other_step_sizes_are_compared_per_sample(bench: Any) -> None:
    found = against(bench, (bench.steady(1, 10.0),), (bench.steady(1, 40.0, prepared={"samples_per_step": 4}),))
    assert verdicts(found) == ["SAME"]
    assert found.rows[0].pair is not None
    assert found.rows[0].pair.latency is not None
    assert found.rows[0].pair.latency.value == pytest.approx(0.25)


def test_gate_checks_the_whole_interval(bench: Any) -> None:
    found = against(bench, (bench.steady(1, 10.0),), (bench.steady(1, 10.6),))
    ratio = found.rows[0].ratio
    assert ratio is not None
    assert ratio.bounds is not None
    assert 1 / ratio.value - 1 == pytest.approx(0.06)
    sure, likely = 1 / ratio.bounds.sure_high - 1, 1 / ratio.bounds.high - 1
    assert 0.04 < sure < likely < 0.06
    assert found.regressions(sure * 0.99) == found.rows
    assert found.regressions(sure * 1.01) == ()


def test_gate_passes_faster_same_and_unsure_but_fails_lost_cases(bench: Any) -> None:
    base = (bench.steady(1, 10.0), bench.steady(2, 10.0), bench.case(4, [10.0] * 3), bench.case(8, 10.0))
    new = (
        bench.steady(1, 5.0),
        bench.steady(2, 10.0),
        bench.case(4, [90.0] * 3),
        bench.case(8, outcome="failed"),
    )
    found = against(bench, base, new)
    assert verdicts(found) == ["FASTER", "SAME", "UNSURE", None]
    assert found.regressions(0.0) == (found.rows[3],)


def test_single_rounds_are_never_judged_the_same(bench: Any) -> None:
    (row,) = against(bench, (bench.case(1, 10.0),), (bench.case(1, 10.0),)).rows
    assert row.verdict is Verdict.UNSURE
    assert row.ratio is not None
    assert row.ratio.doubt is Doubt.WIDE
    assert row.ratio.resolution == pytest.approx(0.128, abs=0.001)


def test_reader_can_set_the_margin_of_equivalence(bench: Any) -> None:
    sides = [ComparedSession.of(str(ms), bench.session(bench.steady(1, ms))) for ms in (10.0, 10.3)]
    assert verdicts(compare_sessions(sides).against[0]) == ["SLOWER"]
    near = [bench.session(bench.steady(1, ms)) for ms in (10.0, 10.12)]
    words = []
    for margin in (0.02, 0.03, 0.001):
        for session in near:
            session.judge_by(VerdictSettings(same_within=margin))
        words += verdicts(
            compare_sessions([ComparedSession.of(str(place), each) for place, each in enumerate(near)]).against[
                0
            ]
        )
    assert words == ["UNSURE", "SAME", "UNSURE"]


def test_every_session_is_compared_with_the_first(bench: Any) -> None:
    sides = [
        ComparedSession.of(name, bench.session(bench.case(1, ms)))
        for name, ms in (("a", 10.0), ("b", 5.0), ("c", 20.0))
    ]
    found = compare_sessions(sides)
    assert [(each.new_letter, each.new.name, verdicts(each)) for each in found.against] == [
        ("B", "b", ["FASTER"]),
        ("C", "c", ["SLOWER"]),
    ]
    assert found.comparable


@pytest.mark.parametrize("amount", [0, 1, 27])
def test_number_of_sessions_is_limited_to_the_letters(bench: Any, amount: int) -> None:
    with pytest.raises(BenchtuiError, match=f"^2 to 26 sessions can be compared, not {amount}"):
        compare_sessions([ComparedSession.of("a", bench.session(bench.case(1, 10.0)))] * amount)


def paced(bench: Any, flops: float | None, copies: float | None, torch: str = "2.13.0") -> PairwiseComparison:
    """Compare a case of 10 ms with one of 9 ms in a session whose peaks are higher by these factors."""
    rates = {"base": (1e11, 1e10), "new": (flops and flops * 1e11, copies and copies * 1e10)}
    sides = []
    for name, ms in (("base", 10.0), ("new", 9.0)):
        session = bench.session(bench.steady(1, ms, device="cpu"))
        session.apply(Runtime(t=0.0, torch=torch if name == "new" else "2.13.0"))
        products, moved = rates[name]
        session.apply(Peaks(t=0.0, device="cpu", precision="fp32", flops_per_s=products, bytes_per_s=moved))
        sides.append(ComparedSession.of(name, session))
    return compare_sessions(sides).against[0]


@pytest.mark.parametrize(
    ("flops", "copies", "verdict", "pace"),
    [
        (1.0, 1.0, Verdict.FASTER, (1.0, 1.0)),
        (1.05, 0.99, Verdict.FASTER, (0.99, 1.05)),
        (1.2, 1.0, Verdict.UNSURE, (1.0, 1.2)),
        (1.0, 1.2, Verdict.UNSURE, (1.0, 1.2)),
        (0.8, 0.8, Verdict.FASTER, (0.8, 0.8)),
        (1.2, None, Verdict.UNSURE, (1.2, 1.2)),
        (None, None, Verdict.FASTER, None),
        (1e-322, 1e290, Verdict.FASTER, None),
    ],
)
def test_difference_explained_by_machine_speed_is_unsure(
    bench: Any, flops: float | None, copies: float | None, verdict: Verdict, pace: tuple[float, float] | None
) -> None:
    (row,) = paced(bench, flops, copies).rows
    assert row.verdict is verdict
    assert row.machine_speedup == (pace and pytest.approx(pace))


def test_peaks_are_not_compared_across_software_versions(bench: Any) -> None:
    (row,) = paced(bench, 1.2, 1.2, torch="2.14.0").rows
    assert (row.verdict, row.machine_speedup) == (Verdict.FASTER, None)


@pytest.mark.parametrize(
    ("flops", "copies", "mark"), [(1.2, 0.95, "machine itself 0.950 to 1.20 ×"), (1.01, 0.99, None)]
)
def test_row_reports_the_machine_speed_ratio(bench: Any, flops: float, copies: float, mark: str | None) -> None:
    (row,) = paced(bench, flops, copies).rows
    assert row.pair is not None
    assert own_marks(row, row.pair, "B") == mark


def test_peaks_of_an_older_session_are_compared_with_the_fastest_runs() -> None:
    older = Peaks(t=0.0, device="cpu", precision="fp32", flops_per_s=100e9)
    newer = Peaks(t=0.0, device="cpu", precision="fp32", flops_per_s=80e9, flops_burst_per_s=100e9)
    assert (align._like(newer, older, "flops"), align._like(older, newer, "flops")) == (100e9, 100e9)
    assert align._like(newer, newer, "flops") == 80e9


@pytest.mark.parametrize(
    ("weights", "random", "other"),
    [
        ("random", (None, "a"), True),
        ("random", (None, None), False),
        ("random", ("a", "a"), False),
        ("pretrained", (None, None), False),
    ],
)
def test_answers_of_other_random_weights_are_not_compared(
    bench: Any, weights: str, random: tuple[str | None, str | None], other: bool
) -> None:
    """Sessions that an earlier version recorded have random weights without a digest."""
    sides = []
    for name, digest in zip("ab", random, strict=True):
        model = replace(bench.case(1, 10.0).model, weights=weights, random_weights=digest)
        case, answered = bench.steady(1, 10.0, model=model), bench.answered(0, "x" if digest else "y")
        sides.append(ComparedSession.of(name, bench.session(case, more=[answered])))
    compared = compare_sessions(sides)
    (row,) = compared.against[0].rows
    assert row.ratio is not None
    assert (row.other_weights, row.same_answer is None) == (other, other)
    assert (_answers(compared) == OTHER_WEIGHTS) is other
    assert ('"other_weights": true' in as_json(compared)) is other
    assert ("other weights" in markdown(compared)) is other


@pytest.mark.parametrize(
    ("digests", "dataset", "same"),
    [
        (("a", "a"), "sample", True),
        (("a", "b"), "sample", False),
        (("a", "a"), "other", None),
        (("a",), "sample", None),
    ],
)
def test_answers_are_compared_bit_for_bit(bench: Any, digests: Any, dataset: str, same: bool | None) -> None:
    sweeps = (Sweep(name="s", model="tiny"), Sweep(name="s", model="tiny", dataset=dataset))
    answered = [[bench.answered(0, digest)] for digest in digests] + [[]] * (2 - len(digests))
    sides = [
        ComparedSession.of(name, bench.session(bench.steady(1, 10.0), sweep=sweep, more=more))
        for name, sweep, more in zip("ab", sweeps, answered, strict=True)
    ]
    compared = compare_sessions(sides)
    assert [row.same_answer for row in compared.against[0].rows] == [same]
    said = _answers(compared)
    assert said == {True: "the same", False: "changed in 1 of 1", None: None}[same]


def _answers(compared: SessionComparison) -> str | None:
    """Return what the interpretation says of the answers."""
    shown = interpretation(compared)
    rows = [dict(zip(shown.titles, row, strict=True)) for row in shown.rows] if shown else []
    return next((row["B"] for row in rows if row["Quantity"] == "Answers"), None)
