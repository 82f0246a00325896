"""What every column of the tables with a row for each case holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, log2
from typing import Any

import numpy as np

from benchtui.sessions.analysis.roofline import DATA_SHEETS
from benchtui.sessions.metrics.catalogue import EXPORTED
from benchtui.sessions.metrics.views import short
from benchtui.sessions.stats.disturbance import mark_kind

from .facts import OPTIONS, OUTCOMES, Facts, Row, comparable_memory, peak_mb, step_ms, token_rate
from .reader import Claim, Part, Reader, Rows, parse_number
from .recording import Recording, loss_halves


class NotKnown(Exception):
    """What no JSON has, and no recording was given for."""


@dataclass(frozen=True)
class Cell:
    """A case, with what its cells are computed from."""

    facts: Facts
    row: Row
    recording: Recording | None

    def __getitem__(self, name: str) -> Any:
        return self.row[name]

    @property
    def recorded(self) -> Recording:
        if self.recording is None:
            raise NotKnown
        return self.recording

    @property
    def end(self) -> Row:
        """The event that ended the case."""
        return self.recorded.finished(self["case"])

    @property
    def flops(self) -> float:
        """Operations per second in the median step."""
        return float(1000 * self.end["work"]["flops"] / self.median_ms)

    @property
    def bytes_per_s(self) -> float:
        return float(1000 * self.end["work"]["bytes_moved"] / self.median_ms)

    @property
    def median_ms(self) -> float:
        return float(self["device_p50_ms"] or self["latency_p50_ms"])

    @property
    def peak_mb(self) -> Any:
        return peak_mb(self.row)

    @property
    def series(self) -> "list[Cell]":
        """The cases that differ from this one in batch size."""
        return [Cell(self.facts, row, None) for row in self.facts.series(self.row)]

    @property
    def reference(self) -> "Cell":
        """The smallest batch that was measured away from neighbors, or of all if none was."""
        return self.sound[0]

    @property
    def sound(self) -> "list[Cell]":
        beside = self.recorded.only_next_to_a_neighbor
        return [each for each in self.series if not beside(each["case"])] or self.series

    @property
    def base(self) -> Any:
        """The baseline, if that is another case."""
        base = self.facts.base_of(self.row)
        return None if base is self.row else base

    @property
    def against_base(self) -> Any:
        """The ratio to the baseline."""
        return self.facts.throughput(self.base, self.row)

    @property
    def per_item(self) -> float:
        return float(self["samples_per_s"] / self["batch_size"])

    def column(self, name: str) -> list[float]:
        """Return a column of the measured steps."""
        return self.recorded.column(self["case"], name)

    def peak(self, name: str) -> float:
        """Return a measured peak of the device."""
        return float(self.recorded.peaks(self.row)[name])


CLOCK_LIMITS = ("app_clocks", "sw_power_cap", "sync_boost", "display_clocks", "board_limit", "reliability")
Value = float | None | tuple[float | None, float | None]
"""A number, or both ends of a range. An error of arithmetic means that there is none."""


def of(name: str) -> Callable[[Cell], Any]:
    """Return what gets an entry of the results."""
    return lambda cell: cell[name]


def _option(name: str) -> Callable[[Cell], str]:
    return lambda cell: f"{cell[name]:,}" if isinstance(cell[name], int) else str(cell[name])


def _half_width(percent: float) -> float:
    """Return half the width of an interval, which has no number above 100."""
    return percent if percent <= 100 else inf


def _prompt_tokens(cell: Cell) -> float:
    new = round(cell["new_tokens_per_s"] * cell["latency_mean_ms"] / 1000 / cell["samples_per_step"])
    prompts = sum(tokens - new * cell["samples_per_step"] for tokens in cell.column("tokens"))
    return prompts / sum(cell.column("part_prefill_ms")) * 1000


def _further_sample(cell: Cell) -> float | None:
    """Return the memory of each sample more than in the smallest batch; None if it isn't more."""
    first = cell.series[0]
    more = cell.peak_mb - first.peak_mb
    known = first.peak_mb and more >= 0 and comparable_memory(cell.row, first.row)
    return more / (cell["batch_size"] - first["batch_size"]) if known else None


def _peak_per_sample(cell: Cell) -> float | None:
    if cell["batch_size"] is None:
        raise NotKnown
    return float(cell.peak_mb / cell["batch_size"]) if cell["device"] != "cpu" else None


def _before(cell: Cell) -> Cell:
    """Return the case of the next smaller batch size."""
    smaller = [each for each in cell.sound if each["batch_size"] < cell["batch_size"]]
    return smaller[-1]


def _per_doubling(cell: Cell) -> float:
    before = _before(cell)
    gain = cell.facts.throughput(before.row, cell.row).value
    return float(100 * (gain ** (1 / log2(cell["batch_size"] / before["batch_size"])) - 1))


def _data_sheet(cell: Cell) -> float:
    """Return the operations per second in the data sheet of a case's GPU."""
    precision = cell["precision"].removeprefix("amp-")
    return float(1e12 * getattr(DATA_SHEETS[cell.recorded.gpu(cell["case"])], precision))


def _halves(cell: Cell) -> Value:
    halves = loss_halves(cell.column("loss"))
    return halves and halves[:2]


def _trend(cell: Cell) -> str:
    halves = loss_halves(cell.column("loss"))
    if halves is None:
        return "not finite"
    change = halves[1] - halves[0]
    return "no trend" if abs(change) <= 2 * halves[2] else "falls" if change < 0 else "rises"


_EXPORTED = [row for row in EXPORTED if row.is_number]
NUMBERS: dict[str, Callable[[Cell], Value]] = {
    **{shown.heading(): of(row.key) for row in _EXPORTED if row.short for shown in short(row.key)},
    **{row.heading(): of(row.key) for row in _EXPORTED},
    # steps and rates
    "Step (ms)": lambda cell: step_ms(cell.row),
    "± 95% (%)": lambda cell: _half_width(
        50 * (cell["latency_typical_high_ms"] - cell["latency_typical_low_ms"]) / step_ms(cell.row)
    ),
    "± 95% interval (%)": lambda cell: _half_width(cell["latency_interval_percent"]),
    "p99 over p50": lambda cell: cell["latency_p99_ms"] / cell["latency_p50_ms"],
    "Range (ms)": lambda cell: (cell["latency_least_ms"], cell["latency_most_ms"]),
    "Time per sample (ms)": lambda cell: 1000 / cell["samples_per_s"],
    "95% interval (samples/s)": lambda cell: (cell["samples_per_s_low"], cell["samples_per_s_high"]),
    "Steps": of("n"),
    "Steps, with warm-up": lambda cell: cell["n"] + (cell["warmup_steps"] or 0),
    "No.": lambda cell: cell["case"] + 1,
    # memory and energy
    "Peak memory (MB)": lambda cell: cell.peak_mb,
    "Peak memory (MiB)": lambda cell: cell.peak_mb / 1.048576,
    "Peak memory (GiB)": lambda cell: cell.peak_mb / 1073.741824,
    "Memory, allocated (MB)": of("peak_allocated_mb"),
    "Peak over batch (MB/sample)": _peak_per_sample,
    "Each further sample (MB)": _further_sample,
    "Samples/s per GiB": lambda cell: cell["samples_per_s"] / cell.peak_mb * 1073.741824,
    "Tokens/s per GiB": lambda cell: (token_rate(cell.row) or 0.0) / cell.peak_mb * 1073.741824,
    "95% interval (J/sample)": lambda cell: (cell["energy_per_sample_low_j"], cell["energy_per_sample_high_j"]),
    "Samples/J": lambda cell: 1 / cell["energy_per_sample_j"],
    "Energy (J per 1,000 tokens)": lambda cell: (
        1000 * cell["energy_per_sample_j"] * cell["samples_per_s"] / cell["tokens_per_s"]
    ),
    # scaling
    "Throughput per item (samples/s)": lambda cell: cell.per_item,
    "Per item, relative to first batch size": lambda cell: cell.per_item / cell.reference.per_item,
    "Throughput relative to linear scaling": lambda cell: (
        cell["samples_per_s"] / cell.reference["samples_per_s"]
    ),
    "Gain per doubling (%)": _per_doubling,
    "Throughput against the baseline (×)": lambda cell: cell.against_base.value,
    "Against the baseline (%)": lambda cell: 100 * cell.against_base.value - 100,
    "95% interval (%)": lambda cell: (100 * cell.against_base.low - 100, 100 * cell.against_base.high - 100),
    "Memory against the baseline (%)": lambda cell: 100 * cell.peak_mb / peak_mb(cell.base) - 100,
    # limits
    "GFLOP/step": lambda cell: cell.end["work"]["flops"] / 1e9,
    "TFLOP/s": lambda cell: cell.flops / 1e12,
    "Peak (TFLOP/s)": lambda cell: cell.peak("flops_per_s") / 1e12,
    "Share of the measured peak (%)": lambda cell: 100 * cell.flops / cell.peak("flops_per_s"),
    "Of the measured peak (%)": lambda cell: 100 * cell.flops / cell.peak("flops_per_s"),
    "MFU (%)": lambda cell: 100 * cell.flops / _data_sheet(cell),
    "GB/step, upper bound": lambda cell: cell.end["work"]["bytes_moved"] / 1e9,
    "Of weights (GB/step)": lambda cell: cell.end["work"]["bytes_of_weights"] / 1e9,
    "GB/s, upper bound": lambda cell: cell.bytes_per_s / 1e9,
    "Peak (GB/s)": lambda cell: cell.peak("bytes_per_s") / 1e9,
    "Share of the measured bandwidth, upper bound (%)": lambda cell: (
        100 * cell.bytes_per_s / cell.peak("bytes_per_s")
    ),
    "Device busy (%)": lambda cell: 100 * min(1, cell.end["work"]["busy_ms"] / cell.median_ms),
    "Lowest SM clock (MHz)": lambda cell: cell.end["environment"]["sm_clock_least_mhz"],
    # tasks
    "Generation, p90 (ms)": lambda cell: float(np.percentile(cell.column("part_prefill_ms"), 90)),
    "Prompt tokens/s (prefill)": _prompt_tokens,
    "Prompt and new tokens/s": of("tokens_per_s"),
    "Tokens per text": lambda cell: cell["tokens_per_s"] / cell["samples_per_s"],
    "Real-time factor": lambda cell: 1 / cell["samples_per_s"],
    "Mean loss, first to second half": _halves,
    "Loss of the last step": of("loss"),
    # answers
    "Same top token (%)": lambda cell: 100 * cell["answer_top1_agreement"],
    "Equal tokens (%)": lambda cell: 100 * cell["answer_equal_tokens"],
    "Largest difference of a loss (%)": lambda cell: 100 * cell["answer_loss_difference"],
}
"""Numbers by the title of their column, after the section where it means something else."""
WORDS: dict[str, Callable[[Cell], object]] = {
    **{name.replace("_", " ").capitalize(): _option(name) for name in (*OPTIONS, "batch_size")},
    "Tokens": _option("sequence_length"),
    "Where": lambda cell: "of the worker (RSS)" if cell["device"] == "cpu" else "on the device",
    "Read from": of("energy_source"),
    "Trend": _trend,
    "Answer": lambda cell: cell["answer"].upper(),
    "Reason": of("reason"),
    "Outcome": lambda cell: {OUTCOMES.get(cell["outcome"], cell["outcome"]), "unfinished"},
    "Verdict": lambda cell: cell.against_base.verdict if cell.base else "the baseline",
    "Relative to the previous size": lambda cell: cell.facts.throughput(_before(cell).row, cell.row).words,
    "Compared with": lambda cell: cell.facts.rows[cell["answer_baseline"]]["name"],
    "Pooling": of("pooling_used"),
    "Ended by": of("stop"),
    "Attention kernel": lambda cell: " + ".join(cell.end["work"]["attention"]),
    "Clock limited by": lambda cell: ", ".join(
        reason.replace("_", " ") for reason in cell.end["environment"]["throttle"] if reason in CLOCK_LIMITS
    ),
    "Performance state": lambda cell: ", ".join(
        f"P{state}" for state in cell.end["environment"]["performance_states"]
    ),
}
"""Words by the title of their column; a set if it may be any of them. A reason may follow."""


def _check_marks(claim: Claim, cell: Cell, shown: str) -> None:
    """Check that a cell has nothing but marks of the case, whole or without their numbers."""
    marks = [*cell["marks"], *map(mark_kind, cell["marks"])]
    for mark in sorted(marks, key=len, reverse=True):
        shown = shown.replace(mark, "")
    claim.require(not shown.strip(" ,;…"), f"its marks are {cell['marks']}")


def _accept(claim: Claim, cell: Cell, shown: str) -> None:
    """Accept what names the row, or a judgment that no JSON has."""


OTHERS: Mapping[str, Callable[[Claim, Cell, str], None]] = {
    "Marks": _check_marks,
    **dict.fromkeys(
        ("Case", "Clip", "Image", "Limited by", "Processor", "Rank", "Reason if unknown", "Repeated"), _accept
    ),
    **{f"{part}, p50 (ms)": _accept for part in ("Features", "Forward", "Preprocess")},
}
"""Checks of other columns by their title."""
TITLES = {title.lower(): title for title in (*NUMBERS, *WORDS, *OTHERS)}


def check_cell(claim: Claim, cell: Cell, section: str, title: str, shown: str) -> None:
    """Check a cell of a case's row."""
    what = f"{cell['name']}: {title}"
    number = NUMBERS.get(f"{section}, {title}") or NUMBERS.get(title)
    try:
        if title in OTHERS:
            OTHERS[title](claim, cell, shown)
        elif number:
            _check_value(claim, shown, number(cell), what)
        elif title in WORDS:
            value = WORDS[title](cell)
            words = value if isinstance(value, set) else {value}
            claim.require({shown, shown.partition(":")[0]} & words, f"{what} is {words}")
        else:
            claim.require(False, f"unknown column: {title}")
    except NotKnown:
        claim.require("peak (%)" not in title or parse_number(shown) <= 100, "above 100")
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError):
        claim.require(False, f"{what} has no value")


def _check_value(claim: Claim, shown: str, value: Value, what: str) -> None:
    if not isinstance(value, tuple):
        claim.require_value(shown, value, what)
        return
    first, _, last = shown.removesuffix(" MB").partition(" to ")
    claim.require_value(first, value[0], f"{what}: the lower end")
    claim.require_value(last or first, value[1], f"{what}: the upper end")


def check_rows(reader: Reader, part: Part, rows: Rows) -> None:
    """Check rows that begin with the number of their case, or its name."""
    for row in rows:
        claim = reader.claim(f"{part.section}, {row}")
        if not {"No.", "Case"} & {*row}:
            claim.require(False, "a table that no check knows")
            continue
        numbered = [case for case in reader.facts.rows if str(case["case"] + 1) == row.get("No.")]
        case = numbered[0] if numbered else reader.case(row.get("Case", f"number {row.get('No.')}"))
        claim.require("Case" not in row or reader.case(row["Case"]) is case, "the number is another case's")
        for title, shown in row.items():
            check_cell(claim, Cell(reader.facts, case, reader.recording), part.section, title, shown)
