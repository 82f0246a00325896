import sys
from collections.abc import Callable
from importlib.util import find_spec
from math import isfinite, log
from pathlib import Path

import pytest
import torch

from benchtui.engine.devices.registry import open_device
from benchtui.engine.models import optimizers
from benchtui.engine.workloads.lm_train import LmTrain
from benchtui.engine.workloads.registry import make_workload
from benchtui.sessions.errors import CaseSkippedError
from benchtui.sessions.sweep import Config, Sweep, cases

packed_masks = pytest.mark.skipif(
    find_spec("transformers.masking_utils") is None, reason="masks of packed samples need transformers 4.53"
)


def make(sweep: Sweep) -> LmTrain:
    (case,) = cases(sweep)
    workload = make_workload(sweep, case.config, open_device("cpu"))
    assert isinstance(workload, LmTrain)
    return workload


@pytest.fixture
def train(lm_sweep: Callable[..., Sweep], tmp_path: Path) -> Callable[..., LmTrain]:
    """Training on one batch of two texts, again and again."""
    (tmp_path / "two.txt").write_text("good film\none two three four five\n")

    def made(*overrides: str) -> LmTrain:
        return make(lm_sweep("task=lm-train", "batch_size=2", f"dataset={tmp_path / 'two.txt'}", *overrides))

    return made


def losses(workload: LmTrain, steps: int) -> list[float]:
    found = [workload.count(workload.step(lambda part: None)).loss for _ in range(steps)]
    assert all(loss is not None for loss in found)
    return [loss for loss in found if loss is not None]


def marks(workload: LmTrain) -> list[str]:
    """Return the marks of a case, but for that of a processor without instructions for its precision."""
    return [mark for mark in workload.marks if "emulated" not in mark]


@pytest.mark.parametrize("precision", ["fp32", "amp-fp16", "amp-bf16", "bf16"])
def test_loss_of_a_fixed_batch_is_finite_and_falls(train: Callable[..., LmTrain], precision: str) -> None:
    workload = train("learning_rate=0.01", f"precision={precision}")
    found = losses(workload, 8)
    assert all(isfinite(loss) for loss in found)
    assert found[0] == pytest.approx(log(30522), rel=0.05)  # nothing is known yet: all tokens are as likely
    assert found[-1] < found[0] - 1
    assert marks(workload) == ["random weights"]


def test_step_has_ordered_parts_and_counts_real_tokens(train: Callable[..., LmTrain]) -> None:
    workload = train()
    parts: list[str] = []
    counted = workload.count(workload.step(parts.append))
    assert parts == ["tokenize", "transfer", "forward", "backward", "optimizer"]
    assert (counted.tokens, counted.padded_tokens) == (4 + 7, 2 * 16)
    assert workload.samples == 2


def plain_weights(workload: LmTrain, ids: torch.Tensor, labels: torch.Tensor, steps: int) -> torch.Tensor:
    """The head's weights after so many steps of a loop written without ours, on a network of the same start."""
    network = workload._network
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        network(input_ids=ids, attention_mask=(labels != -100).long(), labels=labels).loss.backward()
        optimizer.step()
    return network.lm_head.weight.detach()


def test_steps_train_like_a_plain_loop(train: Callable[..., LmTrain]) -> None:
    workload, other = (train("learning_rate=0.01") for _ in range(2))
    batch = other._batches.draw(lambda part: None)
    ids = batch.inputs["input_ids"]
    labels = ids.masked_fill(batch.mask == 0, -100)
    losses(workload, 3)
    wanted = plain_weights(other, ids, labels, 3)
    torch.testing.assert_close(workload._network.lm_head.weight.detach(), wanted)


def test_accumulated_gradients_equal_those_of_one_batch(lm_sweep: Callable[..., Sweep]) -> None:
    options = ("task=lm-train", "dataset=synthetic", "learning_rate=0.01")
    parted = make(lm_sweep(*options, "batch_size=2", "accumulation=2"))
    whole = make(lm_sweep(*options, "batch_size=4"))
    parts: list[str] = []
    counted = parted.count(parted.step(parts.append))
    assert parts == [*["transfer", "forward", "backward"] * 2, "optimizer"]
    assert parted.samples == whole.samples == 4
    assert counted.tokens == 4 * 16
    assert counted.loss == pytest.approx(losses(whole, 1)[0], rel=1e-5)
    torch.testing.assert_close(
        parted._network.lm_head.weight, whole._network.lm_head.weight, atol=1e-4, rtol=1e-4
    )


def test_gradients_over_cuda_graphs_accumulate_in_separate_memory(
    lm_sweep: Callable[..., Sweep], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("task=lm-train", "dataset=synthetic", "learning_rate=0.01", "batch_size=2", "accumulation=2")
    dropping = make(lm_sweep(*options))
    monkeypatch.setattr(Config, "uses_cuda_graphs", True)
    keeping = make(lm_sweep(*options))
    assert losses(keeping, 3) == losses(dropping, 3)
    kept = keeping._network.lm_head.weight.grad
    losses(keeping, 1)
    assert keeping._network.lm_head.weight.grad is kept and dropping._network.lm_head.weight.grad is None


def test_gradients_are_scaled_only_for_fp16(train: Callable[..., LmTrain]) -> None:
    assert train("precision=amp-fp16")._scaler.is_enabled()
    assert not train("precision=amp-bf16")._scaler.is_enabled()


@pytest.mark.parametrize(
    ("optimizer", "ran"),
    [
        ("auto", "adamw"),
        ("adamw", "adamw"),
        ("fused", "adamw-fused"),
        ("adamw-fused", "adamw-fused"),
        ("adamw-foreach", "adamw-foreach"),
        ("sgd", "sgd"),
    ],
)
def test_optimizer_that_ran_is_read_back(train: Callable[..., LmTrain], optimizer: str, ran: str) -> None:
    assert train(f"optimizer={optimizer}").effective.others["optimizer"] == ran


def test_optimizer_is_fused_on_a_gpu(train: Callable[..., LmTrain]) -> None:
    parameters = train()._network.parameters()
    assert optimizers.name_of(optimizers.make("auto", parameters, 0.1, torch.device("cuda"))) == "adamw-fused"


@pytest.mark.long
@pytest.mark.parametrize("optimizer", ["fused", "foreach"])
def test_every_optimizer_trains_alike(train: Callable[..., LmTrain], optimizer: str) -> None:
    assert losses(train(f"optimizer={optimizer}"), 3) == pytest.approx(losses(train(), 3), rel=1e-4)


@pytest.mark.parametrize("optimizer", ["auto", "fused", "sgd"])
def test_measured_steps_that_the_scaler_skipped_are_marked(
    train: Callable[..., LmTrain], optimizer: str
) -> None:
    workload = train("precision=amp-fp16", f"optimizer={optimizer}")
    overflowing, sound = torch.amp.GradScaler("cpu", init_scale=2.0**100), workload._scaler
    workload._scaler = overflowing
    losses(workload, 2)
    workload.begin_measuring()
    workload._scaler = sound
    losses(workload, 1)
    workload.end_measuring()
    assert marks(workload) == ["random weights"], "those of the warm-up don't count"
    workload._scaler = overflowing
    losses(workload, 2)
    workload.end_measuring()
    workload.read_back()
    workload.read_back()
    assert marks(workload) == ["random weights", "gradient scaler skipped 2 of 3 steps"]


def test_checkpointing_recomputes_activations_with_equal_loss(train: Callable[..., LmTrain]) -> None:
    plain, checkpointed = train(), train("activation_checkpointing=true")
    calls = {plain: 0, checkpointed: 0}
    for workload in calls:

        def called(*_: object, workload: LmTrain = workload) -> None:
            calls[workload] += 1

        workload._network.transformer.h[0].mlp.register_forward_pre_hook(called)
    assert losses(plain, 2) == pytest.approx(losses(checkpointed, 2), rel=1e-5)
    assert (calls[plain], calls[checkpointed]) == (2, 4)


def test_model_without_checkpointing_is_skipped(
    train: Callable[..., LmTrain], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformers.GPT2LMHeadModel.supports_gradient_checkpointing", False)
    with pytest.raises(CaseSkippedError, match="activation_checkpointing: not supported by GPT2LMHeadModel"):
        train("activation_checkpointing=true")


def test_nonfinite_loss_marks_the_case(train: Callable[..., LmTrain]) -> None:
    workload = train()
    with torch.no_grad():
        workload._network.lm_head.weight.fill_(float("nan"))
    assert not isfinite(losses(workload, 2)[0])
    assert workload.marks == ("random weights", "loss not finite")


def test_options_of_training_are_read_back(train: Callable[..., LmTrain]) -> None:
    workload = train("accumulation=2", "activation_checkpointing=true", "optimizer=sgd")
    losses(workload, 1)
    read = workload.read_back().others
    names = ("accumulation", "activation_checkpointing", "optimizer", "lora", "liger")
    assert [read[name] for name in names] == [2, "on", "sgd", "off", "off"]
    assert workload.samples == 4


@packed_masks
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_packed_samples_have_the_loss_of_separate_ones(train: Callable[..., LmTrain], attention: str) -> None:
    options = (f"attention={attention}", "optimizer=sgd")
    packed, padded = train("padding=packed", *options), train("padding=longest", *options)
    counted = packed.count(packed.step(lambda part: None))
    assert counted.padded_tokens == counted.tokens
    separate = padded.count(padded.step(lambda part: None))
    assert counted.tokens == separate.tokens and separate.padded_tokens > separate.tokens  # type: ignore[operator]
    assert counted.loss == pytest.approx(separate.loss, rel=1e-4)
    assert packed.read_back().padding == "packed"


def test_a_network_that_mixes_packed_samples_is_skipped(
    train: Callable[..., LmTrain], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "equal", lambda *_: False)
    with pytest.raises(CaseSkippedError, match="with sdpa attention mixes the samples of a row"):
        train("padding=packed")


@pytest.mark.parametrize(
    ("option", "package", "message"),
    [
        ("lora=r8", "peft", "lora r8 needs the package peft"),
        ("optimizer=adamw-8bit", "bitsandbytes", "adamw-8bit needs the package bitsandbytes"),
    ],
)
def test_a_missing_package_skips_the_case(
    train: Callable[..., LmTrain], monkeypatch: pytest.MonkeyPatch, option: str, package: str, message: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(CaseSkippedError, match=message):
        train(option)


@pytest.mark.filterwarnings("ignore")
def test_adapters_are_trained_alone_and_read_back(train: Callable[..., LmTrain]) -> None:
    pytest.importorskip("peft")
    workload = train("lora=r8", "learning_rate=0.05")
    found = losses(workload, 4)
    assert found[-1] < found[0]
    assert workload.read_back().others["lora"] == "r8"
    assert workload.marks[-1].endswith("% of the weights are trained")


@pytest.mark.filterwarnings("ignore")
def test_an_optimizer_of_8_bit_that_kept_32_is_read_back() -> None:
    bitsandbytes = pytest.importorskip("bitsandbytes")
    for size, found in ((8, "adamw-32bit"), (128, "adamw-8bit")):
        weight = torch.nn.Parameter(torch.ones(size, size))
        optimizer = bitsandbytes.optim.AdamW8bit([weight])
        weight.grad = torch.ones_like(weight)
        optimizer.step()
        assert optimizers.name_of(optimizer) == found
