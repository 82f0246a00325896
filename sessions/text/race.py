"""Words for a race: why a case isn't measured further."""

from benchtui.sessions.advice.elimination import WORTH
from benchtui.sessions.advice.race import Settled
from benchtui.sessions.stats.verdicts import Verdict
from benchtui.sessions.text.formatting import ratio_text


def not_measured_further(reason: str) -> str:
    """Return that a case isn't measured further, and why."""
    return f"not measured further: {reason}"


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
