"""Turns: the steps of two cases whose processes ran at the same time, one of them at any moment.

What slows the machine down for longer than a turn affects both alike and cancels out in their ratio. It is the
median over the turns of the ratio of one case's median step to that of the other, of which each pair of rounds
has one. Fresh processes still differ, so several pairs are needed, and their spread is that of these ratios.
"""

from collections.abc import Iterable, Sequence

from benchtui.sessions.stats.disturbance import undisturbed
from benchtui.sessions.stats.noise import Measured, Spread, kind_of
from benchtui.sessions.stats.sampling import Sample, Slices, Statistic


def pairs_by_turns(base: Measured, new: Measured) -> list[tuple[Sample, Sample]]:
    """Return the rounds in which two cases of a session took turns, without disturbed ones."""
    others = {slices.round: sample for sample, slices in _with(base, new)}
    pairs = []
    for sample, slices in _with(new, base):
        other = others.get(slices.turns.round)
        if other and other.slices and other.slices.turns.round == slices.round:
            pairs.append((sample, other))
    return pairs


def _with(partner: Measured, result: Measured) -> list[tuple[Sample, Slices]]:
    """Return the rounds of a case that took turns with a partner."""
    index = partner.case.index
    if not any(each.slices and each.slices.turns.case == index for each in result.rounds):
        return []
    rounds = undisturbed(result.case, result.rounds) or ()
    return [(each, each.slices) for each in rounds if each.slices and each.slices.turns.case == index]


def ratios_by_turns(pairs: Iterable[tuple[Sample, Sample]]) -> list[Statistic]:
    """Return the ratio of the steps of two cases in each pair of rounds, with its error by the turns."""
    from benchtui.sessions.stats.distribution import median  # imports numpy, which takes 0.1 s

    ratios = []
    for one, other in pairs:
        times = zip(_medians_ms(one), _medians_ms(other), strict=False)
        ratio = median([first / second for first, second in times if first > 0 and second > 0])
        ratios += [ratio] if ratio else []
    return ratios


def _medians_ms(sample: Sample) -> Sequence[float]:
    return sample.slices.medians_ms if sample.slices else ()


def spread_by_turns(results: Iterable[Measured]) -> dict[str, Spread]:
    """Return the spread of such ratios between pairs of fresh processes, by kind of device."""
    by_case = {each.case.index: each for each in results if any(round_.slices for round_ in each.rounds)}
    spreads: dict[str, Spread] = {}
    for index, one in by_case.items():
        partners = {each.slices.turns.case for each in one.rounds if each.slices}
        for other in (by_case[partner] for partner in partners if partner > index and partner in by_case):
            own, kind = Spread.of(ratios_by_turns(pairs_by_turns(one, other))), kind_of(one.case)
            spreads[kind] = spreads.get(kind, Spread()).plus(own)
    return spreads
