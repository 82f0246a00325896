"""Pairs of cases that differ in one option only."""

from collections.abc import Sequence
from operator import attrgetter

import msgspec

from benchtui.sessions.report.content import Section, section
from benchtui.sessions.stats.ratios import Comparison, break_even_steps, comparison, matched
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.verdicts import Verdict
from benchtui.sessions.sweep.options import BY_NAME, CHOICES
from benchtui.sessions.text.formatting import number
from benchtui.sessions.text.labels import applied, case_label, option_title, pair_applied
from benchtui.sessions.text.tables import Column, table
from benchtui.sessions.text.wording import ratio_interval, ratio_value, verdict_cell

NOT_VERIFIABLE = ("device", "machine", "batch_size")
"""Options that are applied by definition."""
LEAD = (
    "Each case against the one that differs only in this option: above 1, it is faster. Compiling happens in"
    " the first steps; its cost is the time that the first step, and warm-up steps during which torch compiled,"
    " took above steady state."
)


class OptionPair(msgspec.Struct, frozen=True):
    """Case compared with the one that has the option's base value."""

    option: str
    pair: Comparison
    varying: Sequence[str]
    """Options to name in case labels."""


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


def pairs_of_options(results: Sequence[Result], varying: Sequence[str]) -> Section | None:
    """Return a table for each option that varies, with a row for each pair."""
    return section("Pairs of options", *(_pairs(option, results, varying) for option in CHOICES), lead=LEAD)


def _pairs(option: str, results: Sequence[Result], varying: Sequence[str]) -> Section | None:
    rows = [OptionPair(option, comparison(*pair), varying) for pair in matched_by(option, results)]
    return section(option_title(option), table(_COLUMNS, rows) if rows else None)


def verdict(row: OptionPair) -> str | None:
    """Return a pair's verdict. None unless the option was verified as applied.

    Otherwise, a difference can't be attributed to it. Device and machine need no verification.
    """
    return verdict_cell(row.pair.latency) if pair_counts(row.pair, row.option) else None


def _applied(row: OptionPair) -> str | None:
    return None if row.option in NOT_VERIFIABLE else applied(pair_applied(row.pair, row.option))


def _cold_cost(row: OptionPair) -> str | None:
    cold_ms = row.pair.new.metrics.cold_cost_ms if row.option == "compile" else None
    return None if cold_ms is None else number(cold_ms / 1000)


def _break_even(row: OptionPair) -> str | None:
    """Format the break-even steps: ``never`` if the case is the same or slower, None if unknown."""
    if row.option != "compile" or not pair_applied(row.pair, "compile"):
        return None
    steps, latency = break_even_steps(row.pair), row.pair.latency
    surely_no = latency and latency.verdict in (Verdict.SAME, Verdict.SLOWER)
    return number(steps, 0) if steps is not None else "never" if surely_no else None


_COLUMNS: tuple[Column[OptionPair], ...] = (
    Column("Case", lambda row: case_label(row.pair.new.config, row.varying), right=False),
    Column("Against", lambda row: str(getattr(row.pair.base.config, row.option)), right=False),
    Column("Throughput (×)", lambda row: ratio_value(row.pair.throughput)),
    Column("Step (×)", lambda row: ratio_value(row.pair.latency)),
    Column("95% interval of the step (×)", lambda row: ratio_interval(row.pair.latency)),
    Column("Verdict", verdict, right=False),
    Column("Applied", _applied, right=False),
    Column("Cold cost (s)", _cold_cost),
    Column("Break-even (steps)", _break_even),
)
