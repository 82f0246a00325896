"""Gain tables: cases compared across precisions, compile modes, devices and machines."""

from collections.abc import Sequence
from operator import attrgetter

import msgspec

from benchtui.sessions.stats.ratios import Comparison, break_even_steps, cold_cost_ms, comparison, matched
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.verdicts import Ratio, Verdict
from benchtui.sessions.sweep.options import BY_NAME, CHOICES, OPTIONS
from benchtui.sessions.text.formatting import count, number, percent, ratio_span, ratio_text, span
from benchtui.sessions.text.labels import CasePair, applied, pair_applied, precision
from benchtui.sessions.text.tables import Column, Table, table
from benchtui.sessions.text.wording import verdict_cell

OPTION_TITLES = {
    **{option.name: option.name.replace("_", " ").capitalize() for option in OPTIONS if option.phrase},
    "sequence_length": "Tokens",
}
NOT_VERIFIABLE = ("device", "machine", "batch_size")
"""Options that are applied by definition."""


class Block(msgspec.Struct, frozen=True):
    """A table with a heading and an optional lead sentence."""

    title: str
    lead: str | None
    table: Table


class GainSection(msgspec.Struct, frozen=True):
    """Gain tables of an option."""

    title: str
    base: str
    """The value that all others are compared with."""
    blocks: list[Block]


def option_pairs(results: Sequence[Result], option: str) -> list[Comparison]:
    """Compare every case with its base for an option."""
    return [comparison(*pair) for pair in matched_by(option, results)]


def matched_by(option: str, results: Sequence[Result]) -> list[tuple[Result, Result]]:
    """Pair every case with the same case at the option's default value, or else at its first planned value.

    The base of a machine is always the first named one. Cases that name no machine are ignored.
    """
    rows = results if option != "machine" else [result for result in results if result.config.machine]
    values = list(map(attrgetter(f"case.config.{option}"), rows))
    default = "cpu" if option == "device" else BY_NAME[option].default
    return matched(rows, option, default if default in values else values[0]) if values else []


def pair_counts(pair: CasePair, option: str) -> bool:
    """Return whether a difference can be attributed to the option."""
    return option in NOT_VERIFIABLE or bool(pair_applied(pair, option))


def gain_sections(results: Sequence[Result], varying: Sequence[str]) -> list[GainSection]:
    """Return the gain tables of each option other than precision, compile, device and machine."""
    others = [name for name in CHOICES if name not in ("machine", "device", "precision", "compile")]
    return [section for name in others if (section := gain_section(results, name, varying))]


def gain_section(results: Sequence[Result], option: str, varying: Sequence[str]) -> GainSection | None:
    """Return the gain tables of an option: a block for each device, precision and other value."""
    pairs = option_pairs(results, option)
    blocks = _blocks(pairs, option, varying, _GAIN)
    base = str(getattr(pairs[0].base.config, option)) if pairs else ""
    return (
        GainSection(f"{OPTION_TITLES.get(option, option.capitalize())} gain", base, blocks) if blocks else None
    )


def compile_gains(results: Sequence[Result], varying: Sequence[str]) -> list[Block]:
    """Return a block for each device, precision and compile mode, compared with the uncompiled cases."""
    return _blocks(option_pairs(results, "compile"), "compile", varying, (*_GAIN, *_COST))


def machine_speedups(pairs: Sequence[Comparison], varying: Sequence[str]) -> Table | None:
    """Return the machine comparison table."""
    return table((*_keys("machine", varying), *_speedup("machine")), pairs)


def device_speedups(pairs: Sequence[Comparison], varying: Sequence[str]) -> Table | None:
    """Return the device comparison table."""
    return table((*_keys("device", varying), *_speedup("device")), pairs)


def _blocks(
    pairs: Sequence[Comparison], option: str, varying: Sequence[str], figures: Sequence[Column[Comparison]]
) -> list[Block]:
    columns = (*_keys(option, varying), *figures, *_evidence(option))

    def key(pair: Comparison) -> tuple[str, ...]:
        config = pair.new.config
        return config.device, config.precision, config.compile, str(getattr(config, option))

    groups: dict[tuple[str, ...], list[Comparison]] = {}
    for pair in pairs:  # in the order of the other tables
        groups.setdefault(key(pair), []).append(pair)
    ordered = (sorted(group, key=_place) for group in groups.values())
    shown = ((group, table(columns, group)) for group in ordered)
    return [
        Block(_title(group[0], option), _unproven_note(group, option), group_table)
        for group, group_table in shown
        if group_table
    ]


def _place(pair: Comparison) -> tuple[int, int]:
    """Return the key that orders the rows of a block."""
    return pair.new.config.sequence_length, pair.new.config.batch_size


def _title(pair: Comparison, option: str) -> str:
    new, base = pair.new.config, pair.base.config
    device = new.device.upper()
    if option == "compile":
        return f"{device} – {precision(new)}, compile {new.compile} against {base.compile}"
    compiled = "" if new.compile == "off" else f", compile {new.compile}"
    if option == "precision":
        return f"{device} – {precision(new)} against {precision(base)}{compiled}"
    values = getattr(new, option), getattr(base, option)
    return f"{device} – {precision(new)}, {option.replace('_', ' ')} {values[0]} against {values[1]}{compiled}"


def _unproven_note(group: Sequence[Comparison], option: str) -> str | None:
    """Name the rows that prove nothing, because the option wasn't applied or wasn't verified."""
    word = getattr(group[0].new.config, option)
    absent = [pair for pair in group if pair_applied(pair, option) is False]
    unknown = [pair for pair in group if pair_applied(pair, option) is None]
    if absent:
        return f"{word} was not applied in {_rows(absent)}: the difference there has a different cause."
    if unknown:
        return f"{word} couldn't be verified in {_rows(unknown)}: no gain there can be attributed to it."
    return None


def _rows(pairs: Sequence[Comparison]) -> str:
    sizes = ", ".join(f"{pair.new.config.batch_size:,}" for pair in pairs)
    return f"{count(len(pairs), 'row')} (batch size {sizes})"


def _keys(excluded: str, varying: Sequence[str]) -> tuple[Column[Comparison], ...]:
    """Return the key columns: batch size, and options that vary in the session and aren't in the heading."""
    headed = (excluded,) if excluded in ("device", "machine") else (excluded, "compile")
    shown = [kind for kind in OPTION_TITLES if kind in varying and kind not in headed]
    return (Column("Batch size", lambda pair: number(pair.new.config.batch_size, 0)), *map(_key, shown))


def _key(kind: str) -> Column[Comparison]:
    return Column(
        OPTION_TITLES[kind], lambda pair: str(getattr(pair.new.config, kind)), right=kind == "sequence_length"
    )


def _evidence(option: str) -> tuple[Column[Comparison], ...]:
    return (
        Column("Verdict", lambda pair: verdict(pair, option), right=False),
        Column("Applied", lambda pair: applied(pair_applied(pair, option)), right=False),
    )


def verdict(pair: Comparison, option: str) -> str | None:
    """Return a pair's verdict. None unless the option was verified as applied.

    Otherwise, a difference can't be attributed to it. Device and machine need no verification.
    """
    return verdict_cell(pair.latency) if pair_counts(pair, option) else None


def _interval(ratio: Ratio | None) -> str | None:
    return ratio_span(ratio.low, ratio.high, ratio.value) if ratio else None


def _time_saved(ratio: Ratio | None) -> str | None:
    return percent(1 - 1 / ratio.value) if ratio and ratio.value else None


def _time_saved_span(ratio: Ratio | None) -> str | None:
    if ratio is None or not ratio.low or not ratio.high:
        return None
    return span(percent(1 - 1 / ratio.low), percent(1 - 1 / ratio.high))


def _break_even(pair: Comparison) -> str | None:
    """Format the break-even steps: ``never`` if the case is the same or slower, None if unknown."""
    if not pair_applied(pair, "compile"):
        return None
    steps = break_even_steps(pair)
    surely_no = pair.latency and pair.latency.verdict in (Verdict.SAME, Verdict.SLOWER)
    return number(steps, 0) if steps is not None else "never" if surely_no else None


def _seconds(value_ms: float | None) -> str | None:
    return None if value_ms is None else number(value_ms / 1000)


_GAIN: tuple[Column[Comparison], ...] = (
    Column("Throughput gain (%)", lambda pair: percent(pair.throughput.value - 1) if pair.throughput else None),
    Column("Latency gain (%)", lambda pair: _time_saved(pair.latency)),
    Column("95% interval of the latency gain (%)", lambda pair: _time_saved_span(pair.latency)),
)
_COST: tuple[Column[Comparison], ...] = (
    Column("Cold cost (s)", lambda pair: _seconds(cold_cost_ms(pair.new))),
    Column("Break-even (steps)", _break_even),
)


def _speedup(option: str) -> tuple[Column[Comparison], ...]:
    """Return the columns of a speedup over another device or machine."""
    return (
        Column("Precision", lambda pair: precision(pair.new.config), right=False),
        Column(f"Baseline {option}", lambda pair: str(getattr(pair.base.config, option)), right=False),
        Column(f"Target {option}", lambda pair: str(getattr(pair.new.config, option)), right=False),
        Column(
            "Throughput speedup (×)",
            lambda pair: ratio_text(pair.throughput.value) if pair.throughput else None,
        ),
        Column("Latency speedup (×)", lambda pair: ratio_text(pair.latency.value) if pair.latency else None),
        Column(
            "95% interval of the latency speedup (×)",
            lambda pair: _interval(pair.latency),
        ),
        Column("Verdict", lambda pair: verdict(pair, option), right=False),
    )
