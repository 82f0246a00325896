from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

from benchtui.engine.devices.registry import open_device
from benchtui.engine.job import AnsweredCase, Job
from benchtui.engine.models import loading
from benchtui.engine.worker import answers
from benchtui.engine.workloads.base import Output
from benchtui.engine.workloads.registry import make_workload
from benchtui.sessions.analysis.answers import EXACT, compare
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Answered
from benchtui.sessions.payloads import AnswerComparison
from benchtui.sessions.sweep import Baseline, Config, Measure, Sweep, cases

VALUES = torch.linspace(-1, 1, 100, dtype=torch.float64)


class Fixed:
    """Workload that answers with these values, or raises this."""

    def __init__(self, answer: torch.Tensor | Exception) -> None:
        self._answer = answer

    def answer(self, step_s: float) -> Output:
        if isinstance(self._answer, Exception):
            raise self._answer
        return Output("values", self._answer)


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., Answered | None]:
    """Let a case answer with some values, by itself unless ``spot_check`` is False."""

    def answered(case: int, values: Any, named: Baseline | None = None, **options: Any) -> Answered | None:
        options.setdefault("spot_check", True)
        names = ("batch_size", "precision", "sequence_length", "tokenizer_threads", "threads")
        job = Job(
            case=case,
            config=Config(device="cpu", **{name: options.pop(name) for name in names if name in options}),
            sweep=Sweep(
                name="s", model="m", measure=Measure(baseline=named), task=options.pop("task", "classify")
            ),
            zero_s=0.0,
            scratch=str(tmp_path / f"case-{case}"),
            **options,
        )
        workload: Any = Fixed(values)
        return answers.answer(job, workload, 0.01, lambda: 1.0)

    return answered


def verdicts(answered: Answered | None) -> dict[int, tuple[int, str | None]]:
    assert answered is not None
    return {each.case: (each.baseline, each.verdict) for each in answered.comparisons}


def test_first_case_is_the_baseline_of_later_ones(ask: Any, tmp_path: Path) -> None:
    first = ask(0, VALUES)
    assert first is not None and first.answer is not None
    assert (first.answer.kind, first.answer.amount, verdicts(first)) == ("values", 100, {})
    assert verdicts(ask(1, VALUES.clone())) == {1: (0, "identical")}
    assert verdicts(ask(2, VALUES.flip(0))) == {2: (0, "broken")}
    assert [path.name for path in (tmp_path / answers.FOLDER).glob("*.npy")] == ["case-0.npy"]


def test_cases_wait_for_a_baseline_that_answers_last(ask: Any, tmp_path: Path) -> None:
    named = Baseline(batch_size=4)
    assert verdicts(ask(0, VALUES, named, batch_size=1)) == {}
    assert verdicts(ask(1, VALUES + 1e-9, named, batch_size=2)) == {}
    assert verdicts(ask(2, VALUES, named, batch_size=4)) == {0: (2, "identical"), 1: (2, "close")}
    assert [path.name for path in (tmp_path / answers.FOLDER).glob("*.npy")] == ["case-2.npy"]


def test_earlier_case_of_the_plan_becomes_the_baseline_once_it_has_answered(ask: Any) -> None:
    assert verdicts(ask(3, VALUES)) == {}
    assert verdicts(ask(1, VALUES)) == {3: (1, "identical")}


def share(ask: Any, case: int, values: Any = VALUES, **options: Any) -> Answered:
    """Let a case share its answer if it can."""
    answered: Answered = ask(case, values, Baseline(batch_size=1), spot_check=False, **options)
    return answered


def test_sizes_share_the_first_comparison(ask: Any) -> None:
    """The baseline answers for itself, and so does the first case that is compared with it."""
    assert share(ask, 0).shared_with is None
    assert verdicts(share(ask, 1, VALUES + 1e-9, batch_size=2)) == {1: (0, "close")}
    third = share(ask, 2, ZeroDivisionError(), batch_size=4, tokenizer_threads=2)
    assert (third.answer, third.shared_with, verdicts(third)) == (None, 1, {2: (0, "close")})


def test_shared_answer_is_not_called_identical(ask: Any) -> None:
    """Another batch size may change the last bits."""
    for case, size in enumerate((1, 2)):
        share(ask, case, batch_size=size)
    assert verdicts(share(ask, 2, batch_size=4)) == {2: (0, "close")}


def test_later_rounds_do_not_share_again(ask: Any) -> None:
    for case, size in enumerate((1, 2, 4)):
        share(ask, case, batch_size=size)
    assert share(ask, 2, batch_size=4, round=1) is None


@pytest.mark.parametrize(
    "options", [{"precision": "bf16"}, {"threads": 1}, {"task": "lm-train"}, {"task": "s.py:f"}]
)
def test_other_numerics_answer_for_themselves(ask: Any, options: dict[str, Any]) -> None:
    task = {"task": options["task"]} if "task" in options else {}
    for case, size in enumerate((1, 2)):
        share(ask, case, batch_size=size, **task)
    assert share(ask, 2, batch_size=4, **options).shared_with is None


def test_baseline_of_another_length_answers_for_itself(ask: Any) -> None:
    for case, size in enumerate((1, 2)):
        share(ask, case, batch_size=size)
    assert share(ask, 2, sequence_length=256).shared_with is None
    assert share(ask, 3, sequence_length=256, batch_size=2).shared_with == 1


def test_spot_check_answers_for_itself(ask: Any) -> None:
    for case, size in enumerate((1, 2, 4)):
        share(ask, case, batch_size=size)
    assert verdicts(ask(3, VALUES + 1e-9, Baseline(batch_size=1), batch_size=8)) == {3: (0, "close")}


def test_contradicting_spot_check_withdraws_what_was_shared(ask: Any) -> None:
    for case, size in enumerate((1, 2, 4)):
        share(ask, case, batch_size=size)
    check = ask(3, VALUES.flip(0), Baseline(batch_size=1), batch_size=8)
    assert verdicts(check) == {3: (0, "broken"), 2: (0, None)}
    assert check.comparisons[1].absent == (
        "it was to share the answer of case 2, but case 4, which differs only in size, answers differently"
    )
    assert verdicts(share(ask, 2, batch_size=4, round=1)) == {2: (0, "identical")}


def test_shortened_probe_is_compared_with_the_start_of_a_whole_one() -> None:
    tokens = numpy.arange(40).reshape(4, 10)
    figures = compare("tokens", tokens, tokens[:1, :3], EXACT)
    assert figures == {"equal_tokens": 1.0, "first_difference": None, "verdict": "identical"}
    logits = numpy.random.default_rng(0).normal(size=(16, 5))
    assert compare("logits", logits, logits[:3], EXACT)["verdict"] == "identical"


def test_case_answers_once_however_many_rounds_it_has(ask: Any) -> None:
    assert ask(0, VALUES) is not None
    assert ask(0, VALUES, round=1) is None


def test_later_round_answers_if_an_earlier_engine_measured_the_first(ask: Any) -> None:
    assert ask(0, VALUES, round=1) is not None


def test_baseline_of_an_earlier_engine_has_no_kept_answer(ask: Any) -> None:
    """It must not be replaced by the first case that this engine measures."""
    found = ask(2, VALUES, baseline=AnsweredCase(index=0, config=Config(device="cpu")))
    (each,) = found.comparisons
    assert (each.case, each.baseline, each.verdict) == (2, 0, None)
    assert each.absent == "the answer of case 1, its baseline, is not (or no longer) on this machine"


def test_training_is_compared_within_a_batch_size(ask: Any) -> None:
    named = Baseline(batch_size=1, precision="fp32")
    for case, size in enumerate((1, 2)):
        assert verdicts(ask(case, VALUES, named, batch_size=size, task="lm-train")) == {}
    found = ask(2, VALUES, named, batch_size=2, precision="bf16", task="lm-train")
    assert verdicts(found) == {2: (1, "identical")}


@pytest.mark.parametrize(
    ("answer", "absent"),
    [
        (BenchtuiError("the step has no method answer()"), "the step has no method answer()"),
        (ZeroDivisionError("by zero"), "ZeroDivisionError: by zero"),
        (torch.zeros(0), "the answer has 0 values; 1 to 6,500,000 can be compared"),
    ],
)
def test_error_is_the_reason_of_an_absent_answer(ask: Any, answer: Any, absent: str) -> None:
    found = ask(0, answer)
    assert (found.answer, found.absent, found.comparisons) == (None, absent, ())
    (other,) = ask(1, VALUES).comparisons
    assert other.absent == "case 1, its baseline, has no answer"


def test_folder_that_cannot_be_written_is_the_reason(ask: Any, tmp_path: Path) -> None:
    (tmp_path / answers.FOLDER).write_text("a file")
    assert "FileExistsError" in ask(0, VALUES).absent


def test_answers_of_other_shapes_are_told_apart(ask: Any) -> None:
    ask(0, VALUES)
    (each,) = ask(1, VALUES[:50]).comparisons
    assert each.absent == "its answer has the shape (50,), the baseline's (100,)"


def made(sweep: Sweep) -> Any:
    (case,) = cases(sweep)
    return make_workload(sweep, case.config, open_device("cpu"))


def compared(folder: Path, sweep: Sweep, *workloads: Any) -> AnswerComparison:
    """Compare the answers of two workloads of one sweep."""
    for case, workload in enumerate(workloads):
        job = Job(
            case=case, config=workload._config, sweep=sweep, zero_s=0.0, scratch=str(folder / f"case-{case}")
        )
        found = answers.answer(job, workload, 0.01, lambda: 1.0)
    assert found is not None and found.absent is None
    return found.comparisons[0]


@pytest.fixture
def texts(tmp_path: Path) -> str:
    """Rows of different lengths, so that some are padded."""
    (tmp_path / "texts.txt").write_text("good film\none two three four five six seven\nno\n")
    return f"dataset={tmp_path / 'texts.txt'}"


@pytest.mark.parametrize("task", ["classify", "lm-forward", "generate", "lm-train"])
def test_same_case_twice_is_identical(
    tiny_sweep: Callable[..., Sweep], lm_sweep: Callable[..., Sweep], task: str, texts: str, tmp_path: Path
) -> None:
    make = tiny_sweep if task == "classify" else lm_sweep
    sweep = make(f"task={task}", texts, "batch_size=2", *(["new_tokens=4"] if task == "generate" else []))
    workloads = [made(sweep) for _ in range(2)]
    for each in workloads:
        for _ in range(2):
            each.count(each.step(lambda part: None))
    assert compared(tmp_path, sweep, *workloads).verdict == "identical"


def test_attention_without_its_mask_is_different(
    tiny_sweep: Callable[..., Sweep], texts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = tiny_sweep(texts, "batch_size=2")
    sound, broken = made(sweep), made(sweep)
    call = broken._call
    monkeypatch.setattr(
        broken,
        "_call",
        lambda **inputs: call(**{name: each for name, each in inputs.items() if name != "attention_mask"}),
    )
    assert compared(tmp_path, sweep, sound, broken).verdict in ("different", "broken")


def test_other_weights_are_broken(
    lm_sweep: Callable[..., Sweep], texts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = lm_sweep(texts)
    sound = made(sweep)
    monkeypatch.setattr(
        loading, "_fill", lambda module: [torch.nn.init.normal_(each, std=0.02) for each in module.parameters()]
    )
    assert compared(tmp_path, sweep, sound, made(sweep)).verdict == "broken"


def test_real_checkpoint_shows_what_each_precision_costs(
    trained_sweep: Callable[..., Sweep], tmp_path: Path
) -> None:
    """Twice the same is IDENTICAL, bf16 and int8 are CLOSE, int8 further away; noise in the weights is not."""
    sweep = trained_sweep()
    base, noisy = made(sweep), made(sweep)
    torch.manual_seed(0)
    for weights in noisy._network.parameters():
        weights.data += 0.2 * weights.std() * torch.randn_like(weights)
    others = (made(trained_sweep(f"precision={name}")) for name in ("fp32", "bf16", "int8"))
    again, bf16, int8 = (
        compared(tmp_path / str(place), sweep, base, other) for place, other in enumerate(others)
    )
    assert (again.verdict, bf16.verdict, int8.verdict) == ("identical", "close", "close")
    assert bf16.kl_mean is not None and int8.kl_mean is not None and int8.sqnr_db and bf16.sqnr_db
    assert 0 < bf16.kl_mean < int8.kl_mean and int8.sqnr_db < bf16.sqnr_db
    assert compared(tmp_path / "noisy", sweep, base, noisy).verdict == "different"


@pytest.mark.parametrize("size", [1, 3, 8])
def test_batch_size_does_not_change_the_probe(lm_sweep: Callable[..., Sweep], size: int) -> None:
    """More rows than the probe has, and a number that doesn't divide them."""
    whole = made(lm_sweep("batch_size=4")).answer(0.01).values
    parts = made(lm_sweep(f"batch_size={size}")).answer(0.01).values
    assert whole.shape == parts.shape == (4 * 16, 30522)
    numpy.testing.assert_allclose(whole.numpy(), parts.numpy(), atol=1e-5)


def test_slowest_case_is_not_asked(lm_sweep: Callable[..., Sweep]) -> None:
    with pytest.raises(BenchtuiError, match="the probe would take 40 s; at most 30 s are spent on it"):
        made(lm_sweep("batch_size=1")).answer(40.0)


@pytest.mark.parametrize(
    ("size", "step_s", "shortened"),
    [(1, 20.0, "1 of 4 inputs"), (1, 5.0, "3 of 4 inputs"), (8, 60.0, "2 of 4 inputs"), (8, 20.0, None)],
)
def test_slow_step_answers_a_part_of_a_batch(
    lm_sweep: Callable[..., Sweep], size: int, step_s: float, shortened: str | None
) -> None:
    workload = made(lm_sweep(f"batch_size={size}"))
    whole, part = workload.answer(0.01), workload.answer(step_s)
    assert (whole.shortened, part.shortened) == (None, shortened)
    numpy.testing.assert_allclose(whole.values[: len(part.values)].numpy(), part.values.numpy(), atol=1e-5)


def test_slow_training_trains_fewer_seeds_and_steps(lm_sweep: Callable[..., Sweep]) -> None:
    workload = made(lm_sweep("task=lm-train", "batch_size=1"))
    outputs = [workload.answer(step_s) for step_s in (0.01, 2.0, 4.0, 14.0)]
    assert [tuple(output.values.shape) for output in outputs] == [(3, 6, 3), (3, 2, 3), (1, 3, 3), (1, 2, 3)]
    assert [output.shortened for output in outputs[1:3]] == [
        "2 of 6 steps with 3 of 3 seeds",
        "3 of 6 steps with 1 of 3 seeds",
    ]
    assert outputs[0].values[:1, :3].tolist() == outputs[2].values.tolist()
    with pytest.raises(BenchtuiError, match="the probe would take 32 s"):
        workload.answer(16.0)


@pytest.mark.parametrize("options", [(), ("cache=static",), ("draft=lookup:2",)])
def test_slow_generation_answers_fewer_tokens(lm_sweep: Callable[..., Sweep], options: tuple[str, ...]) -> None:
    workload = made(lm_sweep("task=generate", "batch_size=1", "new_tokens=8", *options))
    whole, part = workload.answer(0.01), workload.answer(40.0)
    assert (whole.shortened, part.shortened) == (None, "3 of 8 new tokens for 1 of 4 inputs")
    assert whole.values[:1, :3].tolist() == part.values.tolist()
    shortest = workload.answer(200.0)
    assert shortest.shortened == "1 of 8 new tokens for 1 of 4 inputs"
    assert whole.values[:1, :1].tolist() == shortest.values.tolist()
    with pytest.raises(BenchtuiError, match="the probe would take 50 s"):
        workload.answer(400.0)
