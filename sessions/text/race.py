"""Words for a race: what is open, what would decide it, and why a case isn't measured further."""

from benchtui.sessions.advice.elimination import WORTH
from benchtui.sessions.advice.open_questions import (
    MOST_MEASURING_S,
    ROUNDS_WORTH,
    About,
    Obstacle,
    OpenQuestion,
    Remedy,
)
from benchtui.sessions.advice.race import Settled
from benchtui.sessions.stats.verdicts import Verdict
from benchtui.sessions.text.formatting import count, listed, ratio_text
from benchtui.sessions.text.wording import ratio_cell

_ABOUT: dict[About, str] = {
    "verdict": "the verdict",
    "best throughput": "which case has the most throughput",
    "best latency": "which case has the shortest step",
    "best": "which case is the best",
    "effect": "the effect of an option",
    "front": "the Pareto front",
}
"""Conclusion that depends on a pair of cases, in words."""
_OBSTACLES: dict[Obstacle, str] = {
    "close": "no number of rounds decides it: the ratio lies too close to the limit of a verdict",
    "many rounds": f"more than {ROUNDS_WORTH} rounds would decide it: too close to call",
    "steps": "more rounds don't decide it: compare the distributions of their steps",
    "totals": "more rounds don't decide it: a few long steps do; choose by typical steps or by the total time",
    "no interval": "the record has too few steps to test it",
    "files": "files of the step, the model or the dataset changed between them: run the sweep again",
    "long": f"measuring it would take more than {MOST_MEASURING_S / 60:.0f} minutes per round",
    "resume": "resume the session: benchtui run --resume SESSION",
}


def asked(question: OpenQuestion) -> str:
    """Say what is open: the ratio of two cases, or another unknown."""
    names = [case.name for case in question.cases]
    match question.about[0]:
        case "noise":
            return "how much two equal cases differ on this machine wasn't measured, so verdicts assume it"
        case "interval":
            return f"{names[0]}: its time limit ended it before its interval was as narrow as requested"
        case "time limit":
            return f"{names[0]}: ran into its time limit"
        case "not measured":
            begun = sum(bool(case.rounds) for case in question.cases)
            further = " further" if begun == len(names) else f", {begun:,} of them further" if begun else ""
            late = ", for which no time was left" if question.late else ""
            return f"{count(len(names), 'case')} left to measure{further}{late}"
        case _:
            shown = f": {ratio_cell(question.ratio)}" if question.ratio else ""
            return f"{names[1]} against {names[0]}{shown}"


def conclusions(question: OpenQuestion) -> str:
    """Name the conclusions that depend on a pair of cases; empty for other questions."""
    return listed([text for word in question.about if (text := _ABOUT.get(word))])


def decided_by(question: OpenQuestion) -> str:
    """Say what would decide a question, or why nothing does."""
    if question.obstacle:
        return _OBSTACLES[question.obstacle]
    remedy = question.remedy or Remedy()
    steps = f" of {count(remedy.steps, 'step')}" if remedy.steps else ""
    parts = [
        f"{count(remedy.rounds, 'round')}{steps}" if remedy.rounds else None,
        "further rounds by turns" if remedy.by_turns else None,
        "repeating disturbed rounds" if remedy.repeat_disturbed else None,
        "an A/A pair (the baseline twice)" if remedy.aa else None,
        f"max_time = {remedy.max_time_s:g} s" if remedy.max_time_s else None,
        f"timeout = {remedy.timeout_s:g} s" if remedy.timeout_s else None,
        "measuring them" if question.late else None,
    ]
    return f"decided by {listed([part for part in parts if part])}"


def settled_reason(settled: Settled) -> str:
    """Return why a case isn't measured further: ``2.1x slower, sure``."""
    ratio = settled.ratio
    if ratio.verdict is Verdict.SAME:
        return f"the same within {100 * ratio.same_within:.2g}%"
    if ratio.bounds and ratio.verdict is Verdict.UNSURE:
        return f"at most {100 * WORTH:g}% better than the best, if at all"
    slower = ratio.value < 1
    factor = ratio_text(1 / ratio.value if slower else ratio.value)
    return f"{factor}x {'slower' if slower else 'faster'}, sure"
