"""Rules about the memory of a step."""

from benchtui.sessions.explain.cases import ExplainedCase
from benchtui.sessions.explain.finding import Finding, percent_text
from benchtui.sessions.text.formatting import memory

LEAST_GROWTH_MB = 0.05
LEAST_MEMORY_MB = 100.0
"""Minimum memory of a kind that is worth reducing."""
MEMORY_SHARE = 0.35
"""Smallest share of a step's memory that is worth a sentence."""


def growing(case: ExplainedCase) -> Finding | None:
    """Find a step that doesn't free all of the memory that it allocates."""
    growth_mb = case.profile.memory.growth_mb
    if growth_mb is None or growth_mb < LEAST_GROWTH_MB:
        return None
    sentence = (
        f"Each step allocates {memory(growth_mb)} that it never frees: something keeps an activation or a"
        " graph, such as a list of losses without detach()."
    )
    return Finding("kept activation", sentence, "high")


def activations(case: ExplainedCase) -> Finding | None:
    """Find activations that take most of the memory of a training step."""
    kinds = case.profile.memory
    if not kinds.gradients_mb:
        return None
    checkpointing = case.applied("activation_checkpointing") == "on"
    advice = f"{'' if checkpointing else 'activation_checkpointing=on or '}a smaller batch reduces them"
    return _of_memory(case, "activations", "Activations are", kinds.activations_mb, advice)


def optimizer_state(case: ExplainedCase) -> Finding | None:
    """Find optimizer state that takes much of the memory of a training step."""
    advice = "adamw-8bit needs about a quarter of it, sgd none"
    state_mb = case.profile.memory.optimizer_mb
    return _of_memory(case, "optimizer state", "The state of the optimizer is", state_mb, advice)


def weights(case: ExplainedCase) -> Finding | None:
    """Find weights in float32 that take most of the memory of inference."""
    kinds, prepared = case.profile.memory, case.case.prepared
    effective = prepared.effective if prepared else None
    if kinds.gradients_mb or effective is None or effective.weights_dtype != "float32":
        return None
    advice = "bfloat16 halves them, quantization stores them in 8 or 4 bits"
    return _of_memory(case, "weights", "Weights in float32 are", kinds.weights_mb, advice)


def kv_cache(case: ExplainedCase) -> Finding | None:
    """Find a KV cache that takes much of the memory of generation."""
    advice = "it grows with the batch and with the tokens of prompt and answer"
    return _of_memory(case, "KV cache", "The KV cache is", case.profile.memory.cache_mb, advice)


def _of_memory(
    case: ExplainedCase, name: str, subject: str, size_mb: float | None, advice: str
) -> Finding | None:
    """Return a finding about a kind of memory that is a large part of a step's memory."""
    kinds = case.profile.memory
    parts = (kinds.weights_mb, kinds.gradients_mb, kinds.optimizer_mb, kinds.activations_mb, kinds.cache_mb)
    total_mb = sum(part or 0.0 for part in parts)
    if not size_mb or size_mb < max(LEAST_MEMORY_MB, MEMORY_SHARE * total_mb):
        return None
    sentence = (
        f"{subject} {percent_text(size_mb / total_mb)} of the memory of the step ({memory(size_mb)} of"
        f" {memory(total_mb)}): {advice}."
    )
    return Finding(name, sentence, "high")
