"""Breakdown of made profiler events: those of a CPU, and those of a GPU as CUPTI records them."""

from typing import Any

import pytest

from benchtui.engine.worker.explain.breakdown import break_down
from benchtui.engine.worker.explain.costs import has_gaps
from benchtui.engine.worker.explain.host_timeline import LEAST_CHOSEN_FROM, HostTimeline, nearest_blocks
from benchtui.engine.worker.explain.recording import BLOCK, LAP, STEP, ProfiledEvent
from benchtui.sessions.errors import BenchtuiError

MS = 1_000_000


def host(name: str, begin_ms: float, end_ms: float, **fields: Any) -> ProfiledEvent:
    return ProfiledEvent(name, round(begin_ms * MS), round(end_ms * MS), 1, **fields)


def gpu(name: str, begin_ms: float, end_ms: float, by: int = 0, stream: int = 7) -> ProfiledEvent:
    return ProfiledEvent(name, round(begin_ms * MS), round(end_ms * MS), stream, True, launched_by=by)


def step(begin_ms: float, end_ms: float, *laps: tuple[str, float]) -> list[ProfiledEvent]:
    """One synchronized step whose parts end at these times."""
    ends = [host(f"{LAP}{part}", at_ms, at_ms) for part, at_ms in laps]
    return [host(BLOCK, begin_ms, end_ms), host(STEP, begin_ms, end_ms), *ends]


def families(found: Any) -> dict[str, float]:
    return {each.family: pytest.approx(each.ms) for each in found.families}


def test_self_times_of_nested_operators_sum_to_the_step() -> None:
    events = [
        *step(0, 20, ("tokenize", 4), ("forward", 16)),
        host("aten::linear", 5, 9),
        host("aten::addmm", 6, 9, shapes=((8,), (4, 16), (16, 8)), dtypes=("float", "float", "float")),
        host("aten::scaled_dot_product_attention", 10, 14),
        host("aten::bmm", 11, 13),
        host("Optimizer.step#AdamW.step", 14, 16),
        host("aten::add_", 14.5, 15.5),
    ]
    found = break_down(events, HostTimeline(events), on_gpu=False)
    expected = {"tokenizer": 4.0, "matmul": 4.0, "attention": 4.0, "optimizer": 2.0, "python": 6.0}
    assert families(found) == expected
    assert found.step_ms == 20.0 == pytest.approx(sum(each.ms for each in found.families))
    assert (
        found.launches == 3.0
    )  # linear, attention and the optimizer's own; what they call isn't called by Python
    product = next(each for each in found.kernels if each.name == "aten::addmm")
    assert (product.ms, product.flops, product.count) == (3.0, 2 * 4 * 16 * 8, 1.0)
    assert product.shape == "8 float, 4x16 float, 16x8 float"


def test_time_asleep_is_taken_out_of_long_gaps_only() -> None:
    events = [*step(0, 10, ("step", 10)), host("aten::mm", 0, 4), host("aten::mm", 4.1, 5)]
    found = break_down(events, HostTimeline(events, 4.9), on_gpu=False)
    assert families(found) == {"matmul": 4.9, "wait": 4.9, "python": 0.2}
    more = break_down(events, HostTimeline(events, 9.0), on_gpu=False)
    assert families(more) == {"matmul": 4.9, "wait": 5.0, "python": 0.1}


def test_disturbed_steps_are_left_out() -> None:
    blocks = [host(BLOCK, 100 * at, 100 * at + ms) for at, ms in enumerate((10.0, 11.0, 80.0, 10.5, 10.2, 3.0))]
    assert [round((each.end_ns - each.begin_ns) / MS, 1) for each in nearest_blocks(blocks, None)] == [
        10.0,
        10.5,
        10.2,
    ]
    assert nearest_blocks(blocks[:3], None) == blocks[:3]
    events = [event for at in range(6) for event in step(100 * at, 100 * at + (90 if at == 2 else 10))]
    events += [host("aten::mm", 100 * at + 1, 100 * at + 2) for at in range(6)]
    found = break_down(events, HostTimeline(events), on_gpu=False)
    assert found.step_ms == 10.0 and found.kernels[0].count == 1.0


def test_only_the_kernel_that_computes_a_product_has_its_operations() -> None:
    """cuBLAS clears its workspace first, and sums the parts of a split product last."""
    product = host("aten::mm", 1, 2, id=1, shapes=((64, 64), (64, 64)), dtypes=("float", "float"))
    events = [
        *step(0, 20, ("step", 20)),
        product,
        gpu("Memset (Device)", 3, 4, by=1),
        gpu("ampere_sgemm_64x64_nn", 5, 8, by=1),
        gpu("void cublasLt::splitKreduce_kernel<32, 16, int, float>(float*)", 8, 9, by=1),
    ]
    found = break_down(events, HostTimeline(events), on_gpu=True)
    assert {kernel.name[:12]: kernel.flops for kernel in found.kernels} == {
        "ampere_sgemm": 2 * 64**3,
        "Memset (Devi": None,
        "void cublasL": None,
    }


def test_gpu_work_idle_time_and_its_causes() -> None:
    """A step that tokenizes, launches two overlapping kernels and a copy, and is launch-bound in between."""
    shapes = ((64, 64), (64, 64))
    events = [
        *step(0, 20, ("tokenize", 5), ("forward", 19)),
        host("aten::mm", 6, 7, shapes=shapes, dtypes=("c10::Half", "c10::Half"), id=11),
        host("cudaLaunchKernel", 6.2, 6.4, id=12),
        host("aten::add", 9, 10, id=13),
        host("cudaLaunchKernel", 9.2, 9.3, id=14),
        host("cudaDeviceSynchronize", 12, 20, id=15),
        gpu("ampere_fp16_s16816gemm_fp16_64x64", 7, 11, by=11),
        gpu("void at::native::vectorized_elementwise_kernel<4>", 10, 13, by=13, stream=8),
        gpu("Memcpy DtoH (Device -> Pageable)", 15, 16, by=0),
    ]
    found = break_down(events, HostTimeline(events), on_gpu=True)
    assert families(found) == {
        "matmul": 4.0,
        "elementwise": 2.0,  # the overlap counts once
        "copy": 1.0,
        "tokenizer": 5.0,
        "python": 8.0,
    }
    assert (found.busy_ms, found.launches, found.step_ms) == (7.0, 3.0, 20.0)
    assert found.idle_ms == {"tokenizer": 5.0, "python": 8.0}
    assert found.launching_ms == pytest.approx(0.3)
    product = next(each for each in found.kernels if each.family == "matmul")
    assert (product.operator, product.flops) == ("aten::mm", 2 * 64**3)


def test_gpu_work_within_attention_and_the_optimizer() -> None:
    events = [
        *step(0, 10),
        host("aten::scaled_dot_product_attention", 0, 2, id=1),
        host("aten::bmm", 0.5, 1, id=2),
        host("Optimizer.step#AdamW.step", 3, 5, id=3),
        host("aten::_foreach_add_", 3.5, 4, id=4),
        gpu("gemm", 1, 3, by=2),
        gpu("multi_tensor_apply_kernel", 4, 5, by=4),
    ]
    assert families(break_down(events, HostTimeline(events), on_gpu=True)) == {
        "attention": 2.0,
        "optimizer": 1.0,
        "python": 7.0,
    }


def test_a_profile_without_work_on_the_gpu_is_refused() -> None:
    events = step(0, 10)
    with pytest.raises(BenchtuiError, match="no work on the GPU"):
        break_down(events, HostTimeline(events), on_gpu=True)
    with pytest.raises(BenchtuiError, match="no step"):
        HostTimeline([host("aten::mm", 0, 1)])


def test_fused_kernels_of_compiled_code_are_calls() -> None:
    events = [
        *step(0, 10),
        host("Torch-Compiled Region: 0/0", 1, 9),
        host("graph_0_cpp_fused_add_gelu_0", 2, 5),
        host("mkl::_mkl_linear", 5, 8),
    ]
    found = break_down(events, HostTimeline(events), on_gpu=False)
    assert families(found) == {"elementwise": 3.0, "matmul": 3.0, "python": 4.0}
    assert found.launches == 2.0


def thread(name: str, begin_ms: float, end_ms: float, track: int = 2) -> ProfiledEvent:
    """An event of another thread."""
    return ProfiledEvent(name, round(begin_ms * MS), round(end_ms * MS), track)


def test_autograds_thread_is_a_lane_of_the_step() -> None:
    """The main thread sleeps in backward while autograd's thread launches two kernels."""
    events = [
        *step(0, 20),
        host("aten::mm", 0, 2, id=1),
        thread("autograd::engine::evaluate_function: MmBackward0", 5, 15),
        thread("aten::mm", 6, 14),
        thread("cudaLaunchKernel", 7, 8),
        host("cudaLaunchKernel", 1, 2),
        gpu("gemm", 1, 3, by=1),
    ]
    for asleep_ms, waiting_ms in ((10.0, 0.0), (16.0, 6.0)):
        timeline = HostTimeline(events, asleep_ms)
        found = break_down(events, timeline, on_gpu=False)
        shown = {each.family: each.ms for each in found.families}
        assert shown["matmul"] == pytest.approx(1.0 + 7.0) and shown.get("wait", 0.0) == pytest.approx(
            waiting_ms
        )
        assert sum(shown.values()) == pytest.approx(20.0)
    on_gpu = break_down(events, HostTimeline(events, 10.0), on_gpu=True)
    assert "wait" not in on_gpu.idle_ms and on_gpu.launching_ms == pytest.approx(2.0)


def test_forward_pass_within_the_backward_pass_is_recomputed() -> None:
    """It records a graph, as the formulas of a backward pass don't; Python between its operators is its own."""
    backward = "autograd::engine::evaluate_function: "
    events = [
        *step(0, 20),
        host("aten::linear", 0, 4, in_graph=True),
        host(f"{backward}CheckpointFunctionBackward", 5, 18),
        host("aten::linear", 6, 10, id=1, in_graph=True),
        host("aten::addmm", 7, 9),
        host("aten::mul", 10, 11, in_graph=True),
        host("aten::mm", 11, 12),
        host(f"{backward}AddmmBackward0", 12, 17),
        host("aten::mm", 13, 16),
        gpu("gemm", 7, 10, by=1),
    ]
    timeline = HostTimeline(events)
    assert break_down(events, timeline, on_gpu=False).recomputed_ms == pytest.approx(4.0 + 1.0 + 1.0 + 1.0)
    assert break_down(events, timeline, on_gpu=True).recomputed_ms == pytest.approx(3.0)


def test_backward_pass_that_is_differentiated_again_recomputes_nothing() -> None:
    backward = "autograd::engine::evaluate_function: "
    events = [
        *step(0, 20),
        host(f"{backward}MmBackward0", 5, 18),
        host("aten::mm", 6, 10, in_graph=True),
        host("aten::mul", 10, 17, in_graph=True),
    ]
    assert break_down(events, HostTimeline(events), on_gpu=False).recomputed_ms == 0.0


def test_thread_that_works_beside_a_running_step_takes_none_of_its_time() -> None:
    events = [*step(0, 20), host("aten::mm", 0, 4), thread("aten::mul", 5, 18)]
    assert families(break_down(events, HostTimeline(events, 0.0), on_gpu=False)) == {
        "matmul": 4.0,
        "python": 16.0,
    }


def test_steps_nearest_to_plain_ones_are_chosen() -> None:
    """The profiler lengthened most steps; those like the plain step of 3 ms count."""
    blocks = [host(BLOCK, 100 * at, 100 * at + ms) for at, ms in enumerate((9.0, 3.1, 9.2, 3.0, 9.1, 3.3))]
    chosen = nearest_blocks(blocks, 3.0 * MS)
    assert [round((each.end_ns - each.begin_ns) / MS, 1) for each in chosen] == [3.1, 3.0, 3.3]


def test_blocks_that_waited_for_a_processor_count_only_if_hardly_others_exist() -> None:
    """Next to a neighbor, 11 of 16 blocks took a time slice of it."""
    times_ms = (9.0, 3.1, 9.2, 3.0, 9.1, 3.3, 9.3, 8.9, 3.2, 9.0, 9.1, 3.4, 8.8, 9.4, 9.2, 9.0)
    blocks = [host(BLOCK, 100 * at, 100 * at + ms) for at, ms in enumerate(times_ms)]
    chosen = nearest_blocks(blocks, 3.0 * MS)
    assert [round((each.end_ns - each.begin_ns) / MS, 1) for each in chosen] == [3.1, 3.0, 3.3, 3.2, 3.4]
    assert len(nearest_blocks(blocks, 1.0 * MS)) == LEAST_CHOSEN_FROM, "the nearest ones, if none is near"


def test_spans_of_operators_contain_neither_gaps_nor_annotations() -> None:
    events = [
        *step(0, 20),
        host("aten::mm", 2, 6),
        host("aten::addmm", 3, 5),
        host("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 8, 14),
        host("autograd::engine::evaluate_function: MulBackward0", 15, 19),
        host("aten::mul", 16, 18),
    ]
    spans_ms = [(begin / MS, end / MS) for begin, end in HostTimeline(events).operator_spans_ns]
    assert spans_ms == [(2, 3), (3, 5), (5, 6), (16, 18)]


def test_data_loader_and_compiler_are_families() -> None:
    events = [
        *step(0, 20),
        host("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 8),
        host("aten::stack", 2, 4),
        host("dynamo", 10, 15),
        host("_compile.compile_inner (dynamo_timed)", 11, 14),
    ]
    found = break_down(events, HostTimeline(events), on_gpu=False)
    assert families(found) == {"input": 8.0, "compile": 5.0, "python": 7.0}


@pytest.mark.parametrize(
    ("shapes", "strides", "gaps"),
    [
        (((1000, 1000), ()), ((1000, 1), ()), False),
        (((1000, 500),), ((1000, 2),), True),
        (((1000, 1000), (1000, 1000)), ((1000, 1), (1, 1000)), True),
        (((1000, 1000), (1000, 1000)), ((1, 1000), (1, 1000)), False),
        (((1000, 1000), (1000,)), ((1000, 1), (1,)), False),
        (((1000, 1000), (1000, 1000)), ((1000, 1), (0, 1)), False),
        (((500, 1000),), ((2000, 1),), False),
        (((10, 10),), ((20, 2),), False),
    ],
)
def test_inputs_with_gaps(shapes: Any, strides: Any, gaps: bool) -> None:
    assert has_gaps(shapes, strides) is gaps
