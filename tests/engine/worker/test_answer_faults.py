"""Faults that answers must find, planted in tiny models, and sound options that they must accept."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch

from benchtui.engine.devices.registry import open_device
from benchtui.engine.job import Job
from benchtui.engine.worker import answers
from benchtui.engine.workloads.lm_train import LmTrain
from benchtui.engine.workloads.registry import make_workload
from benchtui.sessions.payloads import AnswerComparison
from benchtui.sessions.sweep import Sweep, cases

Make = Callable[..., Sweep]
Plant = Callable[[Any], None]
LAYER = "transformer.h.1"
TASKS = INFERENCE, TRAINING = "task=lm-forward", "task=lm-train"


@pytest.fixture(params=["random", pytest.param("trained", marks=pytest.mark.long)])
def sweep(request: pytest.FixtureRequest) -> Make:
    """Make sweeps of a model with random weights, and of a trained one."""
    made: Make = request.getfixturevalue({"random": "lm_sweep", "trained": "trained_sweep"}[request.param])
    return made


@pytest.fixture
def compare(tmp_path: Path) -> Callable[..., AnswerComparison]:
    """Compare the answers of two cases; ``plant`` puts a fault into the second one."""
    folders = count()

    def compared(base: Sweep, new: Sweep, plant: Plant = lambda workload: None) -> AnswerComparison:
        folder = tmp_path / str(next(folders))
        for index, sweep in enumerate((base, new)):
            (case,) = cases(sweep)
            workload = make_workload(sweep, case.config, open_device("cpu"))
            if index:
                plant(workload)
            job = Job(
                case=index, config=case.config, sweep=sweep, zero_s=0.0, scratch=str(folder / f"case-{index}")
            )
            answered = answers.answer(job, workload, 0.01, lambda: 1.0)
            assert answered is not None and answered.absent is None
        return answered.comparisons[0]

    return compared


def causal_mask_ignored(workload: Any) -> None:
    """A kernel that looks into the future."""
    kernel, answer = torch.nn.functional.scaled_dot_product_attention, workload.answer

    def wrong(step_s: float) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                torch.nn.functional, "scaled_dot_product_attention", lambda q, k, v, **_: kernel(q, k, v)
            )
            return answer(step_s)

    workload.answer = wrong


def wrong_softmax_scale(workload: Any) -> None:
    """A kernel that scales the scores by 10% too little, which random weights hardly notice."""
    kernel, answer = torch.nn.functional.scaled_dot_product_attention, workload.answer

    def wrong(step_s: float) -> Any:
        def scaled(q: Any, k: Any, v: Any, **options: Any) -> Any:
            return kernel(q, k, v, **options | {"scale": 0.9 * q.shape[-1] ** -0.5})

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch.nn.functional, "scaled_dot_product_attention", scaled)
            return answer(step_s)

    workload.answer = wrong


def wrong_scale(workload: Any) -> None:
    """The attention of one layer is scaled by 5% too much."""
    layer = workload._network.get_submodule(f"{LAYER}.attn")
    layer.register_forward_hook(lambda module, inputs, output: (1.05 * output[0], *output[1:]))


def int4_layer(workload: Any) -> None:
    """One matrix in 4 bits, in groups of 32, in a case that claims not to be quantized."""
    weight = workload._network.get_parameter(f"{LAYER}.mlp.c_fc.weight")
    groups = weight.data.view(-1, 32)
    scale = groups.abs().amax(1, keepdim=True) / 7
    weight.data = ((groups / scale).round() * scale).view_as(weight)


def dropout_on(workload: Any) -> None:
    for module in workload._network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.1
    workload._network.train()


def frozen(name: str) -> Plant:
    def plant(workload: Any) -> None:
        workload._network.get_parameter(name).requires_grad_(False)

    return plant


def faster_learning(workload: Any) -> None:
    for group in workload._optimizer.param_groups:
        group["lr"] *= 10


def wrong(compared: AnswerComparison) -> bool:
    return compared.verdict in ("different", "broken")


@pytest.mark.parametrize(
    ("task", "plant"),
    [
        *((task, plant) for task in TASKS for plant in (causal_mask_ignored, wrong_scale, dropout_on)),
        (INFERENCE, int4_layer),
        (INFERENCE, wrong_softmax_scale),
    ],
)
def test_fault_of_the_forward_pass_is_found(sweep: Make, compare: Any, task: str, plant: Plant) -> None:
    made = sweep(task, "attention=sdpa", "batch_size=2")
    assert wrong(compare(made, made, plant))


@pytest.mark.parametrize(
    "plant",
    [
        frozen(f"{LAYER}.mlp.c_fc.weight"),
        frozen(f"{LAYER}.ln_1.bias"),
        frozen("transformer.wpe.weight"),
        faster_learning,
    ],
)
def test_fault_of_training_is_found(sweep: Make, compare: Any, plant: Plant) -> None:
    made = sweep(TRAINING, "batch_size=2")
    assert wrong(compare(made, made, plant))


@pytest.mark.parametrize("precision", ["amp-bf16", "fp32"])
def test_frozen_parameter_is_found_whatever_the_precision(sweep: Make, compare: Any, precision: str) -> None:
    """The number of trained weights has no noise."""
    sweeps = sweep(TRAINING, "batch_size=2"), sweep(TRAINING, "batch_size=2", f"precision={precision}")
    found = compare(*sweeps, frozen(f"{LAYER}.ln_1.bias"))
    assert wrong(found) and found.trained_share is not None and 0.99 < found.trained_share < 1


class LowRank(torch.nn.Module):
    """A layer with a trained update of rank 2, as LoRA adds it."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        inputs, outputs = layer.weight.shape
        self.layer = layer
        self.down = torch.nn.Linear(inputs, 2, bias=False)
        self.up = torch.nn.Linear(2, outputs, bias=False)
        torch.nn.init.zeros_(self.up.weight)

    def forward(self, values: torch.Tensor) -> Any:
        return self.layer(values) + self.up(self.down(values))


@pytest.fixture
def adapters(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Train adapters of these layers alone, in networks that are made later."""
    names: list[str] = []

    def extend(self: Any, network: Any) -> Any:
        network.requires_grad_(False)
        torch.manual_seed(0)
        for name in names:
            network.set_submodule(name, LowRank(network.get_submodule(name)))
        self._adapters = [value.detach().clone() for value in network.parameters() if value.requires_grad]
        return network

    monkeypatch.setattr(LmTrain, "_extend", extend)
    yield names


@pytest.mark.parametrize(
    ("right", "mistaken"),
    [(".attn.c_attn", ".mlp.c_fc"), (".attn.c_proj", ".attn.c_attn"), (".mlp.c_fc", ".mlp.c_proj")],
)
def test_adapters_of_the_wrong_layers_are_found(
    sweep: Make, compare: Any, adapters: list[str], right: str, mistaken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last two have as many weights as the right ones, or almost."""
    made, layers = sweep(TRAINING, "learning_rate=0.01"), (right, right, mistaken)
    extend, chosen = LmTrain._extend, iter(layers)

    def of_this_case(self: Any, network: Any) -> Any:
        adapters[:] = [f"{LAYER}{next(chosen)}"]
        return extend(self, network)

    monkeypatch.setattr(LmTrain, "_extend", of_this_case)
    (case,) = cases(made)
    make_workload(made, case.config, open_device("cpu"))
    assert wrong(compare(made, made))


def test_other_optimizer_is_found(sweep: Make, compare: Any) -> None:
    assert wrong(compare(sweep(TRAINING), sweep(TRAINING, "optimizer=sgd")))


@pytest.mark.parametrize(
    "option",
    [
        "attention=eager",
        "precision=amp-bf16",
        "optimizer=adamw-foreach",
        "activation_checkpointing=on",
        "padding=longest",
    ],
)
def test_sound_option_of_training_is_close(sweep: Make, compare: Any, option: str) -> None:
    made = [sweep(TRAINING, "batch_size=2", *options) for options in ((), (option,))]
    assert compare(*made).verdict in ("identical", "close")


@pytest.mark.parametrize("option", ["attention=eager", "precision=bf16", "precision=int8"])
def test_sound_option_of_inference_is_close(sweep: Make, compare: Any, option: str) -> None:
    made = [sweep(INFERENCE, "batch_size=2", *options) for options in ((), (option,))]
    assert compare(*made).verdict in ("identical", "close")


def test_answer_of_training_does_not_depend_on_the_steps_before(sweep: Make, compare: Any) -> None:
    def trained_before(workload: Any) -> None:
        for _ in range(3):
            workload.count(workload.step(lambda part: None))
        torch.rand(7)

    made = sweep(TRAINING, "batch_size=2", "learning_rate=0.01")
    assert compare(made, made, trained_before).verdict == "identical"
