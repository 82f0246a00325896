"""Fit: how large a batch of a model fits into free memory, as roughly guessed from its files."""

from collections.abc import Sequence

from benchtui.sessions.estimates.memory import guess_mb
from benchtui.sessions.estimates.proposal import proposal_of
from benchtui.sessions.stored_models.measurable import DEFAULT_TASK
from benchtui.sessions.stored_models.stored_model import StoredModel
from benchtui.sessions.sweep import Config, Sweep


def needed_mb(stored: StoredModel, config: Config) -> float | None:
    """Return the memory that a case of a model needs; None if its files don't say how large it is."""
    if not stored.parameters:
        return None
    entries = proposal_of(stored).entries
    sweep = Sweep(name="fit", model=str(stored.folder), task=entries.get("task", DEFAULT_TASK))
    return guess_mb(config, sweep, stored.parameters, stored.shape)


def largest_batch(
    stored: StoredModel, device: str, precision: str, sizes: Sequence[int], free_mb: float
) -> int | None:
    """Return the largest of these batch sizes that fits; 0 if none does, None if that is unknown."""
    largest = 0
    for size in sizes:
        needed = needed_mb(stored, Config(device=device, precision=precision, batch_size=size))
        if needed is None:
            return None
        if needed > free_mb:
            break
        largest = size
    return largest
