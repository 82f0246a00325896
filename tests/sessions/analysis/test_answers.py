from math import exp, fsum, log, log10
from typing import Any

import numpy
import pytest

from benchtui.sessions.analysis.answers import (
    EXACT,
    FOUR_BIT,
    QUANTIZED,
    REDUCED,
    compare,
    comparison,
    tolerance,
)
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import Config

RANDOM = numpy.random.default_rng(0)
LOGITS = RANDOM.normal(0, 3, (128, 50)).astype(numpy.float32)


def noisy(values: Any, noise: float) -> Any:
    return (values + numpy.random.default_rng(1).normal(0, noise, values.shape)).astype(values.dtype)


def divergence(base: Any, mine: Any) -> float:
    """KL divergence of two positions, class by class."""
    totals = [fsum(exp(float(value)) for value in row) for row in (base, mine)]
    pairs = [(exp(float(a)) / totals[0], exp(float(b)) / totals[1]) for a, b in zip(base, mine, strict=True)]
    return fsum(p * log(p / q) for p, q in pairs)


def test_figures_of_logits_equal_an_independent_computation() -> None:
    mine = noisy(LOGITS, 0.1)
    found = compare("logits", LOGITS, mine, REDUCED)
    each = [divergence(*pair) for pair in zip(LOGITS, mine, strict=True)]
    assert found["kl_mean"] == pytest.approx(fsum(each) / len(each), abs=1e-6)
    assert found["kl_p99"] == pytest.approx(float(numpy.percentile(each, 99)), abs=1e-6)
    pairs = list(zip(LOGITS.ravel().tolist(), mine.ravel().tolist(), strict=True))
    signal, noise = fsum(a * a for a, _ in pairs), fsum((a - b) ** 2 for a, b in pairs)
    assert found["sqnr_db"] == pytest.approx(10 * log10(signal / noise), abs=1e-6)
    assert found["largest_difference"] == pytest.approx(max(abs(a - b) for a, b in pairs), abs=1e-6)
    same = [
        max(range(50), key=a.__getitem__) == max(range(50), key=b.__getitem__)
        for a, b in zip(LOGITS, mine, strict=True)
    ]
    assert found["top1_agreement"] == pytest.approx(sum(same) / len(same))
    assert found["verdict"] == "close"


def test_99th_percentile_needs_100_positions() -> None:
    assert compare("logits", LOGITS[:99], noisy(LOGITS[:99], 0.1), REDUCED)["kl_p99"] is None


def test_equal_bits_are_identical() -> None:
    found = compare("logits", LOGITS, LOGITS.copy(), EXACT)
    assert (found["verdict"], found["kl_mean"], found["sqnr_db"]) == ("identical", 0.0, None)


@pytest.mark.parametrize(
    ("noise", "limits", "verdict"),
    [
        (1e-6, EXACT, "close"),
        (0.05, EXACT, "different"),
        (0.05, REDUCED, "close"),
        (1.0, REDUCED, "different"),
        (0.3, REDUCED, "different"),
        (0.3, QUANTIZED, "close"),
    ],
)
def test_tolerance_depends_on_the_precision(noise: float, limits: Any, verdict: str) -> None:
    assert compare("logits", LOGITS, noisy(LOGITS, noise), limits)["verdict"] == verdict


@pytest.mark.parametrize("kind", ["logits", "values"])
def test_noise_and_nan_are_broken(kind: Any) -> None:
    unrelated = RANDOM.normal(0, 3, LOGITS.shape).astype(numpy.float32)
    assert compare(kind, LOGITS, unrelated, QUANTIZED)["verdict"] == "broken"
    assert compare(kind, LOGITS, numpy.zeros_like(LOGITS), QUANTIZED)["verdict"] == "broken"
    holed = LOGITS.copy()
    holed[3, 4] = numpy.nan
    assert compare(kind, LOGITS, holed, QUANTIZED) == {"verdict": "broken"}


def test_common_offset_of_logits_hides_no_noise() -> None:
    """Softmax ignores an offset, which alone makes the signal look strong."""
    unrelated = RANDOM.normal(0, 3, LOGITS.shape).astype(numpy.float32)
    found = compare("logits", LOGITS - 100, unrelated - 100, QUANTIZED)
    assert found["sqnr_db"] > QUANTIZED.sqnr_db and found["verdict"] == "broken"


def test_tokens_are_compared_position_by_position() -> None:
    base = numpy.arange(40).reshape(4, 10)
    mine = base.copy()
    mine[2, 7:] = 0
    found = compare("tokens", base, mine, REDUCED)
    assert found == {"equal_tokens": 37 / 40, "first_difference": 7, "verdict": "close"}
    assert compare("tokens", base, base[:, :6], EXACT)["verdict"] == "identical"  # fewer new tokens
    assert compare("tokens", base, base + 1, QUANTIZED)["verdict"] == "broken"


def test_training_that_is_not_finite_is_broken() -> None:
    base = numpy.arange(18.0).reshape(1, 6, 3) + 1
    assert compare("losses", base, base * numpy.nan, EXACT) == {"verdict": "broken"}
    assert compare("losses", base, base.copy(), EXACT)["verdict"] == "identical"


def test_values_have_a_cosine() -> None:
    base, mine = numpy.array([3.0, 4.0]), numpy.array([4.0, 3.0])
    assert compare("values", base, mine, EXACT)["cosine"] == pytest.approx(24 / 25)
    zeros = numpy.zeros(2)
    assert compare("values", zeros, base, EXACT)["cosine"] is None
    assert compare("values", zeros, base, EXACT)["verdict"] == "different"


def test_answers_of_other_shapes_are_not_compared() -> None:
    with pytest.raises(BenchtuiError, match=r"has the shape \(128, 49\), the baseline's \(128, 50\)"):
        compare("logits", LOGITS, LOGITS[:, :49], EXACT)
    found = comparison(4, 1, "logits", LOGITS, LOGITS[:, :49], EXACT)
    assert (found.case, found.baseline, found.verdict) == (4, 1, None)
    assert found.absent is not None


def test_baseline_that_is_not_finite_gives_no_verdict() -> None:
    with pytest.raises(BenchtuiError, match="baseline's answer isn't finite"):
        compare("logits", LOGITS * numpy.inf, LOGITS, EXACT)


@pytest.mark.parametrize(
    ("quantization", "limits"),
    [
        *((name, FOUR_BIT) for name in ("bnb-nf4", "torchao-int4")),
        *((name, QUANTIZED) for name in ("bnb-int8", "torchao-int8-dynamic", "torchao-fp8", "checkpoint")),
    ],
)
def test_limits_depend_on_the_quantization(quantization: str, limits: Any) -> None:
    plain, int8 = Config(device="cpu"), Config(device="cpu", precision="int8")
    quantized = Config(device="cpu", precision="bf16", quantization=quantization)
    assert tolerance(plain, quantized) is tolerance(quantized, int8) is limits


# --- embeddings

TEXTS = RANDOM.normal(0, 1, (16, 48)).astype(numpy.float32) + 5  # all texts share a direction


def test_cosine_of_embeddings_is_its_mean_over_the_texts() -> None:
    mine = noisy(TEXTS, 0.5)
    found = compare("embeddings", TEXTS, mine, REDUCED)
    each = [
        fsum(float(a) * float(b) for a, b in zip(base, other, strict=True))
        / (fsum(float(a) ** 2 for a in base) * fsum(float(b) ** 2 for b in other)) ** 0.5
        for base, other in zip(TEXTS, mine, strict=True)
    ]
    assert found["cosine"] == pytest.approx(fsum(each) / len(each), abs=1e-9)
    assert found["verdict"] == "close"


@pytest.mark.parametrize(
    ("mine", "verdict"),
    [
        (TEXTS, "identical"),
        (TEXTS[:, ::-1], "broken"),
        (numpy.broadcast_to(TEXTS.mean(0), TEXTS.shape), "broken"),  # the same vector for every text
        (TEXTS + 0.5 * (TEXTS - TEXTS.mean(0)), "close"),
        (TEXTS * 2, "different"),
    ],
)
def test_verdict_on_embeddings(mine: Any, verdict: str) -> None:
    assert compare("embeddings", TEXTS, mine.astype(numpy.float32), REDUCED)["verdict"] == verdict
