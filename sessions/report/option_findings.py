"""What another device, precision or way of compiling brings, in a sentence each."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from benchtui.sessions.compare import Comparison, Verdict, break_even_steps
from benchtui.sessions.report.labels import pair_in_force, verdict
from benchtui.sessions.report.text import MISSING, count, listed, number, signed_percent, span
from benchtui.sessions.report.wording import Finding


def gained(lead: str, found: Sequence[Comparison], option: str) -> list[Finding]:
    """A finding for each value of an option that was held against the base value."""

    def key(pair: Comparison) -> tuple[str, ...]:
        config = pair.new.config
        return (config.device,) if option == "device" else (config.device, getattr(config, option))

    groups = (list(group) for _, group in groupby(sorted(found, key=key), key))
    return [Finding(lead, _gain(group, option)) for group in groups]


def _gain(group: Sequence[Comparison], option: str) -> str:
    new, base = (getattr(config, option) for config in (group[0].new.config, group[0].base.config))
    name = f"compile={new}" if option == "compile" else new
    where = "" if option == "device" else f" on {group[0].new.config.device}"
    words = Counter(_word(pair, option) for pair in group)
    tally = listed([f"{word} in {amount:,}" for word, amount in words.items()])
    advice = _ADVICE.get(next(iter(words)), "") if len(words) == 1 else ""
    figures = f"{_range(group, option)} ({tally}){_repaid(group, option)}"
    return f"{advice.format(name)}{name} against {base}{where}: {figures}."


def _repaid(group: Sequence[Comparison], option: str) -> str:
    """After how many steps compiling has paid for itself, where it has a gain."""
    steps = [found for pair in group if (found := break_even_steps(pair)) is not None]
    if option != "compile" or not steps:
        return ""
    after = _between(number(min(steps), 0), number(max(steps), 0))
    return f"; where faster it pays for itself after {after} steps"


_ADVICE: dict[str, str] = {
    Verdict.FASTER: "use {}; ",
    Verdict.SLOWER: "leave {} alone; ",
    Verdict.SAME: "{} makes no difference; ",
}
"""What to do where all pairs agree."""


def _word(pair: Comparison, option: str) -> str:
    known = option == "device" or pair_in_force(pair, option)
    if known is False:
        return "not applied"
    return verdict(pair, option) or ("no interval" if known else "not verified to be applied")


def _range(group: Sequence[Comparison], option: str) -> str:
    ratios = [pair.throughput.value for pair in group if pair.throughput]
    if not ratios:
        return "throughput not known"
    ends = min(ratios), max(ratios)
    pairs_in = f"in {count(len(group), 'pair')}"
    if option == "device":
        return f"{_between(*(number(value) for value in ends))} × the throughput {pairs_in}"
    return f"throughput {_between(*(signed_percent(value - 1) for value in ends))} % {pairs_in}"


def _between(low: str | None, high: str | None) -> str:
    return span(low, high) or MISSING
