from typing import Any

import pytest

from benchtui.sessions.analysis.roofline import (
    EITHER,
    NEITHER,
    OVER,
    UNMEASURED,
    UNTYPICAL,
    Limit,
    PeakKey,
    counts_recomputation,
    limit,
    model_flops_utilization,
    peak_key,
    sound_peaks,
)
from benchtui.sessions.events import Peaks
from benchtui.sessions.payloads import StepCost
from benchtui.sessions.sweep import Config

CPU = Peaks(t=0.0, device="cpu", precision="fp32", flops_per_s=100e9, bytes_per_s=10e9)


def found(bench: Any, work: StepCost | None, *peaks: Peaks, **options: Any) -> Limit | None:
    """Return the roofline of a case whose median step takes 100 ms."""
    case = bench.case(**{"ms": [90.0, 100.0, 110.0], "end": {"work": work}} | options)
    return limit(bench.session(case).cases[0], peaks)


def work(gflop: float, gb: float, weights_gb: float = 0.0, **more: Any) -> StepCost:
    return StepCost(flops=gflop * 1e9, bytes_moved=gb * 1e9, bytes_of_weights=weights_gb * 1e9, **more)


def test_rates_and_shares_are_computed_from_the_median_step(bench: Any) -> None:
    known = found(bench, work(6.0, 0.5, 0.1), CPU)
    assert known is not None
    assert (known.step_ms, known.flops_per_s, known.bytes_per_s) == (100.0, 60e9, 5e9)
    shares = known.shares
    assert (shares.arithmetic, shares.memory, shares.weights, shares.busy) == (0.6, 0.5, 0.1, None)
    assert (known.bound, known.reason, known.peaks) == ("arithmetic", None, CPU)


@pytest.mark.parametrize(
    ("done", "bound", "reason"),
    [
        (work(6.0, 0.5), "arithmetic", None),
        (work(1.0, 0.5, 0.4), "memory", None),
        (work(3.0, 0.5, 0.1), None, EITHER),
        (work(3.0, 2.0, 0.1), None, EITHER),
        (work(0.1, 2.0, 1.5), "memory", None),
        (work(2.4, 0.24, 0.24), None, NEITHER),
        (work(12.0, 0.5), None, OVER),
        (work(0.0, 0.9, 0.5), "memory", None),
    ],
)
def test_bound_is_named_if_the_counts_are_unambiguous(
    bench: Any, done: StepCost, bound: str | None, reason: str | None
) -> None:
    known = found(bench, done, CPU)
    assert known is not None
    assert (known.bound, known.reason) == (bound, reason)


@pytest.mark.parametrize(
    ("busy_ms", "share", "bound"), [(19.0, 0.475, "host"), (36.0, 0.9, "arithmetic"), (50.0, 1.0, "arithmetic")]
)
def test_case_with_an_idle_device_is_host_bound(bench: Any, busy_ms: float, share: float, bound: str) -> None:
    """The device's clock counts: by it, the median step takes 40 ms."""
    gpu = Peaks(t=0.0, device="cuda:0", precision="fp16", flops_per_s=1e12, bytes_per_s=1e12)
    columns = {"device_ms": [40.0, 40.0, 41.0]}
    options = {"device": "cuda:0", "precision": "amp-fp16", "threads": 4, "columns": columns}
    known = found(bench, work(20.0, 1.0, busy_ms=busy_ms), gpu, **options)
    assert known is not None
    assert (known.step_ms, known.shares.busy, known.bound) == (40.0, share, bound)
    assert known.shares.arithmetic == pytest.approx(0.5)


def test_missing_count_is_given_as_the_reason(bench: Any) -> None:
    uncounted = StepCost(absent={"flops": "no formula for int8", "bytes": "out of sight"})
    broken = Peaks(t=0.0, device="cpu", precision="fp32", bytes_per_s=1e9, absent={"flops": "killed"})
    for done, peaks, reason in (
        (uncounted, CPU, "no formula for int8"),
        (work(1.0, 1.0), broken, "peak not measured: killed"),
    ):
        known = found(bench, done, peaks)
        assert known is not None
        assert (known.bound, known.reason) == (None, reason)
    alone = found(bench, work(1.0, 1.0))
    assert alone is not None
    assert (alone.flops_per_s, alone.shares.arithmetic, alone.reason) == (10e9, None, UNMEASURED)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"device": "cpu"}, PeakKey("cpu", "fp32", 0)),
        ({"device": "cpu", "precision": "amp-bf16", "threads": 2}, PeakKey("cpu", "bf16", 2)),
        ({"device": "cuda:1", "precision": "tf32", "threads": 2}, PeakKey("cuda:1", "tf32", 0)),
        ({"device": "cpu", "precision": "int8"}, None),
        ({"device": "cpu", "precision": "fp64"}, None),
    ],
)
def test_peak_key_has_device_precision_and_cpu_threads(options: dict[str, Any], key: PeakKey | None) -> None:
    assert peak_key(Config(**options)) == key


def test_peaks_of_another_precision_or_thread_count_are_ignored(bench: Any) -> None:
    for options in ({"precision": "bf16"}, {"threads": 1}, {"precision": "int8"}):
        known = found(bench, work(1.0, 1.0), CPU, **options)
        assert known is not None and known.peaks is None


def sound(bench: Any, *works: StepCost, peaks: tuple[Peaks, ...] = (CPU,), **options: Any) -> tuple[Peaks, ...]:
    """Return the peaks that no case exceeded, with cases whose steps take 100 ms."""
    made = [bench.case(size, 100.0, end={"work": each}, **options) for size, each in enumerate(works, 1)]
    return sound_peaks(bench.session(*made).cases, peaks)


def test_rate_that_a_case_exceeded_is_not_a_peak(bench: Any) -> None:
    (peaks,) = sound(bench, work(6.0, 0.5), work(10.1, 0.5))
    assert (peaks.flops_per_s, peaks.bytes_per_s) == (None, 10e9)
    assert peaks.absent == {"flops": OVER}
    case = bench.session(bench.case(1, 100.0, end={"work": work(6.0, 0.5)})).cases[0]
    known = limit(case, [peaks])
    assert known is not None
    assert (known.shares.arithmetic, known.shares.memory, known.bound) == (None, 0.5, None)
    assert known.reason == f"peak not measured: {OVER}"


def test_cacheable_bytes_do_not_invalidate_a_peak(bench: Any) -> None:
    assert sound(bench, work(6.0, 5.0, weights_gb=0.9)) == (CPU,)
    (peaks,) = sound(bench, work(6.0, 5.0, weights_gb=1.1))
    assert (peaks.flops_per_s, peaks.bytes_per_s, peaks.absent) == (100e9, None, {"bytes": OVER})


def test_burst_rate_stands_for_a_sustained_one_that_a_case_exceeded(bench: Any) -> None:
    both = Peaks(t=0.0, device="cpu", precision="fp32", flops_per_s=100e9, flops_burst_per_s=120e9)
    assert [each.flops_per_s for each in sound(bench, work(9.0, 0.5), peaks=(both,))] == [100e9]
    (at_burst,) = sound(bench, work(11.0, 0.5), work(9.0, 0.5), peaks=(both,))
    assert (at_burst.flops_per_s, at_burst.absent) == (120e9, {})
    (over,) = sound(bench, work(11.0, 0.5), work(12.1, 0.5), peaks=(both,))
    assert (over.flops_per_s, over.absent) == (None, {"flops": OVER})


@pytest.mark.parametrize(("counted", "known"), [(1000, True), (960, True), (900, False), (None, True)])
def test_shares_are_absent_if_the_counted_batch_is_not_typical(
    bench: Any, counted: int | None, known: bool
) -> None:
    done = work(6.0, 0.5, padded_tokens=counted, typical_padded_tokens=1000, busy_ms=90.0)
    it = found(bench, done, CPU)
    assert it is not None
    values = (it.flops_per_s, it.shares.arithmetic, it.shares.memory, it.shares.busy)
    assert values == ((60e9, 0.6, 0.5, 0.9) if known else (None,) * 4)
    assert it.reason == (None if known else UNTYPICAL)


def test_model_flops_utilization_is_the_share_of_the_data_sheet(bench: Any) -> None:
    made = bench.case(ms=[100.0], device="cuda:0", precision="amp-bf16", end={"work": work(49_470.0, 1.0)})
    case = bench.session(made).cases[0]
    known = limit(case, ())
    assert known is not None
    assert model_flops_utilization(known, case.config, "NVIDIA H200") == pytest.approx(0.5)
    assert model_flops_utilization(known, case.config, "Tesla T4") is None, "it has no bf16"
    assert model_flops_utilization(known, case.config, None) is None


@pytest.mark.parametrize(
    ("used", "kernels", "part", "counts"),
    [
        ("sdpa", ("flash",), "backward", True),
        ("sdpa", ("flash",), "forward", False),
        ("sdpa", ("math",), "backward", False),
        ("sdpa", (), "backward", True),
        ("eager", (), "backward", False),
        ("eager", ("flash",), "backward", False),  # fused by the compiler; the counted step was uncompiled
        (None, ("efficient",), "backward", True),
        (None, (), "backward", False),
    ],
)
def test_backward_pass_of_fused_attention_counts_recomputed_scores(
    bench: Any, used: str | None, kernels: tuple[str, ...], part: str, counts: bool
) -> None:
    done, effective = work(6.0, 0.5, attention=kernels), bench.effective(attention=used)
    made = bench.case(ms=[100.0], parts={part: [60.0]}, effective=effective, end={"work": done})
    case = bench.session(made).cases[0]
    assert counts_recomputation(case, case.config) is counts


@pytest.mark.parametrize(
    ("host_ms", "more", "bound"),
    [
        (3.8, {"waits": 0}, "host"),
        (2.0, {"waits": 0}, None),
        (3.8, {"waits": 1}, None),  # the host's time includes the wait
        (3.8, {}, None),
        (3.8, {"waits": 0, "busy_ms": 3.9}, None),  # the profiler knows better
    ],
)
def test_host_bound_case_is_recognized_without_a_profiler(
    bench: Any, host_ms: float, more: dict[str, Any], bound: str | None
) -> None:
    columns = {"device_ms": [4.0] * 3, "host_ms": [host_ms, host_ms + 0.1, host_ms + 0.2]}
    options = {"device": "cuda:0", "ms": [4.0] * 3, "columns": columns}
    known = found(bench, StepCost(**more), **options)
    assert known is not None and known.bound == bound


def test_long_steps_need_a_profiler_to_be_called_host_bound(bench: Any) -> None:
    columns = {"device_ms": [400.0] * 3, "host_ms": [399.0] * 3}
    known = found(bench, StepCost(waits=0), device="cuda:0", ms=[400.0] * 3, columns=columns)
    assert known is not None and known.bound is None
