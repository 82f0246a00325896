"""Planted causes in real steps of one's own: profiled by the worker, found by the rules."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch._inductor.config as inductor

from benchtui.engine.job import Job
from benchtui.engine.worker import main
from benchtui.engine.worker.explain import profiling
from benchtui.sessions.events import CaseFinished, CasePrepared, Explained
from benchtui.sessions.explain.cases import ExplainedCase
from benchtui.sessions.explain.difference import difference
from benchtui.sessions.explain.findings import findings
from benchtui.sessions.profiles import StepProfile
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Sweep, cases

Profile = Callable[[Sweep], StepProfile]

COPIES = "x = torch.ones(1000, 1000)\nreturn Step(lambda: [x.clone() for _ in range(5)])"
SLEEPS = "import time\nx = torch.ones(64, 64)\nreturn Step(lambda: (time.sleep(0.02), x @ x))"
LOOPS = "x = torch.ones(8, 8)\nreturn Step(lambda: [x @ x for _ in range(500)])"
DOUBLES = "x = torch.ones(256, 256, dtype=torch.float64)\nreturn Step(lambda: x @ x)"
KEEPS = "x, kept = torch.ones(500, 500), []\nreturn Step(lambda: kept.append(x * 2))"
BREAKS = """def work(x):
    y = x * 2
    torch._dynamo.graph_break()
    return y + 1
compiled, x = torch.compile(work, backend="eager"), torch.ones(64)
return Step(lambda: compiled(x))"""
RECOMPILES = """from itertools import cycle
compiled = torch.compile(lambda x: x * 2, backend="eager", dynamic=False)
lengths = cycle((16, 17, 18))
return Step(lambda: compiled(torch.ones(next(lengths))))"""


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Profile:
    """Profile the one case of a sweep in this process."""
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(inductor.cpp, "enable_kernel_profile", False)

    def run(sweep: Sweep) -> StepProfile:
        (case,) = cases(sweep)
        sent: list[Any] = []
        scratch = str(tmp_path / "scratch")
        job = Job(case=0, config=case.config, sweep=sweep, zero_s=0.0, scratch=scratch, explain=True)
        main._Case(job, sent.append).run()
        assert [type(event) for event in sent] == [CasePrepared, Explained, CaseFinished]
        assert sent[-1].outcome == "ok"
        found = sent[1].profile
        assert isinstance(found, StepProfile)
        assert sum(each.ms for each in found.families) == pytest.approx(found.step_ms, rel=0.03)
        return found

    return run


def rules(found: StepProfile, sweep: Sweep) -> list[str]:
    (case,) = cases(sweep)
    return [each.rule for each in findings(ExplainedCase(CaseState(0, case.config), found, None))]


def test_planted_slow_down_leads_the_difference(own: Callable[..., Sweep], profile: Profile) -> None:
    sides = []
    for index, planted in enumerate(("None", "torch.sin(large)")):
        tensors = "x, large = torch.ones(100), torch.ones(1500, 1500)"
        sweep = own(f"{tensors}\nreturn Step(lambda: (x * 2, {planted}))", "iterations=3")
        (case,) = cases(sweep)
        sides.append(ExplainedCase(CaseState(index, case.config), profile(sweep), None))
    found = difference(*sides)
    assert found.kernels[0].name == "aten::sin"
    assert found.kernels[0].base_ms is None
    assert sum(part.gap_ms for part in found.families) + found.remainder_ms == pytest.approx(
        found.measured_gap_ms
    )


def test_copies_are_found(own: Callable[..., Sweep], profile: Profile) -> None:
    sweep = own(COPIES, "iterations=3")
    found = profile(sweep)
    assert rules(found, sweep)[0] == "copies"
    copied = found.kernels[0]
    assert copied.name == "aten::copy_" and copied.count == 5.0 and copied.bytes == 5 * 8_000_000


def test_step_that_cannot_be_intercepted_has_a_profile(
    own: Callable[..., Sweep], profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that fails while its operators are intercepted only lacks the search for denormal numbers."""

    def refuse(*_: object) -> None:
        raise RuntimeError("this step can't be intercepted")

    monkeypatch.setattr(profiling, "with_denormals", refuse)
    found = profile(own("x = torch.ones(64, 64)\nreturn Step(lambda: x @ x)", "iterations=3"))
    assert found.kernels and "can't be intercepted" in found.absent["denormals"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("body", "rule"),
    [(SLEEPS, "sleeping"), (LOOPS, "many operators"), (DOUBLES, "float64"), (KEEPS, "kept activation")],
)
def test_planted_cause_is_found(own: Callable[..., Sweep], profile: Profile, body: str, rule: str) -> None:
    sweep = own(body, "iterations=3")
    assert set(rule.split("|")) & set(rules(profile(sweep), sweep))


@pytest.mark.long
def test_graph_break_and_recompiles_have_their_places(own: Callable[..., Sweep], profile: Profile) -> None:
    sweep = own(BREAKS, "iterations=3")
    found = profile(sweep)
    (one,) = found.graph_breaks
    assert one.where is not None and "own.py:" in one.where and "User-inserted graph break" in one.reason
    assert "graph breaks" in rules(found, sweep)
    sweep = own(RECOMPILES, "iterations=3")
    found = profile(sweep)
    assert "size mismatch at index 0" in found.recompiles[0].guard
    assert "recompiles" in rules(found, sweep)


@pytest.mark.long
def test_one_thread_where_there_are_two_processors(own: Callable[..., Sweep], profile: Profile) -> None:
    sweep = own("x = torch.ones(600, 600)\nreturn Step(lambda: x @ x)", "threads=1", "iterations=3")
    found = profile(sweep)
    assert found.threads == 1
    assert ("few threads" in rules(found, sweep)) is ((found.processors or 1) > 1)


@pytest.mark.long
def test_tokenizer_bound_batches(tiny_sweep: Callable[..., Sweep], profile: Profile) -> None:
    sweep = tiny_sweep("batch_size=64", "sequence_length=8")
    assert "tokenizer" in rules(profile(sweep), sweep)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # torch's compiler looks for it
@pytest.mark.parametrize("compiled", ["off", "default"])
def test_training_and_its_memory_by_kind(
    lm_sweep: Callable[..., Sweep], profile: Profile, compiled: str
) -> None:
    found = profile(lm_sweep("task=lm-train", f"compile={compiled}"))
    kinds = found.memory
    assert kinds.weights_mb and kinds.gradients_mb == pytest.approx(kinds.weights_mb, rel=0.05)
    assert kinds.optimizer_mb == pytest.approx(2 * kinds.gradients_mb, rel=0.05)
    assert kinds.activations_mb and kinds.growth_mb is not None and kinds.growth_mb < 0.05
    families = {each.family for each in found.families}
    assert {"matmul", "elementwise", "optimizer", "tokenizer"} <= families


@pytest.mark.long
@pytest.mark.parametrize("task", ["lm-forward", "generate"])
def test_every_task_has_a_profile(lm_sweep: Callable[..., Sweep], profile: Profile, task: str) -> None:
    found = profile(lm_sweep(f"task={task}"))
    assert found.kernels and (found.memory.cache_mb is not None) is (task == "generate")
