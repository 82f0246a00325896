"""Memory forecast: the peak memory of a case, from the finished cases of its family.

The model is ``peak = fixed + slope * batch size * sequence length``, fitted by least squares to the cases that
differ only in these two options. ``fixed`` covers weights and libraries, the rest is activations. Attention
that keeps whole score matrices (``eager``) grows with the square of the sequence length, so the model is too
low when going from shorter cases to longer ones.

Before anything similar was measured, the sizes of the model give a rough guess.
"""

from collections.abc import Iterable
from statistics import fmean, linear_regression
from typing import Literal

import msgspec

from benchtui.sessions.payloads import Memory
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stored_models.stored_model import ModelShape
from benchtui.sessions.sweep import Config, Sweep, custom_task, task_named
from benchtui.sessions.sweep.options import FOUR_BITS

Quantity = Literal["allocated", "reserved", "RSS"]
"""Memory that the peak refers to. On a GPU, memory in the framework's allocator: allocated by tensors, or
reserved if CUDA graphs are used. On a CPU, the worker's resident memory."""


class Prediction(msgspec.Struct, frozen=True):
    """Expected peak memory of a case."""

    peak_mb: float
    """In units of 10**6 bytes."""
    quantity: Quantity


class MemoryForecast:
    """Peak memory model learned from the finished cases."""

    def __init__(self, cases: Iterable[CaseState] = ()) -> None:
        self._seen: dict[Config, dict[int, float]] = {}
        """By family: the highest peak in MB for each work per step."""
        for case in cases:
            self.learn(case.config, _memory(case))

    def learn(self, config: Config, memory: Memory | None) -> None:
        """Add the peaks of a successful case. Ignored if they weren't read."""
        peak = peak_mb(config, memory)
        if peak is not None:
            family = self._seen.setdefault(config.without_sizes, {})
            family[config.size] = max(peak, family.get(config.size, 0.0))

    def predict(self, config: Config) -> Prediction | None:
        """Return the expected peak of a case; None if fewer than two sizes of its family are known."""
        seen = self._seen.get(config.without_sizes, {})
        if len(seen) < 2:
            return None
        slope_mb = max(linear_regression(list(seen), list(seen.values())).slope, 0.0)  # a negative one is noise
        mean_mb, mean_size = fmean(seen.values()), fmean(seen)
        return Prediction(mean_mb + slope_mb * (config.size - mean_size), _quantity(config))


def _quantity(config: Config) -> Quantity:
    if config.device == "cpu":
        return "RSS"
    return "reserved" if config.uses_cuda_graphs else "allocated"


def peak_mb(config: Config, memory: Memory | None) -> float | None:
    """Return the peak of a case in MB, of the quantity that is predicted; None if it wasn't read."""
    if memory is None:
        return None
    peaks_mb = {
        "allocated": memory.peak_allocated_mb,
        "reserved": memory.peak_reserved_mb,
        "RSS": memory.peak_rss_mb,
    }
    return peaks_mb[_quantity(config)]


def _memory(case: CaseState) -> Memory | None:
    if case.finished is not None:
        return case.finished.memory if case.state == "ok" else None
    return case.rounds[-1].memory if case.rounds else None


RUNTIME_MB = 500.0
"""Assumed memory of the libraries, on CPU or device."""
TRAINING_COPIES = {"sgd": 2.0, "adamw-8bit": 2.5}
"""Memory of weights, gradients and optimizer state, relative to the weights. AdamW's two moments make it 4."""
ADAMW_COPIES = 4.0
TRAINED_ROWS = 17
"""Numbers that training keeps per layer, token and hidden unit (Korthikanti et al. 2022, without scores)."""
HIDDEN_ROWS, INNER_ROWS = 6, 2
"""Numbers that a layer needs at once per token: of the hidden size, and of the feed-forward layers' width."""


def guess_mb(config: Config, sweep: Sweep, parameters: int, shape: ModelShape | None = None) -> float | None:
    """Guess memory from weights (with gradients and moments in training), libraries, and the batch.

    The batch counts if the ``shape`` is known: activations, and the cache of keys and values. Adapters are too
    small to count; the weights under them have no gradients. The size of a draft model is unknown.
    """
    if custom_task(sweep.task):
        return None
    trained = sweep.task == "lm-train"
    copies = TRAINING_COPIES.get(config.optimizer, ADAMW_COPIES) if trained and config.lora == "off" else 1.0
    batch_bytes = _batch_bytes(config, sweep, shape, trained) if shape else 0.0
    return RUNTIME_MB + (parameters * _bytes_per_weight(config) * copies + batch_bytes) / 1e6


def _batch_bytes(config: Config, sweep: Sweep, shape: ModelShape, trained: bool) -> float:
    task = task_named(sweep.task)
    tokens = config.size if task.texts else config.batch_size * task.positions
    new = config.batch_size * sweep.resolve(config).new_tokens if task.entries == "generate" else 0
    width = HIDDEN_ROWS * shape.hidden + INNER_ROWS * shape.intermediate
    layers = TRAINED_ROWS * shape.hidden * shape.layers if trained else width
    cached = shape.key_values * shape.layers * (tokens + new) if task.entries == "generate" else 0
    scores = tokens * shape.vocabulary * 4 if sweep.task in ("lm-forward", "lm-train") else 0
    return (tokens * layers + cached) * _bytes_per_number(config) + scores


def _bytes_per_number(config: Config) -> float:
    return 2.0 if config.precision in ("fp16", "bf16") else 4.0


def _bytes_per_weight(config: Config) -> float:
    """Return the bytes of a weight. On a CPU, quantizing doesn't free the memory of the original weights."""
    if config.device == "cpu" or config.quantization in ("off", "checkpoint"):
        return _bytes_per_number(config)
    return 0.5 if config.quantization in FOUR_BITS else 1.0
