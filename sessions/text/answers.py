"""Answers as text: verdict and main figure of a comparison, in a cell and in a sentence."""

from msgspec.structs import replace

from benchtui.sessions.payloads import CANT_TELL, AnswerComparison, AnswerVerdict
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.text.formatting import number, percent

SIGNS: dict[AnswerVerdict, str] = {"identical": "=", "close": "≈", "different": "≠", "broken": "✗"}
ASCII_SIGNS: dict[AnswerVerdict, str] = {"identical": "=", "close": "~", "different": "!", "broken": "x"}
"""Signs in front of a verdict, so that verdicts differ without color."""


EARLIER_WEIGHTS = "of an earlier version of benchtui, which repeated rows: likeliest tokens tie"
"""Random weights without a recorded digest."""


def answer_cell(comparison: AnswerComparison | None, *, ascii_only: bool = False) -> str | None:
    """Format a comparison as a cell such as ``≈ CLOSE 0.0004``; None without a verdict.

    For logits, the number is the mean KL divergence in nats. Other numbers have a unit.
    """
    if comparison is not None and (comparison.absent or "").startswith(CANT_TELL):
        return f"? {CANT_TELL}"
    if comparison is None or comparison.verdict is None:
        return None
    sign = (ASCII_SIGNS if ascii_only else SIGNS)[comparison.verdict]
    shown = None if comparison.verdict == "identical" else answer_figure(comparison)
    return " ".join(filter(None, (sign, comparison.verdict.upper(), shown)))


def answer_figure(comparison: AnswerComparison) -> str | None:
    """Format the deciding figure: KL divergence, equal tokens, difference of a loss's change, or SQNR."""
    if comparison.kl_mean is not None:
        return nats(comparison.kl_mean)
    if comparison.equal_tokens is not None:
        return f"{percent(comparison.equal_tokens, 0)}% equal"
    change = (
        comparison.loss_difference if comparison.change_difference is None else comparison.change_difference
    )
    if change is not None:
        return f"{percent(change)}% off"
    return None if comparison.sqnr_db is None else f"{comparison.sqnr_db:.0f} dB"


def nats(divergence: float | None) -> str | None:
    """Format a KL divergence with one significant digit."""
    return None if divergence is None else f"{divergence:.1g}"


def distance(comparison: AnswerComparison | None) -> float | None:
    """Return a number that sorts comparisons by verdict, then by figure; None without a verdict."""
    if comparison is None or comparison.verdict is None:
        return None
    unequal = None if comparison.equal_tokens is None else 1 - comparison.equal_tokens
    nearness = 0.0 if comparison.sqnr_db is None else max(comparison.sqnr_db, 0.0)
    losses = (comparison.change_difference, comparison.loss_difference)
    figures = (comparison.kl_mean, unequal, *losses, 1 / (1 + nearness))
    size = abs(next(figure for figure in figures if figure is not None))  # a file may contain any value
    return tuple(SIGNS).index(comparison.verdict) + size / (1 + size)


def answer_note(case: CaseState) -> str | None:
    """Describe a verdict in words, such as ``answers DIFFERENT (mean KL 0.03 nats)``; None without one.

    Figures of random weights say nothing about a trained model, so they are left out.
    """
    comparison = case.comparison
    if comparison is None or comparison.verdict is None:
        return None
    figure = None if has_random_weights(case) else answer_figure(comparison)
    what = f"mean KL {figure} nats" if figure and comparison.kl_mean is not None else figure
    return f"answers {comparison.verdict.upper()}" + (
        f" ({what})" if what and comparison.verdict != "identical" else ""
    )


def shared_text(case: CaseState) -> str | None:
    """Name the case whose comparison this one shares; None if it answered itself."""
    shared = case.answered.shared_with if case.answered else None
    return None if shared is None else f"case {shared + 1}, which differs only in size"


_KINDS = {
    "logits": "logits at {} positions",
    "tokens": "{} tokens",
    "losses": "losses of {} steps",
    "embeddings": "{} embeddings",
    "values": "{} values",
}


def answer_facts(case: CaseState) -> list[tuple[str, str]]:
    """Return the known facts about a case's answer, as labels and values."""
    answer, comparison = case.answered.answer if case.answered else None, case.comparison
    facts = {
        "verdict": comparison.verdict.upper() if comparison and comparison.verdict else None,
        "shared with": shared_text(case),
        "compared with": f"case {comparison.baseline + 1}" if comparison else None,
        **(_figures(meaningful) if (meaningful := meaningful_comparison(case)) else {}),
        "output": _KINDS[answer.kind].format(f"{answer.amount:,}") if answer else None,
        "probe": answer.shortened if answer else None,
        "digest": answer.digest if answer else None,
        "weights": _weights(case) if case.answered else None,
        "not compared": case.answer_absent,
    }
    return [(label, value) for label, value in facts.items() if value]


def has_random_weights(case: CaseState) -> bool:
    """Return whether a case ran with random weights."""
    return case.prepared is not None and case.prepared.model.weights == "random"


def meaningful_comparison(case: CaseState) -> AnswerComparison | None:
    """Return a case's comparison, without the figures that mean nothing if the weights are random."""
    if case.comparison is None or not has_random_weights(case):
        return case.comparison
    return replace(case.comparison, kl_mean=None, kl_p99=None, largest_difference=None)


def _weights(case: CaseState) -> str | None:
    """Describe random weights; None for trained ones."""
    if case.prepared is None or not has_random_weights(case):
        return None
    digest = case.prepared.model.random_weights
    return "random, so differences prove little" if digest else f"random, {EARLIER_WEIGHTS}"


def _figures(comparison: AnswerComparison) -> dict[str, str | None]:
    shares = {
        "same top token": comparison.top1_agreement,
        "equal tokens": comparison.equal_tokens,
        "difference of the change of the loss": comparison.change_difference,
        "difference of the gradient norm": comparison.gradient_difference,
        "trained weights": None if comparison.trained_share == 1 else comparison.trained_share,
        "largest difference of a loss": comparison.loss_difference,
    }
    mean, high = nats(comparison.kl_mean), nats(comparison.kl_p99)
    return {
        "KL divergence": mean and f"mean {mean}{f', p99 {high}' if high else ''} nats",
        **{label: None if share is None else f"{percent(share)} %" for label, share in shares.items()},
        "first difference": None
        if comparison.first_difference is None
        else f"at {comparison.first_difference:,}, from 0",
        "SQNR": None if comparison.sqnr_db is None else f"{comparison.sqnr_db:.1f} dB",
        "cosine": number(comparison.cosine, 4),
        "largest difference": number(comparison.largest_difference),
    }
