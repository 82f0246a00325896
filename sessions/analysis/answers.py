"""Answer comparison: metrics and verdict of a case's output for the probe, relative to its baseline's.

Computed once, in the worker that answers; sessions and reports contain the results. See docs/answers.md.
"""

from math import log10, sqrt
from typing import Any

import msgspec
import numpy
from msgspec.structs import replace
from numpy.typing import NDArray

from benchtui.sessions.analysis.training_answers import Distance, compare_training
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.payloads import AnswerComparison, AnswerKind, AnswerVerdict
from benchtui.sessions.stats.quantiles import LEAST_FOR_P99, percentile
from benchtui.sessions.sweep import Config, custom_task
from benchtui.sessions.sweep.options import FOUR_BITS

Values = NDArray[Any]
"""Output of a probe: float32 logits (positions, vocabulary), integer tokens (rows, new tokens), float32
embeddings (texts, dimensions), float64 values of any shape, or float64 figures of training (seeds, steps, 3).
"""


class Tolerance(msgspec.Struct, frozen=True):
    """Limits within which an answer is CLOSE."""

    kl: float
    """Highest mean KL divergence, in nats."""
    sqnr_db: float
    """Lowest signal-to-noise ratio; applies to logits, embeddings and values of a user-defined step."""
    equal_tokens: float
    """Lowest share of equal tokens. Greedy decoding diverges for good after the first near tie."""
    loss: float
    """Highest relative difference of the first loss, which no update has affected."""
    change: float
    """Highest difference of the change of a loss, and of the gradient norms, over the baseline's."""


EXACT = Tolerance(kl=1e-6, sqnr_db=80.0, equal_tokens=0.9, loss=1e-5, change=0.002)
"""fp32 on both sides: only the order of summation differs, by about 1e-7 of a value per operation."""
REDUCED = Tolerance(kl=0.01, sqnr_db=20.0, equal_tokens=0.5, loss=0.002, change=0.02)
"""16-bit numbers or TF32 on either side: 8 to 11 significant bits per operation."""
QUANTIZED = Tolerance(kl=0.05, sqnr_db=10.0, equal_tokens=0.25, loss=0.01, change=0.1)
"""8-bit weights on either side, or a checkpoint with quantized weights."""
FOUR_BIT = Tolerance(kl=0.1, sqnr_db=6.0, equal_tokens=0.1, loss=0.03, change=0.2)
"""4-bit weights on either side."""

CHANCE_CORRELATION = 0.1
CHANCE_ERRORS = 2.0
"""Outputs are unrelated if their correlation is below ``CHANCE_CORRELATION``, or below ``CHANCE_ERRORS``
standard errors of 1/√n. Unrelated outputs exceed the latter in 2% of cases."""
LEAST_CORRELATED = 8
"""Minimum number of values or tokens for an answer to be called unrelated."""


def numerics(config: Config) -> Config:
    """Return the options that decide what a case computes: all but its size and the tokenizer's threads."""
    return replace(config, batch_size=1, sequence_length=1, tokenizer_threads=0)


def can_share(task: str) -> bool:
    """Return whether cases of equal numerics answer alike.

    Training sees other samples at another size, and a step of the user's may do anything.
    """
    return task != "lm-train" and custom_task(task) is None


def is_acceptable(compared: AnswerComparison) -> bool:
    """Return whether an answer is within the limits."""
    return compared.verdict in ("identical", "close")


def tolerance(*configs: Config) -> Tolerance:
    """Return the limits for two cases: those of the coarser precision or quantization."""
    precisions = {config.precision for config in configs}
    quantizations = {config.quantization for config in configs}
    if quantizations & set(FOUR_BITS):
        return FOUR_BIT
    if "int8" in precisions or quantizations != {"off"}:
        return QUANTIZED
    return EXACT if precisions == {"fp32"} else REDUCED


def compare(kind: AnswerKind, base: Values, mine: Values, limits: Tolerance) -> dict[str, Any]:
    """Return the verdict and metrics of an answer, as fields of ``AnswerComparison``.

    Raises BenchtuiError if the shapes differ, or the baseline's answer isn't finite.
    """
    base, mine = _common_part(kind, base, mine)
    if base.shape != mine.shape and kind != "losses":
        raise BenchtuiError(f"its answer has the shape {mine.shape}, the baseline's {base.shape}")
    if kind != "tokens" and not numpy.isfinite(base).all():
        raise BenchtuiError("the baseline's answer isn't finite")
    if kind != "tokens" and not numpy.isfinite(mine).all():
        return {"verdict": "broken"}
    if kind == "losses":
        return compare_training(base, mine, Distance(limits.loss, limits.change, limits.change))
    figures = _FIGURES[kind](base, mine)
    return figures | {"verdict": _verdict(kind, base, mine, figures, limits)}


def _common_part(kind: AnswerKind, base: Values, mine: Values) -> tuple[Values, Values]:
    """Truncate to the common inputs, because a slow case answers fewer; they don't affect each other.

    Tokens are also truncated to their common length: later ones don't affect earlier ones.
    """
    if kind in ("values", "losses") or base.ndim != mine.ndim:
        return base, mine
    rows = min(len(base), len(mine))
    base, mine = base[:rows], mine[:rows]
    if kind != "tokens":
        return base, mine
    length = min(base.shape[-1], mine.shape[-1])
    return base[..., :length], mine[..., :length]


def _logits(base: Values, mine: Values) -> dict[str, Any]:
    divergences = sorted(kl_divergence(*pair) for pair in zip(base, mine, strict=True))
    return {
        "kl_mean": sum(divergences) / len(divergences),
        "kl_p99": percentile(divergences, 99, LEAST_FOR_P99),
        "top1_agreement": float((base.argmax(-1) == mine.argmax(-1)).mean()),
        "sqnr_db": sqnr_db(base, mine),
        "largest_difference": _largest_difference(base, mine),
    }


def kl_divergence(base: Values, mine: Values) -> float:
    """Return KL(base ‖ mine) in nats of two distributions, given by their logits over the same classes.

    Clamped at 0, because rounding could make it negative for almost equal distributions.
    """
    ours, theirs = _log_softmax(base), _log_softmax(mine)
    return max(0.0, float((numpy.exp(ours) * (ours - theirs)).sum()))


def _log_softmax(logits: Values) -> Values:
    wide = logits.astype(numpy.float64)
    wide -= wide.max()
    normalized: Values = wide - numpy.log(numpy.exp(wide).sum())
    return normalized


def sqnr_db(base: Values, mine: Values) -> float | None:
    """Return the power of the baseline's values over that of the differences in dB; None if either is 0.

    Definition as in torchao (``compute_error``): 20 log10(‖base‖ / ‖base - mine‖).
    """
    signal, noise = _power(base), _power(base - mine.astype(numpy.float64))
    return 10 * log10(signal / noise) if signal and noise else None


def _power(values: Values) -> float:
    return float(numpy.square(values, dtype=numpy.float64).sum())


def _largest_difference(base: Values, mine: Values) -> float:
    return float(numpy.abs(base - mine.astype(numpy.float64)).max(initial=0.0))


def _tokens(base: Values, mine: Values) -> dict[str, Any]:
    unequal = numpy.flatnonzero((base != mine).any(0))
    return {
        "equal_tokens": float((base == mine).mean()),
        "first_difference": int(unequal[0]) if len(unequal) else None,
    }


def _values(base: Values, mine: Values) -> dict[str, Any]:
    lengths = sqrt(_power(base) * _power(mine))
    product = float(numpy.vdot(base.astype(numpy.float64), mine.astype(numpy.float64)))
    return {
        "cosine": product / lengths if lengths else None,
        "sqnr_db": sqnr_db(base, mine),
        "largest_difference": _largest_difference(base, mine),
    }


def _embeddings(base: Values, mine: Values) -> dict[str, Any]:
    cosines = [_values(*pair)["cosine"] for pair in zip(base, mine, strict=True)]
    comparable = [cosine for cosine in cosines if cosine is not None]
    return _values(base, mine) | {"cosine": sum(comparable) / len(comparable) if comparable else None}


_FIGURES = {"logits": _logits, "tokens": _tokens, "embeddings": _embeddings, "values": _values}


_MEAN_AXIS = {"logits": -1, "embeddings": 0}
"""Axis along which the mean is subtracted from a kind's values. Softmax ignores the mean of a position's
logits, and the mean over all texts is a direction that every embedding shares."""


def _verdict(
    kind: AnswerKind, base: Values, mine: Values, figures: dict[str, Any], limits: Tolerance
) -> AnswerVerdict:
    if numpy.array_equal(base, mine):
        return "identical"
    if _is_close(kind, figures, limits):
        return "close"
    return "broken" if _unrelated(kind, base, mine) else "different"


def _is_close(kind: AnswerKind, figures: dict[str, Any], limits: Tolerance) -> bool:
    if kind == "tokens":
        return bool(figures["equal_tokens"] >= limits.equal_tokens)
    sqnr = figures["sqnr_db"]
    # a missing ratio means that the baseline's values are all 0, but these aren't
    return sqnr is not None and sqnr >= limits.sqnr_db and figures.get("kl_mean", 0.0) <= limits.kl


def _unrelated(kind: AnswerKind, base: Values, mine: Values) -> bool:
    """Return whether chance alone would bring an answer as close to the baseline's."""
    if base.size < LEAST_CORRELATED:
        return False
    if kind == "tokens":
        return not (base == mine).any()
    correlation = _correlation(base, mine, _MEAN_AXIS.get(kind))
    return correlation < max(CHANCE_CORRELATION, CHANCE_ERRORS / sqrt(base.size))


def _correlation(base: Values, mine: Values, axis: int | None) -> float:
    """Return the correlation of two outputs, each minus its mean along an axis.

    1 if the baseline's values are all equal, because the correlation is then undefined.
    """
    one, other = (output - output.mean(axis, keepdims=True, dtype=numpy.float64) for output in (base, mine))
    if not _power(one):
        return 1.0
    lengths = sqrt(_power(one) * _power(other))
    return float(numpy.vdot(one, other)) / lengths if lengths else 0.0


def comparison(
    case: int, baseline: int, kind: AnswerKind, base: Values, mine: Values, limits: Tolerance
) -> AnswerComparison:
    """Return the comparison of a case with its baseline, or the reason why there is none."""
    try:
        figures = compare(kind, base, mine, limits)
    except BenchtuiError as error:
        return AnswerComparison(case=case, baseline=baseline, absent=str(error))
    return AnswerComparison(case=case, baseline=baseline, **figures)
