"""Each rule finds its planted cause, and says nothing without it."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.events import CasePrepared, Peaks
from benchtui.sessions.explain.cases import ExplainedCase
from benchtui.sessions.explain.findings import RULES, findings
from benchtui.sessions.payloads import Effective, Model
from benchtui.sessions.profiles import GraphBreak, KernelTime, MemoryKinds, Recompile
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Config

Explain = Callable[..., ExplainedCase]


@pytest.fixture
def explain(make_profile: Any) -> Explain:
    """Make an explained case from its families and further fields of its profile."""

    def make(families: dict[str, float], *, peaks: Peaks | None = None, **fields: Any) -> ExplainedCase:
        config = fields.pop("config", Config(device="cpu"))
        return ExplainedCase(CaseState(0, config), make_profile(families, **fields), 10.0, peaks)

    return make


def kernel(name: str, family: str, ms: float, count: float = 1.0, **fields: Any) -> KernelTime:
    return KernelTime(name=name, family=family, ms=ms, count=count, **fields)  # type: ignore[arg-type]


def found(case: ExplainedCase) -> dict[str, str]:
    return {finding.rule: finding.sentence for finding in findings(case)}


def test_nothing_is_found_in_an_ordinary_step(explain: Explain) -> None:
    assert found(explain({"matmul": 80.0, "attention": 10.0, "elementwise": 8.0, "python": 2.0})) == {}


def test_no_rule_has_an_opinion_without_data(explain: Explain) -> None:
    case = explain({"other": 0.0}, step_ms=0.0, plain_ms=0.0, launches=0.0)
    assert [rule(case) for rule in RULES] == [None] * len(RULES)
    on_gpu = explain({"other": 0.0}, step_ms=0.0, busy_ms=0.0, config=Config(device="cuda:0"))
    assert [rule(on_gpu) for rule in RULES] == [None] * len(RULES)


def test_sleeping_host(explain: Explain) -> None:
    case = explain({"matmul": 60.0, "wait": 40.0})
    assert found(case)["sleeping"].startswith("For 40% of the step (40.0 ms), the main thread sleeps")
    assert findings(case)[0].confidence == "high"
    assert findings(explain({"matmul": 85.0, "wait": 15.0}))[0].confidence == "medium"


def test_idle_gpu_with_a_bound_on_cuda_graphs(explain: Explain) -> None:
    gpu = Config(device="cuda:0")
    fields = {"busy_ms": 2.5, "launches": 1840.0, "idle_ms": {"python": 3.9, "tokenizer": 0.2}, "config": gpu}
    sentence = found(explain({"matmul": 2.5, "python": 3.9, "tokenizer": 0.2}, **fields))["idle GPU"]
    assert "For 62% of the step (4.10 ms), the GPU waits for the host: 1,840 launches" in sentence
    assert "compile=reduce-overhead) or larger batches can hide at most 3.90 ms of 6.60 ms" in sentence
    fields["config"] = Config(device="cuda:0", compile="reduce-overhead")
    assert "can hide" not in found(explain({"matmul": 2.5, "python": 4.1}, **fields))["idle GPU"]


def test_python_loop_of_small_products(explain: Explain) -> None:
    loop = kernel("aten::mm", "matmul", 8.0, 2000.0, flops=2000 * 1024.0, shape="8x8 float, 8x8 float")
    case = explain({"matmul": 8.0, "python": 12.0}, kernels=(loop,), launches=2000.0)
    sentence = found(case)["Python loop"]
    assert "aten::mm runs 2,000 times per step on 8x8 float, 8x8 float, 4.00 µs each" in sentence
    assert "20.0 ms; a single batched call could replace them" in sentence
    assert "Python gaps" not in found(case)
    large = kernel("aten::mm", "matmul", 8.0, 2000.0, flops=2000 * 1e9)
    assert "Python loop" not in found(explain({"matmul": 8.0, "python": 1.0}, kernels=(large,)))


def test_gaps_of_python_without_a_loop(explain: Explain) -> None:
    assert "take 40% of the step (8.00 ms)" in found(explain({"matmul": 12.0, "python": 8.0}))["Python gaps"]


def test_tokenizer_bound_batches(explain: Explain) -> None:
    assert "Tokenizing takes 60% of the step" in found(explain({"matmul": 4.0, "tokenizer": 6.0}))["tokenizer"]
    assert "tokenizer" not in found(explain({"matmul": 9.0, "tokenizer": 1.0}))


def test_needless_copies(explain: Explain) -> None:
    copied = kernel("aten::copy_", "copy", 3.0, 12.0, shape="512x512 float, 512x512 float")
    sentence = found(explain({"matmul": 6.0, "copy": 4.0}, kernels=(copied,)))["copies"]
    assert "Copies and casts take 40% of the step (4.00 ms)" in sentence
    assert "aten::copy_ of 512x512 float, 12 times per step" in sentence


def test_one_thread_of_two_processors(explain: Explain) -> None:
    sentence = found(explain({"matmul": 9.0, "python": 1.0}, threads=1, processors=2))["few threads"]
    assert (
        "1 thread of 2 processors" in sentence and "threads=2 can save at most 4.50 ms of 10.0 ms" in sentence
    )
    assert "few threads" not in found(explain({"matmul": 10.0}, threads=2, processors=2))
    assert "few threads" not in found(explain({"matmul": 10.0}, threads=1, processors=2, busy_ms=9.0))


def test_float64_by_mistake(explain: Explain) -> None:
    double = kernel("aten::mm", "matmul", 6.0, shape="64x64 double, 64x64 double")
    sentence = found(explain({"matmul": 10.0}, kernels=(double,)))["float64"]
    assert (
        "60% of the step (6.00 ms) computes in float64" in sentence and "aten::mm on 64x64 double" in sentence
    )
    single = kernel("aten::mm", "matmul", 6.0, shape="64x64 float, 64x64 float")
    assert "float64" not in found(explain({"matmul": 10.0}, kernels=(single,)))


def test_graph_break_with_its_place(explain: Explain) -> None:
    breaks = (
        GraphBreak(reason="Data-dependent branching.", where="/home/me/step.py:12"),
        GraphBreak(reason="x"),
    )
    sentence = found(explain({"matmul": 1.0}, graph_breaks=breaks))["graph breaks"]
    assert sentence == (
        "The compiler breaks the graph at /home/me/step.py:12, and at 1 other place: Data-dependent branching."
    )


def test_recompile_at_each_length(explain: Explain) -> None:
    guard = "tensor 'x' size mismatch at index 1. expected 16, actual 32"
    again = (Recompile(guard=guard, where="forward in model.py:7", count=4),)
    sentence = found(explain({"matmul": 1.0}, recompiles=again))["recompiles"]
    assert sentence.startswith("forward in model.py:7 was recompiled (4 recompiles in total).")
    assert guard in sentence and "padding=max" in sentence


def test_kept_activation(explain: Explain) -> None:
    kept = explain({"matmul": 1.0}, memory=MemoryKinds(growth_mb=12.3))
    assert "Each step allocates 12.3 MB that it never frees" in found(kept)["kept activation"]
    assert found(explain({"matmul": 1.0}, memory=MemoryKinds(growth_mb=0.0))) == {}


def test_activations_and_optimizer_state_dominate_memory(explain: Explain) -> None:
    kinds = MemoryKinds(weights_mb=100.0, gradients_mb=100.0, optimizer_mb=200.0, activations_mb=600.0)
    sentence = found(explain({"matmul": 1.0}, memory=kinds))["activations"]
    assert (
        "Activations are 60% of the memory of the step (600 MB of 1.00 GB): activation_checkpointing=on"
        in sentence
    )
    kinds = MemoryKinds(weights_mb=100.0, gradients_mb=100.0, optimizer_mb=200.0, activations_mb=50.0)
    assert "44% of the memory" in found(explain({"matmul": 1.0}, memory=kinds))["optimizer state"]


def test_weights_in_float32_and_the_kv_cache(explain: Explain) -> None:
    prepared = CasePrepared(t=0.0, case=0, model=Model(name="m"), effective=Effective(weights_dtype="float32"))
    case = explain({"matmul": 1.0}, memory=MemoryKinds(weights_mb=300.0, cache_mb=200.0))
    case.case.prepared = prepared
    sentence = found(case)["weights"]
    assert sentence.startswith("Weights in float32 are 60% of the memory of the step (300 MB of 500 MB)")
    assert "The KV cache is 40% of the memory of the step (200 MB of 500 MB)" in found(case)["KV cache"]
    case.case.prepared = replace(prepared, effective=Effective(weights_dtype="bfloat16"))
    assert "weights" not in found(case)


def test_unfused_operators_only_without_a_compiler(explain: Explain) -> None:
    families = {"matmul": 6.0, "elementwise": 4.0}
    assert findings(explain(families))[0].confidence == "low"
    assert found(explain(families, config=Config(device="cpu", compile="default"))) == {}


def test_optimizer_of_a_small_batch(explain: Explain) -> None:
    assert (
        "The optimizer takes 50% of the step" in found(explain({"matmul": 5.0, "optimizer": 5.0}))["optimizer"]
    )


def test_products_near_the_peak(explain: Explain) -> None:
    peaks = Peaks(t=0.0, device="cpu", precision="fp32", flops_per_s=1e12)
    fast = kernel("aten::mm", "matmul", 9.0, flops=8.1e9)
    assert (
        "run at 90% of the measured peak"
        in found(explain({"matmul": 9.0}, kernels=(fast,), peaks=peaks))["near the peak"]
    )
    assert found(explain({"matmul": 9.0}, kernels=(fast,))) == {}
    faster = kernel("aten::mm", "matmul", 9.0, flops=9.4e9)
    sentence = found(explain({"matmul": 9.0}, kernels=(faster,), peaks=peaks))["near the peak"]
    assert "run at the measured peak" in sentence and "10" not in sentence.partition("run at")[2]


def test_findings_about_most_time_come_first(explain: Explain) -> None:
    breaks = (GraphBreak(reason="r", where="a.py:1"),)
    order = [
        each.rule
        for each in findings(explain({"wait": 20.0, "tokenizer": 50.0, "matmul": 30.0}, graph_breaks=breaks))
    ]
    assert order == ["tokenizer", "sleeping", "graph breaks"]
