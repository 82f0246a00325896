from typing import Any

import pytest

from benchtui.sessions.analysis.applied_options import was_applied

CASES = [
    ("precision", "amp-fp16", {"autocast_dtype": "float16"}, True),
    ("precision", "amp-fp16", {"autocast_dtype": "torch.float16"}, True),
    ("precision", "amp-bf16", {"autocast_dtype": "float16"}, False),
    ("precision", "amp-fp16", {"autocast_dtype": "float32"}, False),
    ("precision", "amp-fp16", {}, False),
    ("precision", "amp-fp16", {"output_dtype": None}, None),
    ("precision", "fp16", {"weights_dtype": "float16"}, True),
    ("precision", "bf16", {}, False),
    ("precision", "fp32", {}, True),
    ("precision", "fp32", {"autocast_dtype": "float16"}, False),
    ("precision", "fp32", {"weights_dtype": None}, None),
    ("precision", "fp32", {"tf32": False}, True),
    ("precision", "fp32", {"tf32": True}, False),
    ("precision", "tf32", {}, None),
    ("precision", "tf32", {"tf32": True}, True),
    ("precision", "tf32", {"tf32": False}, False),
    ("precision", "tf32", {"tf32": True, "weights_dtype": "float16"}, False),
    ("precision", "bf16", {"weights_dtype": None, "unread": ("precision",)}, False),
    ("precision", "fp32", {"weights_dtype": None, "unread": ("precision",)}, None),
    ("compile", "default", {}, False),
    ("compile", "default", {"compiled": True}, True),
    ("compile", "off", {"compiled": True}, False),
    ("compile", "default", {"compiled": None}, None),
    ("compile", "reduce-overhead", {"compiled": True}, True),
    ("compile", "reduce-overhead", {"compiled": True, "cuda_graphs": True}, True),
    ("compile", "reduce-overhead", {"compiled": True, "cuda_graphs": False}, False),
    ("compile", "reduce-overhead", {"compiled": None, "cuda_graphs": False}, None),
    ("attention", "auto", {"attention": None}, True),
    ("attention", "eager", {}, False),
    ("attention", "flash", {"attention": "flash_attention_2"}, True),
    ("attention", "flash", {"attention": "kernels-community/flash-attn2"}, True),
    ("attention", "flash", {"attention": "kernels-community/aiter-flash-attn"}, True),
    ("attention", "flash", {"attention": "kernels-community/vllm-flash-attn3"}, False),
    ("attention", "flash", {"attention": "sdpa"}, False),
    ("attention", "flash3", {"attention": "kernels-community/vllm-flash-attn3"}, True),
    ("attention", "flash3", {"attention": "flash_attention_3"}, True),
    ("attention", "flash3", {"attention": "flash_attention_2"}, False),
    ("attention", "sdpa", {"attention": None}, None),
    ("precision", "int8", {"weights_dtype": "qint8"}, True),
    ("precision", "int8", {}, False),
    ("precision", "fp32", {"weights_dtype": "qint8"}, False),
    ("threads", 0, {}, True),
    ("threads", 2, {}, True),
    ("threads", 3, {}, False),
    ("threads", 3, {"threads": None}, None),
    ("padding", "longest", {"padding": "longest"}, True),
    ("padding", "longest", {"padding": "max"}, False),
    ("padding", "max", {"padding": "longest"}, False),
    ("padding", "max", {}, None),
]


@pytest.mark.parametrize(("option", "asked", "read_back", "known"), CASES)
def test_requested_options_are_compared_with_those_read_back(
    bench: Any, option: str, asked: str | int, read_back: dict[str, Any], known: bool | None
) -> None:
    case = bench.case(ms=10.0, effective=bench.effective(**read_back), **{option: asked})
    assert was_applied(bench.session(case).cases[0], option) is known


def test_option_is_unverified_if_nothing_was_read_back(bench: Any) -> None:
    session = bench.session(bench.case(ms=10.0, effective=None), bench.case(2, outcome="failed"))
    assert [was_applied(case, "precision") for case in session.cases] == [None, None]
