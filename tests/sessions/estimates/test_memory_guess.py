"""Memory of a case before anything was measured, and what fits."""

from pathlib import Path

import pytest

from benchtui.sessions.estimates.fit import largest_batch
from benchtui.sessions.estimates.memory import RUNTIME_MB, guess_mb
from benchtui.sessions.stored_models.measurable import StatedTask
from benchtui.sessions.stored_models.stored_model import ModelShape, StoredModel
from benchtui.sessions.sweep import Config, Sweep

SHAPE = ModelShape(layers=10, hidden=100, intermediate=400, key_values=50, vocabulary=1000)


def guess(task: str, config: Config, shape: ModelShape | None = SHAPE) -> float:
    """Return the guess for a model of a million parameters, without the libraries, in bytes."""
    guessed = guess_mb(config, Sweep(name="a", model="b", task=task), 1_000_000, shape)
    assert guessed is not None
    return (guessed - RUNTIME_MB) * 1e6


def config(batch_size: int = 1, precision: str = "fp32") -> Config:
    return Config(device="cuda:0", batch_size=batch_size, sequence_length=128, precision=precision)


def test_activations_of_one_layer_grow_with_the_batch() -> None:
    width = 6 * 100 + 2 * 400
    assert guess("classify", config(8)) == pytest.approx(4e6 + 8 * 128 * width * 4)
    assert guess("classify", config(8, "bf16")) == pytest.approx(2e6 + 8 * 128 * width * 2)


def test_generating_caches_keys_and_values_of_all_tokens() -> None:
    width = 6 * 100 + 2 * 400
    cached = 50 * 10 * (8 * 128 + 8 * 32)
    assert guess("generate", config(8)) == pytest.approx(4e6 + (8 * 128 * width + cached) * 4)


def test_training_keeps_the_activations_of_all_layers() -> None:
    kept = 17 * 100 * 10 * 8 * 128 * 4
    assert guess("lm-train", config(8)) == pytest.approx(4 * 4e6 + kept + 8 * 128 * 1000 * 4)


def stored(**fields: object) -> StoredModel:
    return StoredModel(
        folder=Path("model"), weights_bytes=4_000_000, task=StatedTask("classify", ""), shape=SHAPE, **fields
    )


@pytest.mark.parametrize(("free_mb", "largest"), [(503.0, 0), (505.0, 1), (507.0, 4), (600.0, 16)])
def test_largest_batch_that_fits(free_mb: float, largest: int) -> None:
    assert largest_batch(stored(), "cuda:0", "fp32", (1, 2, 4, 8, 16), free_mb) == largest
