"""Answers: the cost of each case's speed, as the difference of its output from the baseline's."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from benchtui.sessions.metrics.quantity import CaseData
from benchtui.sessions.metrics.views import ANSWERS
from benchtui.sessions.payloads import CANT_TELL, AnswerComparison
from benchtui.sessions.report.content import Section, section
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baselines
from benchtui.sessions.stats.ratios import throughput_ratio
from benchtui.sessions.stats.results import Result
from benchtui.sessions.text.answers import EARLIER_WEIGHTS, has_random_weights
from benchtui.sessions.text.formatting import count, listed
from benchtui.sessions.text.quantities import columns
from benchtui.sessions.text.tables import Column, narrowed, table, text_column
from benchtui.sessions.text.wording import MOST_NAMES, ratio_value

INTRODUCTION = (
    "After its measured steps, each case, or one of the same options in another size, answered the same probe;"
    " figures compare its output with the baseline's."
)
RANDOM_WEIGHTS = (
    "The weights are random, so divergences and largest differences are left out: they say nothing about a"
    " trained model. Name a checkpoint as model to measure the real cost."
)
FIGURES_OF_LOGITS = ("answer_kl_mean", "answer_kl_p99", "answer_largest_difference")
"""Quantities that say nothing about a trained model if the weights are random."""


class Row(msgspec.Struct, frozen=True):
    """A case whose answer was compared."""

    result: Result
    comparison: AnswerComparison
    base: Result | None
    """Baseline of the speedup."""
    against: str | None
    """Case whose answer it was compared with; None if all cases share one."""
    shared: str | None
    """Case whose comparison it shares; None if it answered itself."""


def answers(session: Session, results: Sequence[Result]) -> Section | None:
    """Return the section; None unless the answer of some case was compared."""
    compared = [result for result in results if result.case.comparison and result.case.comparison.verdict]
    if not compared:
        return None
    case: Column[Row] = text_column("Case", lambda row: row.result.name)
    rows = _rows(session, results)
    random = any(has_random_weights(row.result.case) for row in rows)
    view = ANSWERS.leaving_out(*FIGURES_OF_LOGITS) if random else ANSWERS
    figures = columns(view, lambda row: CaseData.of(row.result), {"label": (case,)} | _OWN)
    whole = table(figures, rows)
    return section(
        "What the speed costs",
        INTRODUCTION,
        whole and narrowed(whole, ("Answer of", "Compared with")),
        *_random_weights(session),
        *_shortened(results),
        *_absent(results),
    )


def _rows(session: Session, results: Sequence[Result]) -> list[Row]:
    bases = baselines(results, session.start.sweep.measure.baseline)
    several = len({result.case.comparison.baseline for result in results if result.case.comparison}) > 1
    return [
        Row(
            result,
            comparison,
            bases.get(result.config.work),
            session.cases[comparison.baseline].name if several else None,
            _shared(session, result),
        )
        for result in results
        if (comparison := result.case.comparison) and comparison.verdict
    ]


def _shared(session: Session, result: Result) -> str | None:
    answered = result.case.answered
    if answered is None or answered.shared_with is None:
        return None
    return session.cases[answered.shared_with].name


def _random_weights(session: Session) -> list[str]:
    """Say that compared cases ran with random weights, and whether these are of an earlier version."""
    models = (case.prepared.model for case in session.cases if case.prepared and case.comparison)
    digests = {model.random_weights for model in models if model.weights == "random"}
    earlier = f" The weights are {EARLIER_WEIGHTS}." if None in digests else ""
    return [f"{RANDOM_WEIGHTS}{earlier}"] if digests else []


def _absent(results: Sequence[Result]) -> list[str]:
    """Count the cases without a verdict by reason."""
    reasons = [reason for result in results if (reason := result.case.answer_absent)]
    unclear = [reason for reason in reasons if reason.startswith(CANT_TELL)]
    return [
        *_counted("No verdict", unclear),
        *_counted("Not compared", (reason for reason in reasons if reason not in unclear)),
    ]


def _shortened(results: Sequence[Result]) -> list[str]:
    """Count the cases that answered only a part of the probe, by that part."""
    answered = (result.case.answered for result in results)
    answers = (event.answer for event in answered if event)
    return _counted("Too slow for the whole probe", (answer.shortened for answer in answers if answer))


def _counted(title: str, texts: Iterable[str | None]) -> list[str]:
    """Count equal texts in a sentence; no sentence without any."""
    amounts = Counter(text for text in texts if text)
    named = [f"{count(amount, 'case')} ({text})" for text, amount in list(amounts.items())[:MOST_NAMES]]
    return [f"{title}: {listed(named)}."] if named else []


def _speedup(row: Row) -> str | None:
    ratio = throughput_ratio(row.base, row.result) if row.base and row.base is not row.result else None
    return ratio_value(ratio)


_OWN: dict[str, tuple[Column[Row], ...]] = {
    "speedup over the baseline": (Column("Throughput against the baseline (×)", _speedup),),
    "verdict on the answer": (text_column("Answer", lambda row: (row.comparison.verdict or "").upper()),),
    "compared with": (text_column("Compared with", lambda row: row.against),),
    "shared with": (text_column("Answer of", lambda row: row.shared),),
}
