"""Rows of the catalogue about comparisons: with the baseline's speed, and with its answer."""

from benchtui.sessions.metrics.quantity import (
    NO_UNIT,
    Better,
    Format,
    Quantity,
    Reading,
    amount,
    ends,
    figure,
    words,
)
from benchtui.sessions.metrics.readings import STEPS, answer, as_text, computed, in_percent, of_case, ratio
from benchtui.sessions.stats.verdicts import VerdictName


def _of_answer(field: str) -> Reading:
    return Reading(
        f"answered.answer.{field}",
        lambda data: getattr(data.case.answered.answer, field, None) if data.case.answered else None,
    )


BASELINE = (
    amount(
        "baseline",
        "Baseline",
        "Number of the case that this one is compared with.",
        computed("session_started.sweep", lambda data: data.baseline and data.baseline.case.index),
    ),
    figure(
        "speedup",
        "Speedup",
        "Throughput at the typical step, relative to the baseline's.",
        ratio("value"),
        better="higher",
        interval=("speedup_low", "speedup_high"),
    ),
    *ends("speedup_{}", "Speedup", "Lower end of the speedup's 95% confidence interval.", ratio),
    figure(
        "speedup_sure_low",
        "Speedup, lower end of the 99% interval",
        "Lower end of the speedup's 99% interval, which decides between faster and slower.",
        ratio("sure_low"),
    ),
    figure(
        "speedup_sure_high",
        "Speedup, upper end of the 99% interval",
        "Upper end of that interval.",
        ratio("sure_high"),
    ),
    words(
        "verdict",
        "Verdict",
        "Verdict on the speedup: FASTER, SLOWER, SAME, UNSURE or REPORTED.",
        computed(STEPS, lambda data: data.ratio.verdict.name if data.ratio else None),
        VerdictName | None,
    ),
    words(
        "verdict_doubt",
        "Doubt",
        "Reason for unsure: no interval, wide, steps, totals, files or outside.",
        as_text(ratio("doubt")),
    ),
    figure(
        "verdict_resolution_percent",
        "Smallest detectable difference",
        "Smallest difference that could have been detected.",
        in_percent(ratio("resolution")),
        better="lower",
    ),
)


def _figure(
    field: str, title: str, meaning: str, better: Better, format: Format = "significant", unit: str = NO_UNIT
) -> Quantity:
    key = f"answer_{field}"
    return figure(key, title, meaning, answer(field), better=better, format=format, unit=unit)


ANSWER = (
    words(
        "answer", "Answer", "Verdict on the output: identical, close, different or broken.", answer("verdict")
    ),
    amount(
        "answer_baseline",
        "Baseline of the answer",
        "Number of the case that its output was compared with.",
        answer("baseline"),
    ),
    _figure(
        "kl_mean", "Mean KL", "Mean KL(baseline || case) of the logits, in nats.", "lower", "nats", unit="nats"
    ),
    _figure(
        "kl_p99",
        "KL, p99",
        "99th percentile of the KL over the positions, from 100 positions on.",
        "lower",
        "nats",
        unit="nats",
    ),
    _figure(
        "top1_agreement",
        "Same top token",
        "Share of positions with the same most likely token or class.",
        "higher",
        "share",
    ),
    _figure(
        "sqnr_db",
        "SQNR",
        "Signal-to-noise ratio of logits, embeddings or custom values, in dB.",
        "higher",
        unit="dB",
    ),
    _figure(
        "largest_difference", "Largest difference", "Largest absolute difference between two values.", "lower"
    ),
    _figure(
        "cosine",
        "Cosine",
        "Cosine similarity of custom values, or mean cosine similarity of embeddings.",
        "higher",
        "4 decimals",
    ),
    _figure("equal_tokens", "Equal tokens", "Share of generated tokens that are equal.", "higher", "share"),
    amount(
        "answer_first_difference",
        "First difference",
        "Index of the first new token or training step that differs.",
        answer("first_difference"),
    ),
    _figure(
        "loss_difference",
        "Largest difference of a loss",
        "Largest relative difference of a loss.",
        "lower",
        "share",
    ),
    _figure(
        "change_difference",
        "Difference of the loss's change",
        "Relative difference of the change of the loss over the first training steps.",
        "lower",
        "share",
    ),
    _figure(
        "gradient_difference",
        "Difference of the gradient norm",
        "Relative difference of the gradient norms of the first training steps.",
        "lower",
        "share",
    ),
    _figure(
        "trained_share",
        "Trained weights",
        "Weights that get a gradient, over those of the baseline.",
        "higher",
        "share",
    ),
    amount(
        "answer_shared_with",
        "Answer shared with case",
        "Number of the case whose comparison is shared, because only sizes differ.",
        Reading("answered.shared_with", lambda data: getattr(data.case.answered, "shared_with", None)),
    ),
    words(
        "answer_shortened",
        "Shortened probe",
        "What the probe consisted of if the case was too slow for all of it.",
        _of_answer("shortened"),
    ),
    words(
        "answer_digest",
        "Digest of the answer",
        "Hash of the output's bits, comparable between sessions.",
        _of_answer("digest"),
    ),
    words(
        "answer_absent",
        "No answer because",
        "Reason why there is no output, or why it wasn't compared.",
        of_case("answered.absent", "answer_absent"),
    ),
)
