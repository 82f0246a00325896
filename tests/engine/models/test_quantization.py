"""Quantized weights: what is applied, what is read back, and why a case is skipped."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from benchtui.engine.models import quantization
from benchtui.sessions.errors import CaseSkippedError
from benchtui.sessions.sweep.options import QUANTIZATIONS

CPU = torch.device("cpu")
ON_A_PROCESSOR = ("bnb-int8", "bnb-nf4", "torchao-int8", "torchao-int8-dynamic")


def network() -> Any:
    torch.manual_seed(0)
    sizes = {"n_embd": 64, "n_layer": 1, "n_head": 2, "vocab_size": 96, "n_positions": 32}
    return GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=1, eos_token_id=2)).eval()


@pytest.mark.parametrize("kind", ON_A_PROCESSOR)
@pytest.mark.filterwarnings("ignore")
def test_quantized_weights_are_read_back_and_take_less_memory(kind: str) -> None:
    pytest.importorskip("bitsandbytes" if kind.startswith("bnb") else "torchao")
    plain, quantized = network(), network()
    mark = quantization.quantize(quantized, kind, CPU)
    ids = torch.arange(8)[None]
    with torch.inference_mode():
        expected, found = plain(ids).logits, quantized(ids).logits
    assert quantization.read_back(quantized) == kind
    assert quantization.weights_mb(quantized) < quantization.weights_mb(plain)
    assert mark.startswith(f"{kind} in ") and mark.endswith("% of the weights")
    assert 0 < float((expected - found).abs().max()) < 0.5


def test_plain_weights_are_read_back_as_such() -> None:
    plain = network()
    assert quantization.read_back(plain) == "off"
    tensors = (*plain.parameters(), *plain.buffers())  # transformers 4 keeps masks in buffers
    assert quantization.weights_mb(plain) == sum(tensor.nbytes for tensor in tensors) / 1e6
    assert quantization.layer_classes(plain) == {"Conv1D": 4, "Linear": 1}


@pytest.mark.parametrize("kind", [kind for kind in QUANTIZATIONS if kind not in ("off", "checkpoint")])
def test_a_missing_package_is_the_reason_for_skipping(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("bitsandbytes", "torchao", "torchao.quantization"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(CaseSkippedError, match=r"needs the package (bitsandbytes|torchao): pip install"):
        quantization.quantize(network(), kind, CPU)


def test_what_a_library_refuses_is_the_reason_for_skipping(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ImportError("Requires mslk >= 1.0.0")

    module = SimpleNamespace(quantize_=refuse, Int4WeightOnlyConfig=lambda group_size: None)
    monkeypatch.setitem(sys.modules, "torchao", SimpleNamespace(quantization=module))
    monkeypatch.setitem(sys.modules, "torchao.quantization", module)
    with pytest.raises(CaseSkippedError, match=r"torchao-int4: .*Requires mslk"):
        quantization.quantize(network(), "torchao-int4", CPU)


@pytest.mark.parametrize(("small", "found"), [(True, "checkpoint"), (False, "dequantized")])
def test_a_checkpoint_that_was_dequantized_is_told_from_one_that_was_not(small: bool, found: str) -> None:
    loaded = network()
    loaded.config.quantization_config = {"quant_method": "fp8"}
    if small:
        loaded.lm_head.register_buffer("packed", torch.zeros(4, 4, dtype=torch.uint8))
    assert quantization.stated_method(loaded) == "fp8"
    assert quantization.read_back(loaded) == found


def test_a_linear_spelling_of_gpt2_computes_the_same() -> None:
    plain, linear = network(), network()
    quantization._linearize(linear)
    ids = torch.arange(8)[None]
    assert quantization.layer_classes(linear) == {"Linear": 5}
    torch.testing.assert_close(linear(ids).logits, plain(ids).logits)
