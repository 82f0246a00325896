"""Effects of the options: pairs of cases that differ in one option only, and how much each value changes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from benchtui.sessions.report.content import Section, section
from benchtui.sessions.stats.ratios import Comparison, break_even_steps, comparison, matched
from benchtui.sessions.stats.results import Result, series
from benchtui.sessions.stats.verdicts import Verdict
from benchtui.sessions.sweep import Config
from benchtui.sessions.sweep.options import AXES, BY_NAME, CHOICES
from benchtui.sessions.text.formatting import capitalized, listed, number, ratio_text, signed_percent, span
from benchtui.sessions.text.labels import applied, option_title, pair_applied
from benchtui.sessions.text.tables import Column, table, text_column
from benchtui.sessions.text.wording import Phrase, ratio_interval, ratio_value, verdict_cell

NOT_VERIFIABLE = ("device", "machine", "batch_size")
"""Options that are applied by definition."""
LEAD = "Each case against the one that differs only in this option: above 1, it is faster."


class OptionPair(msgspec.Struct, frozen=True):
    """Case compared with the one that has the option's base value."""

    option: str
    pair: Comparison


def matched_by(option: str, results: Sequence[Result]) -> list[tuple[Result, Result]]:
    """Pair every case with the same case at the option's default value, or else at its first planned value.

    The base of a machine is always the first named one. Cases that name no machine are ignored.
    """
    rows = results if option != "machine" else [result for result in results if result.config.machine]
    values = list(map(attrgetter(f"case.config.{option}"), rows))
    default = "cpu" if option == "device" else BY_NAME[option].default
    return matched(rows, option, default if default in values else values[0]) if values else []


def pair_counts(pair: Comparison, option: str) -> bool:
    """Return whether a difference can be attributed to the option."""
    return option in NOT_VERIFIABLE or bool(pair_applied(pair, option))


def pairs_of_options(results: Sequence[Result]) -> Section | None:
    """Return a table for each option that varies, with a row for each pair."""
    return section("Pairs of options", *(_pairs(option, results) for option in CHOICES), lead=LEAD)


def _pairs(option: str, results: Sequence[Result]) -> Section | None:
    rows = [OptionPair(option, comparison(*pair)) for pair in matched_by(option, results)]
    return section(option_title(option), table(_OF_PAIRS, rows) if rows else None)


def verdict(row: OptionPair) -> str | None:
    """Return a pair's verdict. None unless the option was verified as applied.

    Otherwise, a difference can't be attributed to it. Device and machine need no verification.
    """
    return verdict_cell(row.pair.latency) if pair_counts(row.pair, row.option) else None


def _applied(row: OptionPair) -> str | None:
    return None if row.option in NOT_VERIFIABLE else applied(pair_applied(row.pair, row.option))


def _cold_cost(row: OptionPair) -> str | None:
    cold_ms = row.pair.new.metrics.cold_cost_ms if row.option in PAID_ONCE else None
    return None if cold_ms is None else number(cold_ms / 1000)


def _break_even_of_pair(row: OptionPair) -> str | None:
    """Format the break-even steps: ``never`` if the case is the same or slower, None if unknown."""
    if row.option not in PAID_ONCE or not pair_applied(row.pair, row.option):
        return None
    steps, latency = break_even_steps(row.pair), row.pair.latency
    surely_no = latency and latency.verdict in (Verdict.SAME, Verdict.SLOWER)
    return number(steps, 0) if steps is not None else "never" if surely_no else None


_OF_PAIRS: tuple[Column[OptionPair], ...] = (
    text_column("Case", lambda row: row.pair.new.name),
    text_column("Against", lambda row: str(getattr(row.pair.base.config, row.option))),
    Column("Throughput (×)", lambda row: ratio_value(row.pair.throughput)),
    Column("Step (×)", lambda row: ratio_value(row.pair.latency)),
    Column("95% interval of the step (×)", lambda row: ratio_interval(row.pair.latency)),
    text_column("Verdict", verdict),
    text_column("Applied", _applied),
    Column("Cold cost (s)", _cold_cost),
    Column("Break-even (steps)", _break_even_of_pair),
)


NAMES = {"cache": "KV cache", "compile": "compiling"}
"""Options whose name in a sentence differs from that in a sweep."""
MOST_VALUES = 10
"""Maximum number of rows per option. The full report has every pair of values."""
LENGTHS = "sequence_length"
"""Option that isn't compared, because a different length is different work."""
PAID_ONCE = ("compile", "backend")
"""Options whose values cost time before the first step: compiling, or export, conversion and loading."""
ANYWHERE = ("device", "machine")
"""Options that are compared across devices."""


class Recommended(msgspec.Struct, frozen=True):
    """Configurations that the report recommends. Advice on an option must not contradict them."""

    best: tuple[Config, ...] = ()
    fastest: tuple[Config, ...] = ()
    """Configurations in ``best`` that are recommended for throughput or latency."""


class Effect(msgspec.Struct, frozen=True):
    """All pairs of one value of an option on one device."""

    option: str
    pairs: tuple[Comparison, ...]
    chosen: Recommended

    @property
    def factor(self) -> float:
        """Largest established factor by which throughput changes, up or down; 1 if none is established."""
        words = (Verdict.FASTER, Verdict.SLOWER)
        ratios = (pair.ratio for pair in self.pairs if verdict_word(pair, self.option) in words)
        return max(
            (max(ratio.value, 1 / ratio.value) for ratio in ratios if ratio and ratio.value), default=1.0
        )


def option_effects(results: Sequence[Result], chosen: Recommended) -> list[Effect]:
    """Return the effect of each value of each option, those of the option with the largest effect first."""
    by_option = (list(_effects(option, results, chosen)) for option in AXES if option != LENGTHS)
    largest = filter(None, map(_largest, by_option))
    ranked = sorted(largest, key=lambda effects: -max(effect.factor for effect in effects))
    return [effect for effects in ranked for effect in effects]


def _largest(effects: Sequence[Effect]) -> list[Effect]:
    """Return the effects of an option, those with the largest factors if there are too many."""
    if len(effects) <= MOST_VALUES:
        return list(effects)
    kept = sorted(range(len(effects)), key=lambda place: -effects[place].factor)[:MOST_VALUES]
    return [effects[place] for place in sorted(kept)]


def options_section(results: Sequence[Result], chosen: Recommended) -> Section | None:
    """Return a row for each effect, after the option with the largest established one."""
    effects = option_effects(results, chosen)
    return section("What each option brings", table(_COLUMNS, effects), lead=_ranking(effects))


def _ranking(effects: Sequence[Effect]) -> str:
    """Name the option with the largest established effect; empty if none is established."""
    most = max(effects, key=lambda effect: effect.factor, default=None)
    if most is None or most.factor <= 1:
        return ""
    name = capitalized(_name(most.option))
    return f"{name} matters most for throughput, by a factor of up to {ratio_text(most.factor)}."


def _direction(pairs: Sequence[Comparison]) -> int:
    """Return 1 if all pairs are faster by more than the margin of equivalence, -1 if all are slower, else 0."""
    ratios = [pair.ratio for pair in pairs if pair.ratio]
    if ratios and all(ratio.value > 1 + ratio.same_within for ratio in ratios):
        return 1
    return -1 if ratios and all(0 < ratio.value < 1 / (1 + ratio.same_within) for ratio in ratios) else 0


def verdict_word(pair: Comparison, option: str) -> Verdict | Phrase:
    """Return the verdict on a pair, or why it can't be attributed to the option.

    A ratio of reported figures claims no more than the report does; the caveats say what isn't verified.
    """
    if pair_applied(pair, option) is False and option not in NOT_VERIFIABLE:
        return Phrase.NOT_APPLIED
    counts = pair_counts(pair, option) or pair.verdict is Verdict.REPORTED
    return pair.verdict if counts else Phrase.NOT_VERIFIED


def _name(option: str) -> str:
    return NAMES.get(option, option.replace("_", " "))


def _effects(option: str, results: Sequence[Result], chosen: Recommended) -> Iterator[Effect]:
    """Group the pairs of an option by device and value; batch sizes by device alone.

    A batch size is compared with the next smaller one of a single series, or with the smallest of several.
    """

    def key(pair: Comparison) -> tuple[str, ...]:
        config = pair.new.config
        value = "" if option == "batch_size" else str(getattr(config, option))
        return (value,) if option in ANYWHERE else (config.machine, config.device, value)

    if option != "batch_size":
        compared = [matched_by(option, results), *([_with_compiled(results)] if option == "backend" else [])]
    elif len(sized := [rows for rows in series(results) if len(rows) > 1]) == 1:
        compared = [[pair] for pair in pairwise(sized[0])]
    else:
        compared = [[(first, row) for first, *others in sized for row in others]]
    for pairs in compared:
        for _, group in groupby(sorted((comparison(*pair) for pair in pairs), key=key), key):
            yield Effect(option, tuple(group), chosen)


def _with_compiled(results: Iterable[Result]) -> list[tuple[Result, Result]]:
    """Pair each case of another backend with the same case in torch, compiled."""
    cases = {row.config: row for row in results}
    configs = ((replace(config, backend="torch", compile="default"), row) for config, row in cases.items())
    return [(cases[base], row) for base, row in configs if row.config.backend != "torch" and base in cases]


def _values(option: str, side: Iterable[Result]) -> str:
    values = sorted({getattr(result.config, option) for result in side})
    texts = [f"{value:,}" if isinstance(value, int) else str(value) for value in values]
    return texts[0] if len(texts) == 1 else f"{texts[0]} to {texts[-1]}"


def _against(effect: Effect) -> str:
    pair = effect.pairs[0]
    values = _values(effect.option, (compared.base for compared in effect.pairs))
    compiled = effect.option != "compile" and pair.base.config.compile != pair.new.config.compile
    return f"{values}, compiled" if compiled else values


def _where(effect: Effect) -> str | None:
    config = effect.pairs[0].new.config
    return None if effect.option in ANYWHERE else f"{config.machine} {config.device}".strip()


def _ratios(effect: Effect) -> list[float]:
    """Return the ratios of throughput, without those that a neighbor may have made of any size."""
    ratios = (pair.throughput.shown for pair in effect.pairs if pair.throughput)
    return [shown for shown in ratios if shown is not None]


def _throughput(effect: Effect) -> str | None:
    values = _ratios(effect)
    return span(ratio_text(min(values)), ratio_text(max(values))) if values else None


def _time_per_sample(effect: Effect) -> str | None:
    """Format the range of the changes in the time per sample, in percent."""
    values = [1 / ratio - 1 for ratio in _ratios(effect) if ratio]  # the smallest ones are rounded to 0
    return span(signed_percent(min(values)), signed_percent(max(values))) if values else None


def _tally(effect: Effect) -> str:
    words = (verdict_word(pair, effect.option) for pair in effect.pairs)
    tally = Counter(word.name if isinstance(word, Verdict) else str(word) for word in words)
    return listed([f"{amount:,} {word}" for word, amount in tally.items()])


def _break_even(effect: Effect) -> str | None:
    """Format the number of steps after which a value pays for itself, in the pairs where it is faster."""
    if effect.option not in PAID_ONCE:
        return None
    faster = (pair for pair in effect.pairs if verdict_word(pair, effect.option) == Verdict.FASTER)
    steps = [break_even for pair in faster if (break_even := break_even_steps(pair)) is not None]
    if not steps:
        return None
    return span(number(min(steps), 0), number(max(steps), 0))


def _advice(effect: Effect) -> str | None:
    """Return the advice on a value, if all pairs agree and no recommendation contradicts it."""
    if effect.option != "batch_size" and any(pair.new.metrics.diverged for pair in effect.pairs):
        return Phrase.NOT_FINITE
    words = {verdict_word(pair, effect.option) for pair in effect.pairs}
    word = next(iter(words)) if len(words) == 1 else ""
    reported = word == Verdict.REPORTED
    if reported:
        word = {1: Verdict.FASTER, -1: Verdict.SLOWER}.get(_direction(effect.pairs), "")
    advice = _ADVICE.get(word)
    if advice is None or effect.option == "batch_size" or _contradicts(word, effect):
        return None
    return f"{advice}, {Phrase.AS_REPORTED}" if reported else advice


def _contradicts(word: str, effect: Effect) -> bool:
    """Return whether advice based on this verdict would contradict a recommendation."""
    if word == Verdict.FASTER:
        return any(pair.base.config in effect.chosen.fastest for pair in effect.pairs)
    new = effect.pairs[0].new.config
    alike = [config for config in effect.chosen.best if config.device == new.device]
    in_use = any(getattr(config, effect.option) == getattr(new, effect.option) for config in alike)
    return word in (Verdict.SLOWER, Verdict.SAME) and in_use


_ADVICE: dict[str, str] = {
    Verdict.FASTER: Phrase.USE,
    Verdict.SLOWER: Phrase.LEAVE,
    Verdict.SAME: "same",
    Verdict.UNSURE: Phrase.UNDECIDED,
}
"""Advice by verdict, if all pairs agree."""
_COLUMNS: tuple[Column[Effect], ...] = (
    text_column("Option", lambda effect: _name(effect.option)),
    text_column("Value", lambda effect: _values(effect.option, (pair.new for pair in effect.pairs))),
    text_column("Against", _against),
    text_column("On", _where),
    Column("Throughput (×)", _throughput),
    Column("Time per sample (%)", _time_per_sample),
    Column("Pairs", lambda effect: f"{len(effect.pairs):,}"),
    text_column("Verdicts", _tally),
    Column("Pays off after (steps)", _break_even),
    text_column("Advice", _advice),
)
