from typing import Any

from benchtui.sessions.analysis.chart_series import LATENCY, SAMPLES
from benchtui.sessions.analysis.heatmap import axis_pairs, heatmap_data
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.sweep import Config, Work

BY_SIZE_AND_LENGTH = ("batch_size", "sequence_length")


def cases_of(bench: Any) -> Any:
    return bench.session(
        bench.case(1, 5.0, sequence_length=32),
        bench.case(8, 6.0, sequence_length=32),
        bench.case(1, 9.0),
        bench.case(8, outcome="oom", end={"reason": "full"}),
        bench.case(1, 3.0, precision="bf16"),
    ).cases


def test_options_with_several_values_are_axes_with_sizes_first(bench: Any) -> None:
    pairs = axis_pairs(case.config for case in cases_of(bench))
    assert pairs == (BY_SIZE_AND_LENGTH, ("batch_size", "precision"), ("sequence_length", "precision"))


def test_one_varying_option_and_imported_labels_give_no_heatmap() -> None:
    sizes = [Config(device="cpu", batch_size=size) for size in (1, 2)]
    assert axis_pairs(sizes) == ()
    for option in ("threads", "tokenizer_threads", "accumulation"):  # choices with numeric values
        assert axis_pairs([Config(device="cpu", **{option: value}) for value in (1, 2)]) == ()
    assert (
        axis_pairs([Config(device="cpu", batch_size=n, sequence_length=n, label=f"run {n}") for n in (1, 2)])
        == ()
    )


def test_other_options_are_grids_of_their_own(bench: Any) -> None:
    found = heatmap_data(cases_of(bench), metrics, SAMPLES, BY_SIZE_AND_LENGTH)
    assert (found.columns, found.rows) == ((1, 8), (32, 128))
    assert [(grid.config.precision, len(grid.points)) for grid in found.grids] == [("fp32", 4), ("bf16", 1)]
    assert [point.value for point in found.grids[0].points if point.at == (8, 128)] == [None]


def test_each_sequence_length_has_its_own_best_case(bench: Any) -> None:
    fast = heatmap_data(cases_of(bench), metrics, SAMPLES, BY_SIZE_AND_LENGTH).best()
    quick = heatmap_data(cases_of(bench), metrics, LATENCY, BY_SIZE_AND_LENGTH).best()
    assert {work: case.index for work, case in fast.items()} == {Work(32): 1, Work(128): 4}
    assert {work: case.index for work, case in quick.items()} == {Work(32): 0, Work(128): 4}
