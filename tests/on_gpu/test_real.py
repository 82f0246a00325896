"""What only a real GPU can tell: energy."""

from collections.abc import Callable

import pytest

from benchtui.sessions.state.session import Session

pytestmark = pytest.mark.long
Measure = Callable[..., Session]


def test_counter_energy_agrees_with_integrated_power(measure: Measure) -> None:
    sweep = (
        "task=lm-forward",
        "model=gpt2",
        "dataset=synthetic",
        "device=cuda:0",
        "weights=random",
        "precision=fp16",
    )
    session = measure(
        "quick", *sweep, "batch_size=64", "sequence_length=512", "iterations=1000000", "max_time=10s"
    )
    (case,) = session.cases
    energy = case.finished.energy if case.finished else None
    span = case.finished.measured_s if case.finished else None
    assert energy is not None and energy.energy_j is not None and energy.mean_power_w is not None
    assert span is not None and energy.source == "counter"
    assert energy.energy_j == pytest.approx(energy.mean_power_w * (span[1] - span[0]), rel=0.05)
