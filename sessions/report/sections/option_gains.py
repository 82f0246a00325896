"""Advice on devices, precisions and compiling: one sentence for each option value."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from benchtui.sessions.stats.ratios import Comparison, break_even_steps
from benchtui.sessions.stats.verdicts import Verdict
from benchtui.sessions.sweep import Config
from benchtui.sessions.text.formatting import count, listed, number, ratio_text, signed_percent, span
from benchtui.sessions.text.labels import pair_applied
from benchtui.sessions.text.markdown import MISSING
from benchtui.sessions.text.wording import Finding


@dataclass(frozen=True, slots=True)
class Recommended:
    """Configurations that the report recommends. Advice on an option must not contradict them."""

    best: tuple[Config, ...] = ()
    fastest: tuple[Config, ...] = ()
    """Those of them that are recommended for throughput or latency."""


def option_advice(lead: str, found: Sequence[Comparison], option: str, chosen: Recommended) -> list[Finding]:
    """Return a finding for each option value that was compared with the base value."""

    def key(pair: Comparison) -> tuple[str, ...]:
        config = pair.new.config
        return (config.device,) if option == "device" else (config.device, getattr(config, option))

    groups = (list(group) for _, group in groupby(sorted(found, key=key), key))
    return [Finding(lead, _gain(group, option, chosen)) for group in groups]


def _gain(group: Sequence[Comparison], option: str, chosen: Recommended) -> str:
    new, base = (getattr(config, option) for config in (group[0].new.config, group[0].base.config))
    name = f"compile={new}" if option == "compile" else new
    where = "" if option == "device" else f" on {group[0].new.config.device}"
    words = Counter(_verdict_word(pair, option) for pair in group)
    tally = listed([f"{word} in {amount:,}" for word, amount in words.items()])
    agreed = next(iter(words)) if len(words) == 1 else ""
    advice = _NO_ADVICE if _contradicts(agreed, group, option, chosen) else _ADVICE.get(agreed, _NO_ADVICE)
    figures = f"{_range(group, option)} ({tally}){_break_even(group, option)}"
    return f"{advice.format(name, base, where)}{figures}."


def _contradicts(word: str, group: Sequence[Comparison], option: str, chosen: Recommended) -> bool:
    """Return whether advice based on this verdict would contradict a recommendation."""
    if word == Verdict.FASTER:
        return any(pair.base.config in chosen.fastest for pair in group)
    new = group[0].new.config
    alike = [each for each in chosen.best if each.device == new.device]
    in_use = any(getattr(each, option) == getattr(new, option) for each in alike)
    return word in (Verdict.SLOWER, Verdict.SAME) and in_use


def _break_even(group: Sequence[Comparison], option: str) -> str:
    """Describe after how many steps compiling pays for itself, in the pairs where it is faster."""
    faster = (pair for pair in group if _verdict_word(pair, option) == Verdict.FASTER)
    steps = [found for pair in faster if (found := break_even_steps(pair)) is not None]
    if option != "compile" or not steps:
        return ""
    after = _between(number(min(steps), 0), number(max(steps), 0))
    return f"; where faster it pays for itself after {after} steps"


_NO_ADVICE = "{0} against {1}{2}: "
_ADVICE: dict[str, str] = {
    Verdict.FASTER: "use {0}; {0} against {1}{2}: ",
    Verdict.SLOWER: "leave {0} alone; {0} against {1}{2}: ",
    Verdict.SAME: "{0} makes no difference to {1}{2}: ",
    Verdict.UNSURE: "no effect of {0} against {1}{2} is established: ",
}
"""Advice by verdict, if all pairs agree."""


def _verdict_word(pair: Comparison, option: str) -> str:
    known = option == "device" or pair_applied(pair, option)
    if known is False:
        return "not applied"
    return str(pair.verdict) if known else "not verified to be applied"


def _range(group: Sequence[Comparison], option: str) -> str:
    ratios = [pair.throughput.value for pair in group if pair.throughput]
    if not ratios:
        return "throughput not known"
    ends = min(ratios), max(ratios)
    pairs_in = f"in {count(len(group), 'pair')}"
    if option == "device":
        return f"{_between(*(ratio_text(value) for value in ends))} × the throughput {pairs_in}"
    return f"throughput {_between(*(signed_percent(value - 1) for value in ends))} % {pairs_in}"


def _between(low: str | None, high: str | None) -> str:
    return span(low, high) or MISSING
