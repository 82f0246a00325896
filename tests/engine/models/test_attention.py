from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from benchtui.engine.models import attention
from benchtui.engine.worker.step_cost import ByteCounter, count
from benchtui.sessions.payloads import Effective
from benchtui.sessions.sweep.library_names import SDPA_KERNELS

NAMESPACE = "_flash_attn2_tested"
FORWARD = "fwd(Tensor q, Tensor k, Tensor v, float scale, bool is_causal, int window_size_left) -> Tensor"
_LENGTHS = "Tensor cu_seqlens_q, Tensor cu_seqlens_k"
VARYING = f"varlen_fwd(Tensor q, Tensor k, Tensor v, {_LENGTHS}, bool is_causal) -> Tensor"
BACKWARD = "bwd(Tensor dout, Tensor q, Tensor k, Tensor v, bool is_causal) -> Tensor"
ROWS, ENDS = torch.ones(8, 4, 8), torch.tensor([0, 3, 8])
"""Rows of 3 and 5 tokens, one after the other."""


@pytest.fixture
def flash() -> Iterator[Any]:
    """Operators with the names and arguments of a FlashAttention build of the hub. They compute nothing."""
    library = torch.library.Library(NAMESPACE, "DEF")
    for schema in (FORWARD, VARYING, BACKWARD):
        library.define(schema)
        library.impl(schema.partition("(")[0], lambda first, *rest: first.clone(), "CPU")
    yield getattr(torch.ops, NAMESPACE)
    library._destroy()


@pytest.mark.parametrize(
    ("names", "kernels"),
    [
        (["aten::_scaled_dot_product_flash_attention_for_cpu", "aten::mm"], ("flash",)),
        (["void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits>(Flash_fwd_params)"], ("flash",)),
        (["fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention)"], ("efficient",)),
        (["cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7"], ("cudnn",)),
        (["void cutlass::device_kernel<flash::FlashAttnFwdSm90<...>>"], ("flash3",)),
        (["flash_attn::_flash_attn_forward", "_vllm_flash_attn3_1a2b::fwd"], ("flash3", "flash")),
        (["aten::_safe_softmax", "aten::bmm"], ("math",)),
        (["ampere_sgemm_128x64_nn", "Memcpy HtoD"], ()),
    ],
)
def test_attention_kernels_are_known_by_their_names(names: list[str], kernels: tuple[str, ...]) -> None:
    assert attention.kernels(names) == kernels


@pytest.mark.parametrize(
    ("queries", "keys", "left", "right", "at_end", "pairs"),
    [
        (4, 4, None, None, True, 16),
        (4, 4, None, 0, True, 10),
        (1, 4, None, 0, True, 4),
        (2, 4, None, 0, False, 3),
        (4, 4, 1, 0, True, 7),
        (4, 4, 1, 1, True, 10),
    ],
)
def test_skipped_pairs_of_attention_do_not_count(
    queries: int, keys: int, left: int | None, right: int | None, at_end: bool, pairs: int
) -> None:
    assert attention.pairs(queries, keys, attention.Window(left, right, at_end)) == pairs


@pytest.mark.parametrize(
    ("call", "flops"),
    [
        (lambda ops, q, k: ops.fwd(q, k, k, 1.0, False, -1), 4 * 4 * 8 * (2 * 5 * 7)),
        (lambda ops, q, k: ops.fwd(q, q, q, 1.0, True, -1), 4 * 4 * 8 * (2 * 15)),
        (lambda ops, q, k: ops.fwd(q, q, q, 1.0, True, 1), 4 * 4 * 8 * (2 * 9)),
        (lambda ops, q, k: ops.bwd(q, q, q, q, False), 10 * 4 * 8 * (2 * 25)),
        (lambda ops, q, k: ops.varlen_fwd(*[ROWS] * 3, *[ENDS] * 2, True), 4 * 4 * 8 * (6 + 15)),
    ],
)
def test_operations_of_flash_attention_are_counted(flash: Any, call: Any, flops: int) -> None:
    """Two rows of 5 queries and 7 keys with 4 heads of width 8."""
    query, key = torch.ones(2, 5, 4, 8), torch.ones(2, 7, 4, 8)
    found = count(lambda lap: call(flash, query, key), 0.1, Effective(attention="flash_attention_2"))
    assert (found.flops, found.attention, found.absent) == (flops, ("flash",), {})


def test_causal_attention_of_torch_counts_as_computed() -> None:
    query = torch.ones(2, 4, 16, 8)
    sdpa = torch.nn.functional.scaled_dot_product_attention
    found = count(lambda lap: sdpa(query, query, query, is_causal=True), 0.1, Effective(attention="sdpa"))
    assert (found.flops, found.attention) == (4 * 4 * 8 * (2 * 16 * 17 // 2), ("flash",))


def test_flash_attention_that_torch_cannot_see_has_no_operations() -> None:
    step = torch.ones(3, 3)
    found = count(lambda lap: step @ step, 0.1, Effective(attention="flash_attention_2"))
    assert found.flops is None and found.bytes_moved is not None
    assert found.absent == {"flops": "flash_attention_2 isn't visible to torch's counter"}


@pytest.fixture
def kernels_restored() -> Iterator[None]:
    yield
    for kernel in SDPA_KERNELS.values():
        getattr(torch.backends.cuda, f"enable_{kernel}_sdp")(True)


@pytest.mark.usefixtures("kernels_restored")
@pytest.mark.parametrize("requested", ["sdpa-math", "sdpa-flash"])
def test_the_only_allowed_kernel_runs_and_is_read_back(requested: str) -> None:
    network = SimpleNamespace(config=SimpleNamespace(_attn_implementation=attention.select(requested)))
    query = torch.ones(1, 2, 8, 16)
    with ByteCounter() as counter:
        torch.nn.functional.scaled_dot_product_attention(query, query, query)
    assert attention.kernels(counter.operators) == (requested.removeprefix("sdpa-"),)
    assert attention.read_back(network) == requested


@pytest.mark.usefixtures("kernels_restored")
def test_a_kernel_that_a_device_lacks_is_the_reason_for_skipping() -> None:
    attention.select("sdpa-cudnn")
    query = torch.ones(1, 2, 8, 16)
    with pytest.raises(RuntimeError) as raised:
        torch.nn.functional.scaled_dot_product_attention(query, query, query)
    reason = attention.no_kernel_reason("sdpa-cudnn", raised.value)
    assert reason is not None and reason.startswith("attention sdpa-cudnn: torch has no such kernel")
    assert attention.no_kernel_reason("sdpa", raised.value) is None


def test_any_other_attention_leaves_the_kernel_to_torch() -> None:
    assert [attention.select(name) for name in ("auto", "eager", "flash", "flex", "kernel:a/b@v1")] == [
        None,
        "eager",
        "flash_attention_2",
        "flex_attention",
        "a/b@v1",
    ]
    assert attention.read_back(SimpleNamespace(config=SimpleNamespace(_attn_implementation="sdpa"))) == "sdpa"


@pytest.mark.parametrize(
    ("message", "who"),
    [
        ("M does not support an attention implementation through torch.nn.functional", "M"),
        ("M does not support Flash Attention 2.0 yet.", "M"),
        ('Specified `attn_implementation="flex_attention"` is not supported. The only possible', "this model"),
    ],
)
def test_attention_that_transformers_lacks_is_the_reason_for_skipping(message: str, who: str) -> None:
    reason = attention.unsupported_reason("flex", ValueError(message))
    assert reason == f"attention flex: transformers doesn't support it for {who}"
    assert attention.unsupported_reason("flex", ValueError("no such file")) is None
