"""Each rule finds its planted cause, and says nothing without it."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.events import CaseFinished, CasePrepared, Peaks
from benchtui.sessions.explain.cases import ExplainedCase
from benchtui.sessions.explain.findings import RULES, findings
from benchtui.sessions.explain.sentences import misfit_sentence, no_finding_sentence
from benchtui.sessions.payloads import Effective, Environment, Model
from benchtui.sessions.profiles import (
    END,
    GraphBreak,
    HostUse,
    KernelTime,
    MemoryKinds,
    Place,
    Recompile,
    ThreadUse,
)
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.sweep import Config

Explain = Callable[..., ExplainedCase]


@pytest.fixture
def explain(make_profile: Any) -> Explain:
    """Make an explained case from its families and further fields of its profile."""

    def make(families: dict[str, float], *, peaks: Peaks | None = None, **fields: Any) -> ExplainedCase:
        config = fields.pop("config", Config(device="cpu"))
        measured_ms = fields.pop("measured_ms", None)
        return ExplainedCase(CaseState(0, config), make_profile(families, **fields), measured_ms, peaks)

    return make


def kernel(name: str, family: str, ms: float, count: float = 1.0, **fields: Any) -> KernelTime:
    return KernelTime(name=name, family=family, ms=ms, count=count, **fields)  # type: ignore[arg-type]


def host(step_ms: float, **fields: Any) -> HostUse:
    """Make counters of a step that computes on two processors."""
    usual = {"cpu_ms": step_ms, "delay_ms": 0.0, "user_ms": 2 * step_ms, "kernel_ms": 0.0}
    return HostUse(step_ms=step_ms, **usual | {"page_faults": 0.0} | fields)


def place(activity: str, where: str = "own.py:7", code: str = "wait()", share: float = 0.5) -> Place:
    return Place(where=where, code=code, activity=activity, share=share)  # type: ignore[arg-type]


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


def test_loop_of_small_products(explain: Explain) -> None:
    loop = kernel("aten::mm", "matmul", 8.0, 2000.0, flops=2000 * 1024.0, shape="8x8 float, 8x8 float")
    case = explain({"matmul": 8.0, "python": 12.0}, kernels=(loop,), launches=2000.0)
    sentence = found(case)["many operators"]
    assert "such as aten::mm on 8x8 float, 8x8 float (2,000 times): 10.0 µs each" in sentence
    assert "a batched call in place of a loop" in sentence
    few = kernel("aten::mm", "matmul", 8.0, 20.0)
    assert "many operators" not in found(explain({"matmul": 8.0, "python": 1.0}, kernels=(few,), launches=20.0))


def test_operators_that_call_many_others(explain: Explain) -> None:
    """A recurrent cell for each of 120 positions, of which the profiler doubled the time."""
    inner = (kernel("aten::lstm_cell", "other", 1.0, 120.0), kernel("aten::as_strided", "other", 2.0, 2900.0))
    case = explain({"other": 3.0, "python": 3.1}, kernels=inner, launches=120.0, plain_ms=3.0)
    assert "25.0 µs each, which call 2,900 others" in found(case)["many operators"]
    assert "many operators" not in found(explain({"other": 90.0}, kernels=inner, launches=120.0))


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


def test_operator_of_no_known_family_that_takes_most_of_a_step(explain: Explain) -> None:
    sorts = [kernel("aten::sort", "other", ms, 3.0, shape=f"{ms:.0f}000 float") for ms in (5.0, 2.0)]
    families = {"other": 8.0, "matmul": 2.0}
    code = place("native", code="torch.sort(x)")
    case = explain(families, kernels=(*sorts, kernel("aten::roll", "other", 1.0)), places=(code,))
    sentence = found(case)["one operator"]
    assert "aten::sort on 5000 float alone takes 70% of the step (7.00 ms)" in sentence
    assert "at own.py:7, `torch.sort(x)`" in sentence
    small = explain({"other": 8.0}, kernels=tuple(kernel(f"aten::op{n}", "other", 1.0) for n in range(8)))
    assert "one operator" not in found(small)


def test_wait_for_another_process_in_a_collective(explain: Explain) -> None:
    waits = kernel("gloo:all_reduce", "collective", 9.0)
    case = explain({"collective": 9.0, "matmul": 1.0}, kernels=(waits,))
    assert "gloo:all_reduce alone takes 90% of the step (9.00 ms)" in found(case)["one operator"]
    assert "waits for the slowest" in found(case)["one operator"]


def test_forward_pass_that_is_computed_again(explain: Explain) -> None:
    families = {"matmul": 9.0, "python": 1.0}
    sentence = found(explain(families, recomputed_ms=2.5))["recomputing"]
    assert "computes the forward pass again (activation checkpointing), for 25% of the step" in sentence
    assert "recomputing" not in found(explain(families, recomputed_ms=0.5))
    config = Config(device="cpu", activation_checkpointing="on")
    remedies = {
        finding.rule: finding.remedy
        for finding in findings(explain(families, recomputed_ms=2.5, config=config))
    }
    assert remedies["recomputing"] == {"activation_checkpointing": "off"}


def test_modes_for_debugging_are_found_whatever_the_steps_took(explain: Explain) -> None:
    modes = ("autograd's anomaly detection (torch.autograd.set_detect_anomaly)",)
    case = explain({"matmul": 5.0, "python": 5.0}, diagnostics=modes)
    assert "runs with autograd's anomaly detection" in found(case)["diagnostics"]
    apart = explain({"matmul": 5.0, "python": 5.0}, diagnostics=modes, measured_ms=90.0)
    assert list(found(apart)) == ["diagnostics"]


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
    assert list(found(explain({"matmul": 9.0}, plain_ms=2.0, recompiles=again))) == ["recompiles"], "by its log"


def test_kept_activation(explain: Explain) -> None:
    kept = explain({"matmul": 1.0}, memory=MemoryKinds(growth_mb=12.3))
    assert "Each step allocates 11.7 MiB that it never frees" in found(kept)["kept activation"]
    assert found(explain({"matmul": 1.0}, memory=MemoryKinds(growth_mb=0.0))) == {}


def test_activations_and_optimizer_state_dominate_memory(explain: Explain) -> None:
    kinds = MemoryKinds(weights_mb=100.0, gradients_mb=100.0, optimizer_mb=200.0, activations_mb=600.0)
    sentence = found(explain({"matmul": 1.0}, memory=kinds))["activations"]
    assert (
        "Activations are 60% of the memory of the step (572 MiB of 954 MiB): activation_checkpointing=on"
        in sentence
    )
    kinds = MemoryKinds(weights_mb=100.0, gradients_mb=100.0, optimizer_mb=200.0, activations_mb=50.0)
    assert "44% of the memory" in found(explain({"matmul": 1.0}, memory=kinds))["optimizer state"]


def test_weights_in_float32_and_the_kv_cache(explain: Explain) -> None:
    prepared = CasePrepared(t=0.0, case=0, model=Model(name="m"), effective=Effective(weights_dtype="float32"))
    case = explain({"matmul": 1.0}, memory=MemoryKinds(weights_mb=300.0, cache_mb=200.0))
    case.case.prepared = prepared
    sentence = found(case)["weights"]
    assert sentence.startswith("Weights in float32 are 60% of the memory of the step (286 MiB of 477 MiB)")
    assert "The KV cache is 40% of the memory of the step (191 MiB of 477 MiB)" in found(case)["KV cache"]
    case.case.prepared = replace(prepared, effective=Effective(weights_dtype="bfloat16"))
    assert "weights" not in found(case)


def test_unfused_operators_only_without_a_compiler(explain: Explain) -> None:
    families = {"matmul": 6.0, "elementwise": 4.0}
    dropped = kernel("aten::native_dropout", "elementwise", 3.0, 2.0, shape="900x900 float")
    (finding,) = findings(explain(families, kernels=(dropped,)))
    assert finding.confidence == "low" and "most of it is aten::native_dropout of 900x900" in finding.sentence
    assert found(explain(families, config=Config(device="cpu", compile="default"))) == {}
    assert found(explain(families, config=Config(device="cpu", backend="openvino"))) == {}


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


def test_a_hint_comes_after_what_was_measured(explain: Explain) -> None:
    """Page faults of 60% are measured; that all of the elementwise time could be saved is a hint."""
    case = explain(
        {"elementwise": 90.0, "python": 10.0},
        host=host(100.0, main_kernel_ms=60.0, page_faults=60_000.0),
        busy_cpus=1.0,
    )
    assert [finding.rule for finding in findings(case)] == ["page faults", "unfused"]


def test_breakdown_of_another_step_gives_no_advice(explain: Explain) -> None:
    waits = {"matmul": 20.0, "wait": 80.0}
    assert findings(explain(waits, measured_ms=100.0))
    for fields in ({"measured_ms": 60.0}, {"measured_ms": 150.0}, {"plain_ms": 200.0}):
        case = explain(waits, memory=MemoryKinds(growth_mb=9.0), **fields)
        assert findings(case) == ()
        assert (misfit_sentence(case) or "").startswith("The breakdown doesn't describe the measured step")
    assert misfit_sentence(explain(waits, measured_ms=90.0)) is None


def test_facts_of_the_program_hold_for_another_step_without_a_time(explain: Explain) -> None:
    fields: dict[str, Any] = {
        "graph_breaks": (GraphBreak(reason="r", where="a.py:1"),),
        "recompiles": (Recompile(guard="size mismatch at index 0", where="f in own.py:3", count=6),),
    }
    case = explain({"compile": 50.0, "python": 50.0}, plain_ms=200.0, **fields)
    assert [(each.rule, each.ms) for each in findings(case)] == [("recompiles", None), ("graph breaks", None)]
    assert "Compiling takes" not in found(case)["recompiles"]


def test_waits_for_a_processor_do_not_make_a_step_another_one(explain: Explain) -> None:
    """A neighbor came: 100 ms instead of 60, of which threads waited 45 ms."""
    waits = {"matmul": 20.0, "wait": 80.0}
    assert findings(
        explain(waits, measured_ms=60.0, host=host(100.0, delay_ms=25.0, other_delays_ms=20.0, others_ms=90.0))
    )
    assert findings(explain(waits, measured_ms=60.0, host=host(100.0, delay_ms=2.0, others_ms=90.0))) == ()


def test_step_that_mostly_waits_for_a_processor_is_another_one(explain: Explain) -> None:
    """A neighbor makes a step of 8 ms one of 240: operators that spin for others take most of it."""
    used = host(240.0, delay_ms=60.0, other_delays_ms=180.0, others_ms=400.0)
    case = explain({"optimizer": 140.0, "matmul": 100.0}, measured_ms=8.0, host=used)
    assert findings(case) == ()
    sentence = misfit_sentence(case) or ""
    assert "in this run (it waited for processors that other processes used), 8.00 ms when it was" in sentence


def test_step_without_the_waits_of_the_measured_ones_is_the_same_step(explain: Explain, bench: Any) -> None:
    """Recorded next to a neighbor: 22 steps of 17 ms, in which threads waited 23 ms each; 7.6 in this run."""
    (measured,) = bench.session(bench.case(1, [17.0 + place / 10 for place in range(22)])).cases
    case = replace(explain({"matmul": 2.0, "copy": 5.6}, plain_ms=7.6, measured_ms=18.0), case=measured)
    assert findings(case) == ()
    measured.finished = replace(measured.finished, environment=Environment(run_delay_s=0.504))
    measured.metrics = metrics(measured)
    measured.drop_steps()
    assert [finding.rule for finding in findings(case)] == ["copies"]


def test_step_like_the_usual_measured_ones_is_explained(explain: Explain) -> None:
    """Steps that take 10 or 100 ms: a run in which most take long describes them, whatever their median."""
    waits = {"matmul": 20.0, "wait": 80.0}
    case = explain(waits, measured_ms=10.0)
    assert findings(case) == ()
    case.case.measured.wall_ms.extend([10.0] * 15 + [95.0] * 5)
    assert findings(case)
    case.case.measured.wall_ms.extend([10.0] * 100)
    assert findings(case) == ()


@pytest.mark.parametrize(("slow", "described"), [(1, False), (4, True)])
def test_few_steps_describe_a_step_within_the_interval_of_their_median(
    explain: Explain, bench: Any, slow: int, described: bool
) -> None:
    times_ms = [100.0 if place % 3 == 0 and place // 3 < slow else 10.0 for place in range(11)]
    (one,) = bench.session(bench.case(1, times_ms)).cases
    one.metrics = metrics(one)
    case = replace(explain({"matmul": 20.0, "wait": 80.0}, measured_ms=10.0), case=one)
    assert bool(findings(case)) is described


def test_page_faults_that_profiling_adds_do_not_make_a_step_another_one(explain: Explain) -> None:
    """Profiling makes a step of 10 ms one of 50: 8 ms of its own code and 32 ms of page faults."""
    families = {"elementwise": 48.0, "python": 2.0}
    assert found(explain(families, plain_ms=10.0)) == {}
    assert "unfused" in found(explain(families, plain_ms=10.0, added_user_ms=8.0))
    assert found(explain(families, plain_ms=10.0, added_user_ms=20.0)) == {}


def test_lengthened_step_keeps_what_the_profiler_does_not_change(explain: Explain) -> None:
    """A step of 500 products that the profiler made four times as long: calls are counted, not timed."""
    loop = kernel("aten::mm", "matmul", 30.0, 500.0, shape="8x8 float, 8x8 float")
    case = explain({"matmul": 30.0, "python": 10.0}, plain_ms=4.0, launches=500.0, kernels=(loop,))
    assert "from 4.00 to 40.0 ms" in (misfit_sentence(case) or "")
    assert "aten::mm on 8x8 float, 8x8 float (500 times): 8.00 µs each." in found(case)["many operators"]
    assert found(explain({"matmul": 30.0, "wait": 10.0}, plain_ms=4.0)) == {}


def test_nothing_unusual_is_said_of_an_explained_step_only(explain: Explain) -> None:
    assert no_finding_sentence(explain({"matmul": 90.0, "other": 10.0})) == "no rule found anything unusual"
    sentence = no_finding_sentence(explain({"matmul": 60.0, "other": 40.0}))
    assert (
        sentence == "no rule explains this step; most of it is matrix products (60%) and other operators (40%)"
    )


def test_wait_for_a_data_loader_with_its_ceiling_and_workers(explain: Explain) -> None:
    config = Config(device="cpu", parameters="rows=9 workers=0")
    case = explain({"input": 75.0, "matmul": 25.0}, config=config, processors=2, measured_ms=100.0)
    case.case.prepared = CasePrepared(t=0.0, case=0, model=Model(name="m"), samples_per_step=5)
    (finding,) = findings(case)
    assert (
        "waits 75% of the step (75.0 ms) for its DataLoader (without it at most 200 samples/s)"
        in finding.sentence
    )
    assert (finding.remedy, finding.bound_s) == ({"parameters": "rows=9 workers=2"}, 0.0625), "37.5 ms remain"
    with_workers = replace(case.case.config, parameters="rows=9 workers=2")
    (finding,) = findings(explain({"input": 75.0, "matmul": 25.0}, config=with_workers, measured_ms=100.0))
    assert (finding.remedy, finding.bound_s) == ({"parameters": "rows=9 workers=4"}, 0.05), "half of the step"


def test_part_that_loads_data(explain: Explain) -> None:
    case = explain({"matmul": 40.0, "python": 60.0}, parts_ms={"data": 60.0, "rest": 40.0}, host=host(100.0))
    assert "Part data takes 60% of the step" in findings(case)[0].sentence


@pytest.mark.parametrize(
    ("activity", "words"),
    [
        ("sleep", "the main thread sleeps at own.py:7, `wait()`"),
        ("lock", "waits for a lock or another thread at own.py:7"),
        ("file", "waits for a file"),
        ("network", "waits for the network"),
        ("process", "waits for a child process"),
    ],
)
def test_waits_are_named_by_their_system_call(explain: Explain, activity: str, words: str) -> None:
    places = (place("python", share=0.6), place(activity, share=0.4))
    assert words in found(explain({"matmul": 60.0, "wait": 40.0}, places=places))["sleeping"]


def test_wait_for_a_pipe_of_a_busy_child_is_one_for_the_child(explain: Explain) -> None:
    fields: dict[str, Any] = {"places": (place("pipe"),), "host": host(100.0, children_ms=40.0)}
    assert "waits for a child process" in found(explain({"matmul": 60.0, "wait": 40.0}, **fields))["sleeping"]
    fields["host"] = host(100.0)
    assert "waits for another process" in found(explain({"matmul": 60.0, "wait": 40.0}, **fields))["sleeping"]


def test_thread_that_competes_or_is_waited_for(explain: Explain) -> None:
    spinner = host(100.0, threads=(ThreadUse(name="spinner", cpu_ms=98.0),))
    sentence = found(explain({"matmul": 80.0, "python": 20.0}, host=spinner))["other threads"]
    assert "spinner, uses 98% of a processor during the step: it competes" in sentence
    waited = found(explain({"matmul": 50.0, "wait": 50.0}, host=spinner, places=(place("lock"),)))
    assert "the main thread waits 50% of the step (50.0 ms) meanwhile" in waited["other threads"]
    assert "sleeping" not in waited
    works = host(100.0, threads=(ThreadUse(name="trainer", cpu_ms=95.0),))
    case = explain({"matmul": 95.0, "python": 5.0}, host=works, filled_ms=93.0)
    assert "other threads" not in found(case)


def test_shares_are_those_of_the_step_without_waits_for_a_processor(explain: Explain) -> None:
    """A neighbor made the products of 4 ms take 40; the copies of 6 ms are still most of the step."""
    families = {"matmul": 94.0, "copy": 6.0}
    assert "copies" not in found(explain(families, host=host(100.0)))
    used = host(100.0, delay_ms=50.0, other_delays_ms=40.0, others_ms=98.0)
    assert [finding.rule for finding in findings(explain(families, host=used))] == ["copies", "preempted"]


def test_no_cause_has_high_confidence_next_to_a_neighbor(explain: Explain) -> None:
    families = {"matmul": 40.0, "copy": 60.0}
    assert {finding.confidence for finding in findings(explain(families, host=host(100.0)))} == {"high"}
    used = host(100.0, delay_ms=50.0, others_ms=98.0)
    assert "high" not in {finding.confidence for finding in findings(explain(families, host=used))}


def test_preemption_is_no_sleep_and_comes_last(explain: Explain) -> None:
    case = explain({"matmul": 70.0, "copy": 30.0}, host=host(100.0, delay_ms=45.0, others_ms=90.0), threads=2)
    assert [finding.rule for finding in findings(case)] == ["copies", "preempted"]
    assert "For about 45% of the step (45.0 ms)" in found(case)["preempted"]
    own = host(100.0, delay_ms=45.0, others_ms=2.0)
    assert "preempted" not in found(explain({"matmul": 70.0, "copy": 30.0}, host=own, threads=2))
    assert "preempted" not in found(explain({"matmul": 70.0}, host=host(70.0, delay_ms=None)))


def test_more_threads_than_processors(explain: Explain) -> None:
    """The main thread runs for 30 of 100 ms, which fewer threads can't shorten, and sleeps for 5 elsewhere."""
    families = {"matmul": 85.0, "python": 10.0, "wait": 5.0}
    used = host(100.0, cpu_ms=40.0, main_kernel_ms=10.0, delay_ms=50.0)
    (finding,) = findings(explain(families, threads=16, processors=2, host=used))
    assert finding.rule == "too many threads" and finding.remedy == {"threads": 2}
    assert finding.bound_s == pytest.approx(0.065)
    assert "they take 85% of the step (85.0 ms)" in finding.sentence
    assert "save at most the time in which the main thread doesn't run: 65.0 ms of 100 ms" in finding.sentence
    (unknown,) = findings(explain({"matmul": 85.0, "python": 15.0}, threads=16, processors=2))
    assert unknown.bound_s == pytest.approx(0.085)


def test_main_thread_that_always_runs_waits_for_no_other(explain: Explain) -> None:
    """Operators too small for several threads."""
    assert found(explain({"matmul": 90.0, "python": 10.0}, threads=16, processors=2, host=host(100.0))) == {}


def test_page_faults_are_no_copies(explain: Explain) -> None:
    filled = kernel("aten::fill_", "copy", 70.0, shape="9x9 float")
    case = explain(
        {"copy": 70.0, "matmul": 30.0},
        kernels=(filled,),
        host=host(100.0, main_kernel_ms=50.0, page_faults=49_000.0),
        busy_cpus=1.0,
        config=Config(device="cpu", env="A=1"),
    )
    (finding,) = findings(case)
    assert "49,000 page faults per step: the kernel takes 50% of the step (50.0 ms)" in finding.sentence
    env = "A=1 MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=8589934592"
    assert finding.remedy == {"env": env}


def test_page_faults_follow_operators_that_may_have_all_of_them(explain: Explain) -> None:
    """The temporary tensors of an optimizer are new memory in each step."""
    used = host(100.0, main_kernel_ms=50.0, page_faults=40_000.0)

    def rules(optimizer_ms: float) -> list[str]:
        families = {"optimizer": optimizer_ms, "matmul": 100.0 - optimizer_ms}
        return [finding.rule for finding in findings(explain(families, host=used))]

    assert rules(55.0) == ["optimizer", "page faults"]
    assert rules(45.0) == ["page faults", "optimizer"]


def test_memory_kept_saves_time_of_all_threads(explain: Explain) -> None:
    """The main thread is in the kernel for 20 ms, the other one for 40, of which half overlaps."""
    fields = {"main_kernel_ms": 20.0, "kernel_ms": 60.0, "page_faults": 20_000.0}
    (finding, *_) = findings(explain({"matmul": 100.0}, measured_ms=100.0, host=host(100.0, **fields)))
    assert (finding.rule, finding.ms, finding.bound_s) == ("page faults", 20.0, 0.04)
    assert "20% of the step (20.0 ms), with other threads at most 40% of the step (40.0 ms), to map" in (
        finding.sentence
    )


def test_memory_that_a_step_keeps_is_no_memory_mapped_again(explain: Explain) -> None:
    fields = {"host": host(100.0, main_kernel_ms=20.0, page_faults=20_000.0)}
    assert "page faults" in found(explain({"matmul": 100.0}, memory=MemoryKinds(growth_mb=1.0), **fields))
    kept = found(explain({"matmul": 100.0}, memory=MemoryKinds(growth_mb=60.0), **fields))
    assert "page faults" not in kept and "kept activation" in kept


def test_huge_pages_count_as_memory_that_is_mapped(explain: Explain) -> None:
    """NumPy asks for huge pages: few faults, which each clear 2 MB."""
    used = host(100.0, main_kernel_ms=18.0, page_faults=60.0, huge_pages=30.0)
    assert findings(explain({"matmul": 30.0, "python": 70.0}, host=used))[1].rule == "page faults"
    used = host(100.0, main_kernel_ms=18.0, page_faults=60.0)
    assert "page faults" not in found(explain({"matmul": 30.0, "python": 70.0}, host=used))


def test_page_faults_of_measured_steps_that_the_profiled_ones_lack(explain: Explain, bench: Any) -> None:
    """Differences of all pairs: 16.7 ms measured, and 7.4 ms next to the profiler, whose blocks stay above."""
    (measured,) = bench.session(bench.case(1, 16.7)).cases
    faults = Environment(minor_faults_per_step=5600.0, system_ms=12.0)
    measured.finished = replace(measured.finished, environment=faults)
    used = host(7.4, page_faults=40.0)
    families = {"elementwise": 7.2, "python": 0.2}
    case = replace(explain(families, plain_ms=7.4, measured_ms=16.7, host=used), case=measured)
    first = findings(case)[0]
    assert first.rule == "page faults" and first.bound_s == pytest.approx(0.0093)
    assert "5,600 page faults per measured step, 40 in this run, next to the profiler" in first.sentence
    measured.finished = replace(measured.finished, environment=replace(faults, system_ms=1.0))
    assert findings(case) == (), "the difference has another cause"


def test_file_that_is_read_in_each_step(explain: Explain) -> None:
    used = host(100.0, main_kernel_ms=60.0, read_mb=64.0, page_faults=16_000.0)
    case = explain({"matmul": 30.0, "python": 70.0}, host=used, busy_cpus=1.0)
    assert findings(case)[0].rule == "reading" and "reads 61.0 MiB" in findings(case)[0].sentence
    assert "page faults" not in found(case)


def test_wait_for_a_file_is_part_of_writing_it(explain: Explain) -> None:
    """Opening a file that is replaced waits for the disk."""
    case = explain(
        {"wait": 60.0, "python": 30.0, "matmul": 10.0},
        host=host(100.0, main_kernel_ms=20.0, written_mb=16.0),
        places=(place("file", code="save()", share=0.6), place("sleep", share=0.1)),
    )
    assert "writes 15.3 MiB" in found(case)["reading"] and "80% of the step" in found(case)["reading"]
    assert "sleeping" not in found(case)


def test_gaps_are_no_longer_than_a_plain_step_leaves_or_its_thread_runs(explain: Explain) -> None:
    families = {"python": 50.0, "matmul": 50.0}
    assert "50% of the step" in found(explain(families, host=host(100.0)))["Python gaps"]
    assert "30% of the step" in found(explain(families, host=host(80.0), plain_ms=80.0))["Python gaps"]
    assert "25% of the step" in found(explain(families, host=host(100.0, cpu_ms=25.0)))["Python gaps"]
    assert "Python gaps" not in found(explain(families, host=host(50.0), plain_ms=50.0))


def test_gaps_of_python_next_to_a_neighbor_whose_waits_come_and_go(explain: Explain) -> None:
    """Recorded: products of 0.6 ms took 66 in profiled steps, and with everything else 65 in plain ones."""
    fields: dict[str, Any] = {"cpu_ms": 32.8, "delay_ms": 32.0, "other_delays_ms": 32.8, "others_ms": 82.2}
    case = explain({"matmul": 66.2, "python": 8.6}, plain_ms=65.0, host=host(68.5, **fields))
    assert [finding.rule for finding in findings(case)] == ["Python gaps", "preempted"]


def test_time_with_evidence_comes_before_the_rest(explain: Explain) -> None:
    """Of a loop of system calls, the kernel takes 40%, and 55% is the Python around them."""
    case = explain({"python": 95.0, "matmul": 5.0}, host=host(100.0, main_kernel_ms=40.0))
    assert [finding.rule for finding in findings(case)] == ["kernel time", "Python gaps"]


def test_system_calls_that_nothing_explains(explain: Explain) -> None:
    case = explain({"matmul": 30.0, "python": 70.0}, host=host(100.0, main_kernel_ms=60.0), busy_cpus=1.0)
    assert findings(case)[0].rule == "kernel time"
    line = place("native", "own.py:9", "client.recv(n)")
    received = found(explain({"python": 100.0}, host=host(100.0, main_kernel_ms=60.0), places=(line,)))
    assert received["kernel time"].endswith("system calls; most of it at own.py:9, `client.recv(n)`.")
    counters = host(100.0, main_kernel_ms=60.0, page_faults=25_000.0)
    keeping = explain({"other": 30.0, "python": 70.0}, host=counters, memory=MemoryKinds(growth_mb=100.0))
    assert "kernel time" not in found(keeping), "the kernel maps the memory that the step keeps"


def test_garbage_collector(explain: Explain) -> None:
    case = explain({"matmul": 30.0, "python": 70.0}, host=host(100.0, collecting_ms=65.0))
    assert [finding.rule for finding in findings(case)] == ["garbage collection"]


def test_native_code_is_told_from_python(explain: Explain) -> None:
    families = {"matmul": 10.0, "python": 90.0}
    native = explain(families, places=(place("native", code="a @ b", share=0.9),))
    assert "such as NumPy's, takes 80% of the step" in found(native)["native code"]
    assert "`a @ b`" in found(native)["native code"] and "Python gaps" not in found(native)
    python = found(explain(families, places=(place("python", code="json.loads(text)", share=0.9),)))
    assert "most of it at own.py:7, `json.loads(text)`" in python["Python gaps"] and "native code" not in python


def test_line_that_runs_operators_is_no_native_code_outside_of_torch(explain: Explain) -> None:
    """Recorded next to a neighbor, where products took 66% of the profiled steps, or 2%."""
    lines = (
        place("native", code="left @ right", share=0.44),
        place("python", code="left @ right", share=0.18),
        place("python", "own.py:9", code="sorted(rows)", share=0.17),
        place("python", "own.py:9", code="sorted(rows)", share=0.12),
    )
    for families in ({"matmul": 66.0, "python": 34.0}, {"matmul": 2.0, "python": 98.0}):
        sentences = found(explain(families, places=lines))
        assert "`sorted(rows)`" in sentences["Python gaps"] and "native code" not in sentences


def test_samples_of_operators_are_neither_native_code_nor_waits(explain: Explain) -> None:
    """Next to a neighbor, operators had 40% of the samples, in which they also waited for their threads."""
    lines = (
        place("operator", code="left @ right", share=0.4),
        place("native", "own.py:9", code="compress(text)", share=0.5),
    )
    families = {"matmul": 20.0, "python": 60.0, "wait": 20.0}
    used = host(100.0, cpu_ms=80.0, delay_ms=40.0, others_ms=90.0)
    sentences = found(explain(families, places=lines, host=used))
    assert "own.py:9, `compress(text)`" in sentences["native code"]
    assert "left @ right" not in sentences["native code"] and "sleeping" not in sentences


def test_native_code_that_reads_a_file_is_reading(explain: Explain) -> None:
    lines = (place("native", code="path.read_bytes()", share=0.7),)
    fields: dict[str, Any] = {"page_faults": 10.0, "read_mb": 32.0}
    reads = host(100.0, main_kernel_ms=40.0, kernel_ms=40.0, **fields)
    sentences = found(explain({"matmul": 20.0, "python": 80.0}, places=lines, host=reads))
    assert "reading" in sentences and "native code" not in sentences


def test_profiled_steps_without_waits_are_taken_whole(explain: Explain) -> None:
    """Plain steps of 26 ms waited 15 for a processor; the profiled ones of 11 ms had none of that."""
    families = {"matmul": 9.3, "python": 1.0, "copy": 0.7}
    used = host(26.0, delay_ms=15.0, others_ms=20.0)
    assert "copies" not in found(explain(families, step_ms=11.0, plain_ms=11.0, host=used))


def test_steps_that_a_neighbor_makes_uneven_are_explained(explain: Explain) -> None:
    """On average, plain steps take three times the usual one; only waits in sampled lines are loaders'."""
    used = host(30.0, delay_ms=10.0, others_ms=10.0)
    uneven: dict[str, Any] = {"step_ms": 10.0, "plain_ms": 10.0, "host": used}
    families = {"copy": 9.0, "python": 1.0}
    operators = place("operator", share=0.9)
    assert "copies" in found(explain(families, places=(operators,), **uneven))
    assert "copies" not in found(explain(families, places=(operators, place("pipe")), **uneven))


def test_items_read_one_by_one(explain: Explain) -> None:
    item = kernel("aten::item", "other", 5.0, 500.0)
    case = explain({"other": 10.0, "python": 60.0, "matmul": 30.0}, kernels=(item,), launches=1000.0)
    assert "500 times per step" in found(case)["items"] and "many operators" not in found(case)
    slower = explain({"other": 10.0, "python": 60.0}, kernels=(item,), launches=1000.0, plain_ms=3.0)
    assert "that is about 50% of the step (1.50 ms)" in found(slower)["items"]


def test_limits_and_state_of_the_machine_come_last(explain: Explain) -> None:
    peaks = Peaks(t=0.0, device="cpu", precision="fp32", flops_per_s=1e12)
    fast = kernel("aten::mm", "matmul", 90.0, flops=8.1e10)
    used = host(100.0, delay_ms=45.0, others_ms=90.0)
    kept = MemoryKinds(growth_mb=9.0)
    case = explain({"matmul": 90.0, "copy": 10.0}, kernels=(fast,), peaks=peaks, host=used, memory=kept)
    order = ["copies", "kept activation", "near the peak", "preempted"]
    assert [finding.rule for finding in findings(case)] == order and findings(case)[2].bound_s == 0.0


def test_gather_denormals_and_strided_inputs(explain: Explain) -> None:
    shape = "1000x1000 float"
    index = kernel("aten::index", "gather", 80.0, shape=shape)
    assert (
        "most of it is aten::index"
        in found(explain({"gather": 80.0, "matmul": 20.0}, kernels=(index,)))["gather"]
    )
    slow = kernel("aten::mul", "elementwise", 90.0, shape=shape, denormal_share=0.97)
    case = explain({"elementwise": 90.0, "matmul": 10.0}, kernels=(slow,))
    assert "denormal numbers (97% of an input)" in findings(case)[0].sentence and "unfused" not in found(case)
    peaks = Peaks(t=0.0, device="cpu", precision="fp32", bytes_per_s=1e9)
    fast = kernel("aten::mul", "elementwise", 90.0, shape=shape, denormal_share=0.97, bytes=8e7)
    case = explain({"elementwise": 90.0, "matmul": 10.0}, kernels=(fast,), peaks=peaks)
    assert "denormals" not in found(case), "this processor multiplies them as fast as others"
    column = kernel("aten::exp", "elementwise", 90.0, shape=shape, strided=True)
    case = explain({"elementwise": 90.0, "matmul": 10.0}, kernels=(column,))
    assert findings(case)[0].rule == "strided" and "unfused" not in found(case)


def test_compiling_takes_the_time_of_recompiles(explain: Explain) -> None:
    again = (Recompile(guard="size mismatch at index 0", where="f in own.py:3", count=6),)
    finding = findings(explain({"compile": 90.0, "python": 10.0}, recompiles=again))[0]
    assert (
        finding.rule == "recompiles"
        and finding.ms == 90.0
        and "Compiling takes 90% of the step" in finding.sentence
    )


def test_far_from_the_peak_without_a_reason(explain: Explain) -> None:
    peaks = Peaks(t=0.0, device="cpu", precision="fp32", flops_per_s=1e12, bytes_per_s=1e10)
    slow = kernel("aten::sort", "elementwise", 90.0, shape="9 float", bytes=2e7)
    case = explain({"elementwise": 90.0, "matmul": 10.0}, kernels=(slow,), peaks=peaks)
    assert "runs at 2% of the measured peak" in found(case)["far from the peak"]
    used = host(100.0, delay_ms=60.0, others_ms=90.0)
    busy = explain({"elementwise": 90.0, "matmul": 10.0}, kernels=(slow,), peaks=peaks, host=used)
    assert "far from the peak" not in found(busy)


def test_remedy_of_a_users_step_is_one_that_the_engine_applies(explain: Explain) -> None:
    case = explain({"elementwise": 90.0, "matmul": 10.0})
    assert findings(case)[0].remedy == {"compile": "default"}
    case.case.prepared = CasePrepared(t=0.0, case=0, model=Model(name="m"))
    assert findings(case)[0].remedy is None


def expected_ms(case: ExplainedCase, rule: str) -> float | None:
    """Return the time that the remedy of a finding is expected to save per step."""
    (saved_s,) = (finding.expected_s for finding in findings(case) if finding.rule == rule)
    return None if saved_s is None else round(1000 * saved_s, 3)


def test_more_threads_save_no_time_in_the_kernel(explain: Explain) -> None:
    families = {"matmul": 90.0, "python": 10.0}
    used = host(100.0, user_ms=80.0, kernel_ms=20.0, main_kernel_ms=20.0)
    case = explain(families, threads=1, processors=2, host=used)
    assert expected_ms(case, "few threads") == 35.0
    assert findings(case)[0].bound_s == 0.045
    products = kernel("aten::mm", "matmul", 90.0, flops=45e6)
    peaks = Peaks(t=0.0, device="cpu", precision="fp32", flops_per_s=1e9)
    case = explain(families, threads=1, processors=2, kernels=(products,), peaks=peaks)
    assert expected_ms(case, "few threads") == 22.5
    one_at_the_peak = replace(case, peaks=replace(peaks, flops_per_s=5e8))
    assert "near the peak" not in found(one_at_the_peak)
    assert "near the peak" in found(replace(one_at_the_peak, profile=replace(case.profile, threads=2)))


def test_waits_that_the_profile_shortened_are_part_of_the_bound(explain: Explain) -> None:
    loading = Config(device="cpu", parameters="num_workers=2")
    case = explain(
        {"input": 20.0, "matmul": 60.0}, config=loading, processors=2, plain_ms=80.0, host=host(100.0)
    )
    assert findings(case)[0].bound_s == 0.032


def test_fewer_threads_save_the_time_in_which_a_processor_was_idle(explain: Explain) -> None:
    used = host(100.0, cpu_ms=25.0)
    case = explain({"matmul": 95.0, "wait": 5.0}, threads=8, processors=2, busy_cpus=1.6, host=used)
    assert expected_ms(case, "too many threads") == 15.0


def test_kept_memory_saves_what_the_kernel_took_of_the_measured_steps(explain: Explain) -> None:
    used = host(100.0, kernel_ms=80.0, main_kernel_ms=40.0, page_faults=50_000.0)
    case = explain({"matmul": 100.0}, host=used, measured_ms=90.0)
    assert expected_ms(case, "page faults") is None
    environment = Environment(minor_faults_per_step=45_000.0, system_ms=40.0, worker_cpu=2.0)
    case.case.finished = CaseFinished(t=1.0, case=0, outcome="ok", environment=environment)
    assert expected_ms(case, "page faults") == 20.0
    environment = replace(environment, minor_faults_per_step=1.0, system_ms=0.0)
    case.case.finished = CaseFinished(t=1.0, case=0, outcome="ok", environment=environment)
    assert "page faults" not in found(case)


def test_workers_cannot_save_the_work_of_all_processors(explain: Explain) -> None:
    loading = Config(device="cpu", parameters="num_workers=0")
    families = {"input": 80.0, "matmul": 20.0}
    idle = host(100.0, user_ms=30.0)
    assert expected_ms(explain(families, config=loading, processors=2, host=idle), "input") == 60.0
    busy = host(100.0, user_ms=170.0)
    assert expected_ms(explain(families, config=loading, processors=2, host=busy), "input") == 15.0


def test_fused_optimizer_still_reads_and_writes_its_state(explain: Explain) -> None:
    kinds, rates = (
        MemoryKinds(gradients_mb=100.0),
        Peaks(t=0.0, device="cpu", precision="fp32", bytes_per_s=5e10),
    )
    case = explain({"optimizer": 50.0, "matmul": 50.0}, memory=kinds, peaks=rates)
    assert findings(case)[0].remedy is None
    case.case.prepared = prepared(optimizer="adamw")
    assert findings(case)[0].remedy == {"optimizer": "adamw-fused"}
    assert expected_ms(case, "optimizer") == 36.0
    case.case.prepared = prepared(optimizer="adamw-fused")
    assert findings(case)[0].remedy is None


def test_checkpointing_of_the_whole_sweep_can_be_turned_off(explain: Explain) -> None:
    case = explain({"matmul": 100.0}, recomputed_ms=20.0)
    case.case.prepared = prepared(activation_checkpointing="on")
    assert findings(case)[0].remedy == {"activation_checkpointing": "off"}
    assert expected_ms(case, "recomputing") == 20.0


def test_fused_attention_saves_moving_the_scores(explain: Explain) -> None:
    scores = "8x512x512 float"
    kernels = (
        kernel("aten::bmm", "matmul", 30.0, shape="8x512x64 float, 8x64x512 float"),
        kernel("aten::_softmax", "elementwise", 30.0, bytes=1e8, shape=scores),
        kernel("aten::mul", "elementwise", 20.0, bytes=1e8, shape=f"{scores}, 1 float"),
        kernel("aten::add", "elementwise", 20.0, bytes=1e8, shape="8x512x64 float"),
    )
    rates = Peaks(t=0.0, device="cpu", precision="fp32", bytes_per_s=3e10)
    case = explain({"matmul": 30.0, "elementwise": 70.0}, kernels=kernels, peaks=rates)
    case.case.prepared = prepared(attention="eager")
    assert expected_ms(case, "unfused attention") == 10.0
    case = replace(case, peaks=None)
    assert expected_ms(case, "unfused attention") is None


def prepared(attention: str = "sdpa", **others: str) -> CasePrepared:
    """Make a case of a built-in task with these actual options."""
    model = Model(name="m", architecture="GPT2", parameters=1, weights="random")
    actual = Effective(weights_dtype="float32", attention=attention, others=others)
    return CasePrepared(t=0.0, case=0, task="lm-train", model=model, effective=actual)


def test_waits_of_some_steps_are_found_by_their_lines(explain: Explain) -> None:
    """The profiled steps found their batches prepared, as did most of the plain ones."""
    lines = (place("native", "own.py:3", "left @ right", 0.6), place("events", "own.py:7", "next(rows)", 0.4))
    fields = {"plain_ms": 6.0, "measured_ms": 7.0, "places": lines}
    case = explain({"matmul": 5.5}, host=host(10.0), **fields)
    assert findings(case)[0].sentence.startswith("In some of the steps, the main thread waits for an event")
    assert "40% of the time in all at own.py:7, `next(rows)`" in findings(case)[0].sentence
    assert "6.00 ms without the profiler at the median, but 10.0 ms on average" in str(misfit_sentence(case))
    assert "sleeping" not in found(explain({"matmul": 5.5}, host=host(6.1), **fields))


def test_memory_that_the_result_frees_names_the_line_that_made_it(explain: Explain) -> None:
    """A list of Python's numbers takes as long to free as to make."""
    places = (place("python", END, "", 0.5), place("python", "own.py:9", "x.tolist()", 0.4))
    sentence = found(explain({"python": 90.0, "matmul": 10.0}, places=places))["Python gaps"]
    assert (
        "most of it at the end of the step, which frees what it made; next at own.py:9, `x.tolist()`"
        in sentence
    )
