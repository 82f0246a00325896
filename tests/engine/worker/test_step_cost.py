import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import GPT2LMHeadModel

from benchtui.engine.devices.base import Lap, ProfiledSteps
from benchtui.engine.devices.registry import open_device
from benchtui.engine.worker import step_cost
from benchtui.engine.worker.step_cost import TypicalStep, count, count_waits, measure_step_cost
from benchtui.engine.workloads.generate import LAST_LOGITS
from benchtui.engine.workloads.registry import make_workload
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.payloads import Effective, StepCost
from benchtui.sessions.sweep import Sweep, cases

FLOAT = 4


def counted(sweep: Sweep) -> StepCost:
    """The work of a step of the sweep's only case, after one that warms up."""
    (case,) = cases(sweep)
    workload = make_workload(sweep, case.config, open_device("cpu"))
    workload.step(lambda part: None)
    return count(workload.step, 0.1, workload.effective)


def of(step: Callable[[], object]) -> StepCost:
    """The work of a bare step."""
    return count(lambda lap: step(), 0.1, Effective())


class Bare:
    """A workload of a bare step, which doesn't choose its batches."""

    effective = Effective()
    accumulated = 1

    def __init__(self, step: Callable[[Lap], object]) -> None:
        self.step = step


def measured(step: Callable[[Lap], object], device: Any, step_s: float) -> StepCost:
    """The cost of a bare step on a device."""
    workload: Any = Bare(step)
    return measure_step_cost(workload, device, TypicalStep(step_s))


def linear(tokens: int, inputs: int, outputs: int) -> int:
    return 2 * tokens * inputs * outputs


def attention(samples: int, queries: int, keys: int, width: int) -> int:
    """Scores and their product with the values, over all heads together."""
    return 2 * 2 * samples * queries * keys * width


def causal(samples: int, length: int, width: int) -> int:
    """The same where no token sees a later one."""
    return 2 * 2 * samples * (length * (length + 1) // 2) * width


def distilbert(samples: int, length: int) -> int:
    """The tiny DistilBERT: one layer of width 32 and 64, and a head that looks at one token a sample."""
    layer = 4 * linear(samples * length, 32, 32) + 2 * linear(samples * length, 32, 64)
    return layer + attention(samples, length, length, 32) + linear(samples, 32, 32) + linear(samples, 32, 2)


def gpt2_layers(tokens: int) -> int:
    """The tiny GPT-2: two layers of width 32, each of them 12 times that squared."""
    return 2 * 12 * linear(tokens, 32, 32)


@pytest.mark.parametrize("attn", ["auto", "eager"])
@pytest.mark.parametrize("precision", ["fp32", "amp-bf16"])
def test_forward_pass_count_matches_the_hand_calculation(
    tiny_sweep: Callable[..., Sweep], attn: str, precision: str
) -> None:
    found = counted(tiny_sweep("batch_size=3", f"attention={attn}", f"precision={precision}"))
    assert found.flops == distilbert(3, 16)
    assert found.absent == {}
    assert found.bytes_moved is not None and found.bytes_of_weights is not None
    assert 0 < found.bytes_of_weights < found.bytes_moved


@pytest.mark.long
def test_distilbert_needs_two_flops_per_parameter_and_token() -> None:
    """6 layers of 4 x 768 x 768 and 2 x 768 x 3072, their attention, and the head: 11.17 GFLOP a text."""
    sweep = Sweep(name="s", model="distilbert-base-uncased-finetuned-sst-2-english", weights="random")
    parameters = 6 * (4 * 768 * 768 + 2 * 768 * 3072)
    by_hand = 2 * parameters * 128 + 6 * attention(1, 128, 128, 768) + 2 * (768 * 768 + 768 * 2)
    found = counted(sweep)
    assert found.flops == by_hand == 11_174_808_576
    assert found.bytes_of_weights is not None
    assert found.bytes_of_weights == pytest.approx(FLOAT * parameters, rel=0.02)


@pytest.mark.long
def test_compiled_step_counts_like_the_plain_one(tiny_sweep: Callable[..., Sweep]) -> None:
    plain, compiled = (
        counted(tiny_sweep("dataset=synthetic", f"compile={mode}")) for mode in ("off", "default")
    )
    assert (compiled.flops, compiled.bytes_moved) == (plain.flops, plain.bytes_moved)


def test_training_counts_backward_and_optimizer(lm_sweep: Callable[..., Sweep]) -> None:
    one, two = (counted(lm_sweep("task=lm-train", "dataset=synthetic", f"accumulation={n}")) for n in (1, 2))
    head, tokens = linear(16, 32, 30522), 16
    forward = gpt2_layers(tokens) + head + 2 * causal(1, 16, 32)
    scores_again = 2 * causal(1, 16, 32) // 2
    assert one.flops is not None and two.flops is not None
    assert one.flops == 3 * forward + scores_again
    assert two.flops == 2 * one.flops
    assert one.bytes_of_weights is not None and two.bytes_of_weights is not None
    assert two.bytes_of_weights < 2 * one.bytes_of_weights, "the optimizer runs once"


def test_generation_counts_prefill_and_every_later_token(lm_sweep: Callable[..., Sweep]) -> None:
    found = counted(lm_sweep("task=generate", "dataset=synthetic", "new_tokens=4"))
    decoded = sum(attention(1, 1, 16 + n, 32) for n in range(1, 4))
    last_only = set(LAST_LOGITS) & set(inspect.signature(GPT2LMHeadModel.forward).parameters)
    logits = (1 if last_only else 16) + 3  # transformers 4.45 computes those of every token of the prompt
    by_hand = gpt2_layers(16 + 3) + linear(logits, 32, 30522) + 2 * (causal(1, 16, 32) + decoded)
    assert found.flops == by_hand


def test_quantized_products_have_no_formula_and_hide_their_weights(tiny_sweep: Callable[..., Sweep]) -> None:
    found = counted(tiny_sweep("precision=int8"))
    assert (found.flops, found.bytes_moved, found.bytes_of_weights) == (None, None, None)
    assert found.absent == {
        "flops": "torch's counter has no formula for quantized.linear_dynamic",
        "bytes": "quantized.linear_dynamic hides its weights from the counter",
    }


def test_bytes_moved_are_bytes_read_and_written() -> None:
    left, right = torch.randn(10, 20), torch.randn(20, 30)
    found = of(lambda: left @ right)
    assert found.flops == 2 * 10 * 20 * 30
    assert found.bytes_moved == FLOAT * (10 * 20 + 20 * 30 + 10 * 30)
    assert found.bytes_of_weights == FLOAT * (10 * 20 + 20 * 30)


def test_view_moves_nothing_and_expanded_dimension_counts_once() -> None:
    block = torch.randn(8, 1)
    assert of(lambda: block.view(-1)[2:].t().detach()).bytes_moved == 0
    assert of(lambda: torch.empty(100)).bytes_moved == 0
    assert of(lambda: block.expand(8, 100) + 1.0).bytes_moved == FLOAT * (8 + 800)


def test_in_place_operand_is_read_and_written() -> None:
    weights, change = torch.zeros(50), torch.ones(50)
    found = of(lambda: weights.add_(change))
    assert (found.bytes_moved, found.bytes_of_weights) == (FLOAT * 150, FLOAT * 150)
    lists = of(lambda: torch._foreach_add_([weights], [change]))
    assert lists.bytes_moved == FLOAT * 150
    assert of(lambda: weights.clone().detach_()).bytes_moved == FLOAT * 100


def test_lookup_reads_only_the_returned_rows() -> None:
    table, rows = torch.randn(1000, 8), torch.tensor([3, 5])
    assert of(lambda: table[rows]).bytes_moved == FLOAT * (2 * 8 + 2 * 8) + 8 * 2
    embedded = of(lambda: torch.nn.functional.embedding(rows, table))
    assert embedded.bytes_moved == FLOAT * (2 * 8 + 2 * 8) + 8 * 2


def test_exception_of_a_step_becomes_the_reason() -> None:
    def refuse(lap: Lap) -> None:
        torch.empty(10**15)

    def fail(lap: Lap) -> None:
        raise ValueError("too bad\nreally")

    device = open_device("cpu")
    for step, reason in ((refuse, "out of memory on cpu"), (fail, "ValueError: too bad")):
        found = measured(step, device, 0.1)
        assert found.flops is None and found.bytes_moved is None
        assert set(found.absent) == {"flops", "bytes", "attention"}
        assert all(found.absent[name].startswith(reason) for name in ("flops", "bytes"))


def test_long_step_is_not_counted() -> None:
    def never(lap: Lap) -> None:
        raise AssertionError

    found = measured(never, open_device("cpu"), 13.0)
    assert (
        found.absent["flops"] == found.absent["bytes"] == "a step takes 13 s; only steps up to 12 s are counted"
    )


def test_counting_stops_at_its_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_cost, "LONGEST_COUNTING_S", -1.0)
    with pytest.raises(BenchtuiError, match="counting a step took longer than"):
        of(lambda: torch.ones(3) + 1)


class Gpu:
    """A device of its own, whose profiler sees this."""

    torch_device = torch.device("cuda:0")

    def __init__(self, seen: float | BenchtuiError) -> None:
        self._seen = seen

    def waits(self, step: Callable[[Lap], object]) -> int:
        if isinstance(self._seen, BenchtuiError):
            raise self._seen
        return int(self._seen)

    def profile_steps(self, step: Callable[[Lap], object], steps: int) -> ProfiledSteps:
        if isinstance(self._seen, BenchtuiError):
            raise self._seen
        return ProfiledSteps(self._seen, frozenset({"void pytorch_flash::flash_fwd_kernel<Flash>"}))


@pytest.mark.parametrize(
    ("seen", "step_s", "busy_ms", "absent"),
    [
        (2.5, 0.1, 2.5, {}),
        (BenchtuiError("saw nothing"), 0.1, None, {"busy": "saw nothing"}),
        (2.5, 3.0, None, {"busy": "a step takes 3.0 s; only steps up to 1 s are profiled"}),
    ],
)
def test_busy_time_is_measured_or_absent_with_a_reason(
    seen: Any, step_s: float, busy_ms: float | None, absent: dict[str, str]
) -> None:
    gpu: Any = Gpu(seen)
    found = measured(lambda lap: torch.ones(2, 2) @ torch.ones(2, 2), gpu, step_s)
    assert (found.flops, found.busy_ms) == (16.0, busy_ms)
    assert found.absent == absent | ({"attention": absent["busy"]} if absent else {})
    assert found.attention == (() if absent else ("flash",))


@pytest.mark.parametrize(
    ("seen", "step_s", "waits", "absent"),
    [
        (2.0, 0.1, 2, {}),
        (BenchtuiError("failed"), 0.1, None, {"waits": "failed"}),
        (2.0, 3.0, 2, {}),
        (2.0, 9.0, None, {"waits": "a step takes 9.0 s; waits are counted up to 8.5 s"}),
    ],
)
def test_waits_are_counted_or_absent_with_a_reason(
    seen: Any, step_s: float, waits: int | None, absent: dict[str, str]
) -> None:
    gpu: Any = Gpu(seen)
    workload: Any = Bare(lambda lap: None)
    found = count_waits(StepCost(flops=1.0), workload, gpu, step_s)
    assert (found.flops, found.waits, found.absent) == (1.0, waits, absent)


def test_waits_of_a_long_training_step_are_those_of_its_batches_and_one_update() -> None:
    gpu: Any = Gpu(0.0)
    gpu.waits = lambda step: 1 + 3 * step.keywords["batches"]
    workload: Any = Bare(lambda lap: None)
    workload.accumulated = 32
    workload.partial_step = lambda lap, batches: None
    assert count_waits(StepCost(), workload, gpu, 10.0).waits == 1 + 3 * 32


def test_a_long_step_on_a_cpu_has_no_waits_and_no_reason() -> None:
    workload: Any = Bare(lambda lap: None)
    found = count_waits(StepCost(), workload, open_device("cpu"), 30.0)
    assert (found.waits, found.absent) == (None, {})


def test_profiled_steps_precede_counting() -> None:
    order: list[str] = []
    gpu: Any = Gpu(2.5)
    gpu.profile_steps = lambda step, steps: order.append("profiled")
    measured(lambda lap: order.append("counted"), gpu, 0.1)
    assert order == ["profiled", "counted"]


def test_counted_step_has_the_median_width_of_the_measured_ones(tiny_sweep: Callable[..., Sweep]) -> None:
    sweep = tiny_sweep("padding=longest", "dataset=sample", "sequence_length=64")
    (case,) = cases(sweep)
    workload = make_workload(sweep, case.config, open_device("cpu"))
    widths = [workload.count(workload.step(lambda part: None)).padded_tokens or 0 for _ in range(20)]
    assert len(set(widths)) > 1
    for width in {min(widths), max(widths)}:
        found = measure_step_cost(workload, open_device("cpu"), TypicalStep(0.1, width))
        assert (found.padded_tokens, found.typical_padded_tokens) == (width, width)
        assert found.flops == distilbert(1, width)
        assert workload.count(workload.step(lambda part: None)).padded_tokens == width


@pytest.mark.long
@pytest.mark.parametrize("options", [["dataset=synthetic"], ["padding=longest", "dataset=sample"]])
def test_long_training_step_costs_what_its_batches_and_one_update_cost(
    lm_sweep: Callable[..., Sweep], options: list[str]
) -> None:
    sweep = lm_sweep("task=lm-train", "accumulation=5", *options)
    (case,) = cases(sweep)
    workload = make_workload(sweep, case.config, open_device("cpu"))
    workload.step(lambda part: None)
    long, short = (
        measure_step_cost(workload, open_device("cpu"), TypicalStep(step_s, 80)) for step_s in (30.0, 0.1)
    )
    assert short.padded_tokens == long.padded_tokens == 80
    assert long.flops == pytest.approx(short.flops, rel=0.05), "widths of batches differ in text"
    assert long.bytes_moved == pytest.approx(short.bytes_moved, rel=0.05)
    if options == ["dataset=synthetic"]:
        assert (long.flops, long.bytes_moved) == (short.flops, short.bytes_moved)
        assert long.bytes_of_weights == short.bytes_of_weights


def test_busy_time_of_a_long_training_step_is_that_of_its_batches_and_one_update() -> None:
    gpu: Any = Gpu(0.0)
    workload: Any = Bare(lambda lap: None)
    workload.accumulated = 32
    workload.partial_step = lambda lap, batches: None
    gpu.profile_steps = lambda step, steps: ProfiledSteps(10.0 + 90.0 * step.keywords["batches"], frozenset())
    found = measure_step_cost(workload, gpu, TypicalStep(10.0))
    assert found.busy_ms == 10.0 + 90.0 * 32
