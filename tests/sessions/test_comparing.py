from typing import Any

import pytest

from benchtui.sessions.compare import Verdict
from benchtui.sessions.comparing import Against, Side, compared
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import Sweep


def against(
    bench: Any,
    base: tuple[Any, ...],
    new: tuple[Any, ...],
    sweeps: tuple[Sweep | None, Sweep | None] = (None, None),
) -> Against:
    sides = [
        Side.of(name, bench.session(*made, sweep=sweep))
        for name, made, sweep in zip(("base", "new"), (base, new), sweeps, strict=True)
    ]
    return compared(sides).against[0]


def verdicts(found: Against) -> list[str | None]:
    return [row.verdict.name if row.verdict else None for row in found.rows]


def test_cases_correspond_by_their_options_whatever_their_place(bench: Any) -> None:
    found = against(
        bench,
        (bench.case(1, 10.0), bench.case(2, 20.0), bench.case(4, 40.0)),
        (bench.case(4, 20.0), bench.case(1, 10.0), bench.case(2, 30.0)),
    )
    assert verdicts(found) == ["SAME", "SLOWER", "FASTER"]
    assert found.rows[2].ratio is not None
    assert found.rows[2].ratio.value == pytest.approx(2.0)
    assert found.ignored == ()
    assert [found.count(verdict) for verdict in Verdict] == [1, 1, 1, 0]
    assert found.largest_gain is found.rows[2]
    assert found.largest_loss is found.rows[1]


def test_what_one_session_alone_has_is_listed_after_the_pairs(bench: Any) -> None:
    found = against(
        bench, (bench.case(1, 10.0), bench.case(2, 20.0)), (bench.case(1, 10.0), bench.case(8, 10.0))
    )
    assert verdicts(found) == ["SAME", None, None]
    assert [case.config.batch_size for case in found.only("base")] == [2]
    assert [case.config.batch_size for case in found.only("new")] == [8]
    assert not any(row.lost for row in found.rows)


def test_a_case_that_is_not_measured_any_more_is_lost(bench: Any) -> None:
    found = against(
        bench,
        (bench.case(1, 10.0), bench.case(2, 20.0), bench.case(4, outcome="oom")),
        (bench.case(1, outcome="oom"), bench.case(2, outcome=None), bench.case(4, 40.0)),
    )
    assert [row.lost for row in found.rows] == [True, True, False]
    assert found.compared == ()


def test_sessions_of_two_devices_correspond_leaving_the_device_aside(bench: Any) -> None:
    found = against(
        bench,
        (bench.case(8, 450.0, device="cpu"), bench.case(16, 900.0, device="cpu")),
        (bench.case(8, 16.0, device="cuda:0"), bench.case(16, 30.0, device="cuda:0")),
    )
    assert found.ignored == ("device",)
    assert verdicts(found) == ["FASTER", "FASTER"]


def test_only_what_each_session_has_one_value_of_is_left_aside(bench: Any) -> None:
    found = against(
        bench,
        (bench.case(8, 450.0, device="cpu"),),
        (
            bench.case(8, 16.0, device="cuda:0"),
            bench.case(8, 8.0, device="cuda:0", precision="fp16"),
        ),
    )
    assert found.ignored == ("device",)
    assert verdicts(found) == ["FASTER", None]
    assert found.only("new")[0].config.precision == "fp16"


@pytest.mark.parametrize("option", ["batch_size", "sequence_length"])
def test_other_work_never_corresponds(bench: Any, option: str) -> None:
    options = {"batch_size": 1, "sequence_length": 32}
    other = options | {option: 64, "device": "cuda:0"}
    found = against(bench, (bench.case(ms=1.0, **options),), (bench.case(ms=1.0, **other),))
    assert found.compared == found.ignored == ()


def test_models_correspond_only_where_each_session_has_but_one(bench: Any) -> None:
    sweeps = (Sweep(name="s", model="bert"), Sweep(name="s", model="gpt2"))
    found = against(bench, (bench.case(1, 10.0),), (bench.case(1, 20.0),), sweeps)
    assert found.ignored == ("model",)
    tasks = (Sweep(name="s", model="m"), Sweep(name="s", model="m", task="lm-train"))
    assert against(bench, (bench.case(1, 10.0),), (bench.case(1, 20.0),), tasks).compared == ()


def test_the_second_of_an_aa_pair_has_no_row(bench: Any) -> None:
    pair = (bench.case(1, 10.0), bench.case(1, 10.0, repeat=1))
    assert len(against(bench, pair, pair).rows) == 1


def test_of_a_case_that_was_run_again_the_newest_good_one_counts(bench: Any) -> None:
    again = (bench.case(1, 10.0), bench.case(1, 20.0), bench.case(1, outcome="failed"))
    found = against(bench, (bench.case(1, 20.0),), again)
    assert verdicts(found) == ["SAME"]


def test_steps_of_other_sizes_are_held_against_each_other_by_samples(bench: Any) -> None:
    found = against(
        bench,
        (bench.case(1, 10.0),),
        (bench.case(1, 40.0, prepared={"samples_per_step": 4}),),
    )
    assert verdicts(found) == ["SAME"]
    assert found.rows[0].pair is not None
    assert found.rows[0].pair.latency is not None
    assert found.rows[0].pair.latency.value == pytest.approx(0.25)


def test_a_gate_looks_at_the_whole_interval(bench: Any) -> None:
    found = against(bench, (bench.case(1, 10.0),), (bench.case(1, 10.6),))
    ratio = found.rows[0].ratio
    assert ratio is not None
    assert ratio.high is not None
    assert 1 / ratio.value - 1 == pytest.approx(0.06)
    sure = 1 / ratio.high - 1
    assert 0.04 < sure < 0.06
    assert found.regressions(sure * 0.99) == found.rows
    assert found.regressions(sure * 1.01) == ()


def test_a_gate_lets_faster_same_and_unsure_pass_and_lost_cases_fail(bench: Any) -> None:
    base = (bench.case(1, 10.0), bench.case(2, 10.0), bench.case(4, [10.0] * 3), bench.case(8, 10.0))
    new = (bench.case(1, 5.0), bench.case(2, 10.0), bench.case(4, [90.0] * 3), bench.case(8, outcome="failed"))
    found = against(bench, base, new)
    assert verdicts(found) == ["FASTER", "SAME", "UNSURE", None]
    assert found.regressions(0.0) == (found.rows[3],)


def test_every_further_session_is_held_against_the_first(bench: Any) -> None:
    sides = [
        Side.of(name, bench.session(bench.case(1, ms))) for name, ms in (("a", 10.0), ("b", 5.0), ("c", 20.0))
    ]
    found = compared(sides)
    assert [(each.new_letter, each.new.name, verdicts(each)) for each in found.against] == [
        ("B", "b", ["FASTER"]),
        ("C", "c", ["SLOWER"]),
    ]
    assert found.comparable


@pytest.mark.parametrize("amount", [0, 1, 27])
def test_two_sessions_and_no_more_than_letters_are_compared(bench: Any, amount: int) -> None:
    with pytest.raises(BenchtuiError, match=f"^{amount} sessions: 2 to 26 can be compared"):
        compared([Side.of("a", bench.session(bench.case(1, 10.0)))] * amount)
