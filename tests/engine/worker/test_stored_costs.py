from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.engine.job import Job
from benchtui.engine.worker.step_cost import TypicalStep, stored_or
from benchtui.sessions.payloads import StepCost
from benchtui.sessions.sweep import Config, Sweep

ON_CPU = Config(device="cpu")
ON_GPU = Config(device="cuda:0")


def counted(folder: Path, task: str, *configs: Config) -> list[StepCost]:
    """Return the costs of cases of which the n-th counts n operations."""

    def cost(case: int, config: Config) -> StepCost:
        sweep = Sweep(name="s", model="m", task=task)
        job = Job(case=case, config=config, sweep=sweep, zero_s=0.0, scratch=str(folder / f"case-{case}"))
        return stored_or(job, TypicalStep(1.0, 10 * case), lambda: StepCost(flops=float(case)))

    return [cost(case, config) for case, config in enumerate(configs, 1)]


def test_later_round_reuses_the_cost(tmp_path: Path) -> None:
    assert [each.flops for each in counted(tmp_path, "classify", ON_CPU, ON_CPU)] == [1.0, 1.0]


def test_reused_cost_has_the_typical_step_of_its_case(tmp_path: Path) -> None:
    assert counted(tmp_path, "classify", ON_CPU, ON_CPU)[1].typical_padded_tokens == 20


@pytest.mark.parametrize(
    ("task", "base", "options", "shared"),
    [
        ("classify", ON_CPU, {"threads": 1}, True),
        ("classify", ON_CPU, {"env": "A=1"}, True),
        ("classify", ON_GPU, {"repeat": 1}, True),
        ("classify", ON_GPU, {"env": "A=1"}, False),
        ("classify", ON_CPU, {"batch_size": 2}, False),
        ("classify", ON_CPU, {"precision": "bf16"}, False),
        ("s.py:f", ON_CPU, {"threads": 1}, False),
    ],
)
def test_only_equal_shapes_share_a_cost(
    tmp_path: Path, task: str, base: Config, options: dict[str, Any], shared: bool
) -> None:
    _, other = counted(tmp_path, task, base, replace(base, **options))
    assert (other.flops == 1.0) == shared


def test_cost_is_counted_if_it_cannot_be_stored(tmp_path: Path) -> None:
    (tmp_path / "costs").write_text("no folder")
    assert [each.flops for each in counted(tmp_path, "classify", ON_CPU, ON_CPU)] == [1.0, 2.0]
