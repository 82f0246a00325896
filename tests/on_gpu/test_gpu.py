"""Cases on a GPU, real or played, by command line."""

from collections.abc import Callable

import pytest

from benchtui.sessions.analysis.applied_options import was_applied
from benchtui.sessions.analysis.roofline import limit
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics

pytestmark = pytest.mark.long
Measure = Callable[..., Session]
GPU, RANDOM = "device=cuda:0", "weights=random"
STEPS = ("measure.warmup=3", "measure.iterations=10")


def states(session: Session) -> list[str]:
    return [case.state for case in session.cases]


def reasons(session: Session) -> list[str | None]:
    return [case.finished.reason if case.finished else None for case in session.cases]


def shares(session: Session, case: CaseState) -> tuple[float | None, float | None]:
    """How much of the peak rate of products a case reaches, and how much of a step the device is at work."""
    found = limit(case, session.peaks)
    assert found is not None
    return found.shares.arithmetic, found.shares.busy


def test_every_precision_is_measured_and_applied_options_are_read_back(measure: Measure, played: bool) -> None:
    precisions = ("fp32", "tf32", "fp16", "bf16", "amp-fp16", "amp-bf16")
    session = measure(
        "quick", GPU, f"precision={','.join(precisions)}", "batch_size=8", "sequence_length=128", *STEPS
    )
    assert states(session) == ["ok"] * 6
    seen = [case.effective for case in session.cases]
    assert [each and (each.weights_dtype, each.autocast_dtype) for each in seen] == [
        ("float32", None),
        ("float32", None),
        ("float16", None),
        ("bfloat16", None),
        ("float32", "float16"),
        ("float32", "bfloat16"),
    ]
    applied = [was_applied(case, "precision") for case in session.cases]
    assert applied == ([True, None, *[True] * 4] if played else [True] * 6), (
        "products are zeros where they are played"
    )
    assert {(peaks.precision, *sorted(peaks.absent)) for peaks in session.peaks} == {
        ("fp32",),
        ("tf32",),
        ("fp16",),
        ("bf16",),
    }
    for case in session.cases:
        arithmetic, busy = shares(session, case)
        assert arithmetic is not None and 0 < arithmetic <= 1.05
        assert busy is not None and 0 < busy <= 1
        memory = case.finished.memory if case.finished else None
        assert (
            memory is not None and memory.peak_allocated_mb is not None and memory.peak_reserved_mb is not None
        )
        assert 100 < memory.peak_allocated_mb <= memory.peak_reserved_mb
        assert set(case.parts) == {"tokenize", "transfer", "forward", "result"}
    assert "## Limits" in markdown(session, full=True)


def test_only_a_small_batch_is_host_bound(measure: Measure) -> None:
    sweep = ("task=lm-forward", "model=gpt2", "dataset=synthetic", GPU, RANDOM, "precision=fp32", *STEPS)
    session = measure("quick", *sweep, "batch_size=1,256", "sequence_length=64")
    small, large = (limit(case, session.peaks) for case in session.cases)
    assert small is not None and small.bound == "host"
    assert large is not None and large.bound != "host"
    assert large.shares.busy is not None and large.shares.busy > 0.8


def test_out_of_memory_is_recorded_and_the_next_case_runs(measure: Measure) -> None:
    session = measure(
        "gpt2-train",
        *STEPS,
        "precision=fp32,amp-fp16",
        "compile=off",
        "batch_size=1,8192",
        "sequence_length=64",
    )
    assert states(session) == ["ok", "oom", "ok", "oom"]
    reason = reasons(session)[1]
    assert reason is not None and reason.startswith("out of memory on cuda:0: ") and len(reason) < 120
    assert "tried to allocate" in reason


def test_largest_batch_that_fits_is_found(measure: Measure, played: bool) -> None:
    room = {"PLAYED_GPU_GB": "3"}
    session = measure(
        "gpt2-train", *STEPS, "precision=fp32", "compile=off", "batch_size=auto", "sequence_length=128", **room
    )
    assert set(states(session)) <= {"ok", "oom"} and states(session)[0] == "ok"
    assert any("auto batch size" in message.text for message in session.messages)
    assert not played or "oom" in states(session)


@pytest.mark.parametrize("accumulation", [1, 2])
def test_training_uses_cuda_graphs(measure: Measure, accumulation: int) -> None:
    sweep = ("precision=amp-fp16", "compile=off,reduce-overhead", "batch_size=1", "sequence_length=64")
    session = measure("gpt2-train", *STEPS, *sweep, f"train.accumulation={accumulation}")
    assert states(session) == ["ok", "ok"], reasons(session)
    plain, graphs = (case.finished.memory for case in session.cases if case.finished)
    assert plain is not None and plain.peak_allocated_mb is not None
    assert graphs is not None and graphs.peak_allocated_mb is None and graphs.peak_reserved_mb is not None
    compiled = session.cases[1].effective
    assert compiled is not None and compiled.compiled is True and compiled.cuda_graphs is True
    finished = session.cases[1].finished
    assert finished is not None and finished.compiling is not None
    assert finished.compiling.cuda_graphs and finished.compiling.cuda_graph_skips == 0
    assert len(finished.compiling.cold) >= 2, "the first step compiles, a later one records"


def test_generation_records_prefill_and_decode_separately(measure: Measure) -> None:
    sweep = ("task=generate", "model=gpt2", "dataset=synthetic", GPU, RANDOM, "precision=fp16", *STEPS)
    session = measure(
        "quick", *sweep, "compile=off,default", "batch_size=2", "sequence_length=32", "new_tokens=8"
    )
    assert states(session) == ["ok", "ok"], reasons(session)
    assert all({"prefill", "decode"} <= set(case.parts) for case in session.cases)


def test_decoding_with_a_static_cache_uses_cuda_graphs(measure: Measure) -> None:
    sweep = ("task=generate", "model=gpt2", "dataset=synthetic", GPU, RANDOM, "precision=fp16", *STEPS)
    session = measure(
        "quick",
        *sweep,
        "compile=off,reduce-overhead",
        "cache=dynamic,static",
        "batch_size=2",
        "sequence_length=32",
        "new_tokens=8",
    )
    found = {(case.config.compile, case.config.cache): case for case in session.cases}
    skipped = found.pop(("reduce-overhead", "dynamic")).finished
    assert skipped is not None and skipped.outcome == "skipped" and "use cache = static" in str(skipped.reason)
    assert {case.state for case in found.values()} == {"ok"}, reasons(session)
    assert all(was_applied(case, "cache") for case in found.values())
    graphs = found["reduce-overhead", "static"]
    assert was_applied(graphs, "compile")
    assert graphs.finished is not None and graphs.finished.compiling is not None
    assert graphs.finished.compiling.graphs == 1 and graphs.finished.compiling.graph_breaks == 0
    assert graphs.finished.compiling.cuda_graphs and graphs.finished.compiling.cuda_graph_skips == 0
    assert not graphs.finished.compiling.unsteady, "one recording serves every pass of every step"


def test_steps_in_throughput_mode_have_their_own_times(measure: Measure) -> None:
    sweep = ("task=lm-forward", "model=gpt2", "dataset=synthetic", GPU, RANDOM, "precision=fp16")
    found = [
        measure(
            "quick", *sweep, *STEPS, "iterations=32", "batch_size=64", "sequence_length=512", f"mode={mode}"
        )
        for mode in ("latency", "throughput")
    ]
    synchronised, free = (metrics(session.cases[0]) for session in found)
    assert synchronised is not None and free is not None
    middle_ms = free.latency_ms.median
    assert middle_ms is not None and synchronised.latency_ms.median is not None
    assert middle_ms == pytest.approx(free.latency_ms.mean, rel=0.15), (
        "the sum of all is what the host's clock said"
    )
    assert middle_ms < 1.1 * synchronised.latency_ms.median
