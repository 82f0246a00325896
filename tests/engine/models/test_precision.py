import pytest
import torch

from benchtui.engine.models import precision

EYE, FULL = torch.eye, torch.full


@pytest.mark.parametrize(
    ("diagonal", "rounds"),
    [(1.0, False), (1 / (1 + 2**-12), True), (0.0, None)],
    ids=["exact", "tf32", "neither"],
)
def test_tf32_rounding_is_detected_from_a_product(
    monkeypatch: pytest.MonkeyPatch, diagonal: float, rounds: bool | None
) -> None:
    monkeypatch.setattr(torch, "full", lambda size, value, device: FULL(size, value))
    monkeypatch.setattr(torch, "eye", lambda size, device: EYE(size) * diagonal)
    assert precision.rounds_to_tf32(torch.device("cuda:0")) is rounds
    assert precision.rounds_to_tf32(torch.device("cpu")) is None
