"""Memory guess: what a case needs before anything similar was measured, from the sizes of its model."""

from benchtui.sessions.stored_models.stored_model import ModelShape
from benchtui.sessions.sweep import Config, Sweep, custom_task, task_named
from benchtui.sessions.sweep.options import FOUR_BITS

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
