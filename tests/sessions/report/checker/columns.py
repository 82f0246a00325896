"""What every column of the tables with a row for each case holds."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import log2

from benchtui.sessions.metrics.catalogue import EXPORTED
from benchtui.sessions.metrics.view import short

from .cases import (
    OPTIONS,
    OUTCOMES,
    Row,
    comparable_memory,
    mark_kind,
    peak_mb,
    step_ms,
    token_rate,
)
from .facts import Facts
from .reader import Claim
from .recording import LEAST_FOR_P90, LEAST_FOR_P99, Recording, loss_halves, percentile
from .report_text import parse_number


@dataclass(frozen=True)
class Cell:
    """A case, with what its cells are computed from."""

    facts: Facts
    row: Row
    recording: Recording | None

    def column(self, name: str) -> list[float]:
        return self.recording.column(self.row["case"], name) if self.recording else []

    @property
    def new_tokens(self) -> float:
        """Tokens that a sample of a generation gets."""
        rate, mean = self.row["new_tokens_per_s"], self.row["latency_mean_ms"]
        return float(round(rate * mean / 1000 / self.row["samples_per_step"]))


class NotKnown(Exception):
    """What no JSON and no recording has."""


Number = Callable[[Cell], float | None]
Check = Callable[[Claim, Cell, str], None]


def _number(value: Number) -> Check:
    """Return the check of a number. One that needs a recording passes without."""

    def check(claim: Claim, cell: Cell, shown: str) -> None:
        try:
            found = value(cell)
        except NotKnown:
            return
        claim.require_value(shown, found, f"of {cell.row['name']}: a cell")

    return check


def _of(name: str) -> Check:
    """Return the check of a number that is in the results under this name."""
    return _number(lambda cell: cell.row[name])


def _check_half_width(claim: Claim, cell: Cell, shown: str) -> None:
    claim.require_half_width(shown, cell.row["latency_interval_percent"], f"of {cell.row['name']}: a cell")


def _recorded(value: Callable[[Cell], float | None]) -> Number:
    """Compute a value that needs the steps."""

    def found(cell: Cell) -> float | None:
        if cell.recording is None:
            raise NotKnown
        return value(cell)

    return found


def _first_token(percent: float, least: int) -> Number:
    def value(cell: Cell) -> float | None:
        times = cell.column("part_prefill_ms")
        return percentile(times, percent) if len(times) >= least else None

    return _recorded(value)


def _prompt_tokens(cell: Cell) -> float | None:
    generated = cell.new_tokens * cell.row["samples_per_step"]
    prompts = sum(tokens - generated for tokens in cell.column("tokens"))
    return prompts / sum(cell.column("part_prefill_ms")) * 1000


def _per_mb(rate: Callable[[Row], float | None]) -> Number:
    def value(cell: Cell) -> float | None:
        found, peak = rate(cell.row), peak_mb(cell.row)
        return found / peak if found is not None and peak else None

    return value


def _further_sample(cell: Cell) -> float | None:
    first = cell.facts.series(cell.row)[0]
    more = cell.row["batch_size"] - first["batch_size"]
    peaks = peak_mb(cell.row), peak_mb(first)
    if not peaks[0] or not peaks[1] or more <= 0 or not comparable_memory(cell.row, first):
        return None
    return (peaks[0] - peaks[1]) / more if peaks[0] >= peaks[1] else None


def _peak_per_sample(cell: Cell) -> float | None:
    peak = peak_mb(cell.row)
    if cell.row["batch_size"] is None:
        raise NotKnown
    return peak / cell.row["batch_size"] if peak and cell.row["device"] != "cpu" else None


def _samples_per_joule(cell: Cell) -> float | None:
    joules = cell.row["energy_per_sample_j"]
    return 1 / joules if joules else None


def _joules_per_1000_tokens(cell: Cell) -> float | None:
    row = cell.row
    return 1000 * row["energy_per_sample_j"] * row["samples_per_s"] / row["tokens_per_s"]


def _tail(cell: Cell) -> float | None:
    return cell.row["latency_p99_ms"] / cell.row["latency_p50_ms"]


def _steps_in_all(cell: Cell) -> float:
    return float(cell.row["n"] + (cell.row["warmup_steps"] or 0))


def _per_item(cell: Cell) -> float:
    return float(cell.row["samples_per_s"] / cell.row["batch_size"])


def _per_item_relative(cell: Cell) -> float:
    first = cell.facts.series(cell.row)[0]
    return _per_item(cell) / _per_item(Cell(cell.facts, first, None))


def _against_linear(cell: Cell) -> float:
    return float(cell.row["samples_per_s"] / cell.facts.series(cell.row)[0]["samples_per_s"])


def _per_doubling(cell: Cell) -> float:
    series = cell.facts.series(cell.row)
    before = series[[each["case"] for each in series].index(cell.row["case"]) - 1]
    doublings = log2(cell.row["batch_size"] / before["batch_size"])
    return float(100 * (cell.facts.throughput(before, cell.row).value ** (1 / doublings) - 1))


def operations_per_s(cell: Cell) -> float | None:
    """Return the TFLOP/s of a case: counted operations over the median step."""
    median_ms = cell.row["device_p50_ms"] or cell.row["latency_p50_ms"]
    return _flops(cell) / median_ms


def _flops(cell: Cell) -> float:
    """Return the counted operations of a step, in 10^9."""
    return float(_work(cell)["flops"]) / 1e9


def _work(cell: Cell) -> Row:
    if cell.recording is None:
        raise NotKnown
    found: Row = cell.recording.finished(cell.row["case"])["work"]
    return found


def _bytes(name: str) -> Number:
    return lambda cell: float(_work(cell)[name]) / 1e9


def _bytes_per_s(cell: Cell) -> float:
    step_ms = cell.row["device_p50_ms"] or cell.row["latency_p50_ms"]
    return float(_work(cell)["bytes_moved"]) / 1e9 * 1000 / step_ms


def peak_rate(name: str) -> Number:
    """Return the function that gives a measured peak, in GB/s or TFLOP/s."""
    size = 1e12 if name == "flops_per_s" else 1e9

    def value(cell: Cell) -> float | None:
        if cell.recording is None:
            raise NotKnown
        peaks = cell.recording.peaks(cell.row)
        return peaks[name] / size if peaks and peaks.get(name) else None

    return value


def _numbers(bounds: Callable[[Cell], tuple[float | None, float | None]]) -> Check:
    """Check two numbers, as in ``1.5 to 2.5``; one if both are shown alike."""

    def check(claim: Claim, cell: Cell, shown: str) -> None:
        low, high = bounds(cell)
        first, _, last = shown.removesuffix(" MB").partition(" to ")
        claim.require_value(first, low, "the lower end")
        claim.require_value(last or first, high, "the upper end")

    return check


def _check_halves(claim: Claim, cell: Cell, shown: str) -> None:
    found = loss_halves(cell.column("loss"))
    if cell.recording:
        _numbers(lambda _: (found[0], found[1]) if found else (None, None))(claim, cell, shown)


def _check_trend(claim: Claim, cell: Cell, shown: str) -> None:
    if cell.recording is None:
        return
    found = loss_halves(cell.column("loss"))
    trend = "not finite"
    if found:
        change = found[1] - found[0]
        trend = "no trend" if abs(change) <= 2 * found[2] else "falls" if change < 0 else "rises"
    claim.require(shown == trend, f"it is: {trend}")


def _check_loss(claim: Claim, cell: Cell, shown: str) -> None:
    if cell.row["loss"] is None:
        claim.require(shown == "not finite", "it isn't finite")
    else:
        claim.require_value(shown, cell.row["loss"], "the loss")


def _text(value: Callable[[Row], str | None]) -> Check:
    def check(claim: Claim, cell: Cell, shown: str) -> None:
        claim.require(shown == value(cell.row), f"it is {value(cell.row)}")

    return check


def _check_where(claim: Claim, cell: Cell, shown: str) -> None:
    place = "of the worker (RSS)" if cell.row["device"] == "cpu" else "on the device"
    claim.require(shown == place, f"it is {place}")


def _check_marks(claim: Claim, cell: Cell, shown: str) -> None:
    """Check that a cell has nothing but marks of the case, whole or without their numbers."""
    marks = [*cell.row["marks"], *map(mark_kind, cell.row["marks"])]
    rest = shown
    for mark in sorted(marks, key=len, reverse=True):
        rest = rest.replace(mark, "")
    claim.require(not rest.strip(" ,;…"), f"its marks are {cell.row['marks']}")


def _check_ending(claim: Claim, cell: Cell, shown: str) -> None:
    words = OUTCOMES.get(cell.row["outcome"], cell.row["outcome"])
    claim.require(shown in (words, "unfinished"), f"it is {words}")


def _option(name: str, row: Row) -> str:
    return f"{row[name]:,}" if isinstance(row[name], int) else str(row[name])


def _skip(claim: Claim, cell: Cell, shown: str) -> None:
    """Accept a fact that no JSON has."""


def _check_verdict(claim: Claim, cell: Cell, shown: str) -> None:
    claim.require(shown.partition(":")[0] in ("FASTER", "SLOWER", "SAME", "UNSURE", "REPORTED"), "no verdict")


def _check_typical_half_width(claim: Claim, cell: Cell, shown: str) -> None:
    row = cell.row
    claim.require_half_width(shown, row["latency_typical_percent"], f"{row['name']}: half the interval")
    low, high = row["latency_typical_low_ms"], row["latency_typical_high_ms"]
    half = None if low is None else 50 * (high - low) / step_ms(row)
    claim.require_half_width(shown, half, f"{row['name']}: half the interval")


def _check_share(claim: Claim, cell: Cell, shown: str) -> None:
    claim.require(parse_number(shown) <= 100, "above 100")
    if cell.recording is not None:
        rate, peak = operations_per_s(cell), peak_rate("flops_per_s")(cell)
        claim.require_value(shown, 100 * rate / peak if rate and peak else None, "the share of the peak")


def _check_speedup(claim: Claim, cell: Cell, shown: str) -> None:
    base = cell.facts.base_of(cell.row)
    value = cell.facts.throughput(base, cell.row).value if base and base is not cell.row else None
    claim.require_value(shown, value, "the speedup")


def _check_answer_base(claim: Claim, cell: Cell, shown: str) -> None:
    base = claim.reader.case(shown)
    claim.require(base["case"] == cell.row["answer_baseline"], f"it is {cell.row['answer_baseline']}")


def _percent_of(name: str) -> Check:
    return _number(lambda cell: None if cell.row[name] is None else 100 * cell.row[name])


_NUMBERS = [row for row in EXPORTED if row.is_number]
EXPORTED_NUMBERS: dict[str, Check] = {
    **{shown.heading(): _of(row.key) for row in _NUMBERS if row.short for shown in short(row.key)},
    **{row.heading(): _of(row.key) for row in _NUMBERS},
}
"""Columns whose title is that of a quantity in the exports."""
KEYS = {name.replace("_", " ").capitalize(): name for name in (*OPTIONS, "batch_size")} | {
    "Tokens": "sequence_length"
}
"""Columns of the options that name a case."""
COLUMNS: dict[str, Check] = {
    **EXPORTED_NUMBERS,
    **{title: _text(partial(_option, name)) for title, name in KEYS.items()},
    "Case": _skip,  # its row is found by it
    # steps and rates
    "Step (ms)": _number(lambda cell: step_ms(cell.row)),
    "± 95% (%)": _check_typical_half_width,
    "± 95% interval (%)": _check_half_width,
    "p99 over p50": _number(_tail),
    "Range (ms)": _numbers(lambda cell: (cell.row["latency_least_ms"], cell.row["latency_most_ms"])),
    "Time per sample (ms)": _number(lambda cell: 1000 / cell.row["samples_per_s"]),
    "95% interval (samples/s)": _numbers(
        lambda cell: (cell.row["samples_per_s_low"], cell.row["samples_per_s_high"])
    ),
    "User time (ms)": _of("user_ms"),
    "System time (ms)": _of("system_ms"),
    # memory and energy
    "Peak memory (MB)": _number(lambda cell: peak_mb(cell.row)),
    "Peak memory (GB)": _number(lambda cell: (peak_mb(cell.row) or 0.0) / 1000),
    "Where": _check_where,
    "Peak over batch (MB/sample)": _number(_peak_per_sample),
    "Each further sample (MB)": _number(_further_sample),
    "Samples/s per MB": _number(_per_mb(lambda row: row["samples_per_s"])),
    "Tokens/s per MB": _number(_per_mb(lambda row: token_rate(row)[0])),
    "95% interval (J/sample)": _numbers(
        lambda cell: (cell.row["energy_per_sample_low_j"], cell.row["energy_per_sample_high_j"])
    ),
    "Samples/J": _number(_samples_per_joule),
    "Energy (J per 1,000 tokens)": _number(_joules_per_1000_tokens),
    "Read from": _text(lambda row: row["energy_source"]),
    # scaling
    "Throughput per item (samples/s)": _number(_per_item),
    "Per item, relative to first batch size": _number(_per_item_relative),
    "Throughput relative to linear scaling": _number(_against_linear),
    "Gain per doubling (%)": _number(_per_doubling),
    "Relative to the previous size": _check_verdict,
    # limits
    "GFLOP/step": _number(_flops),
    "TFLOP/s": _number(operations_per_s),
    "Peak (TFLOP/s)": _number(peak_rate("flops_per_s")),
    "Share of the measured peak (%)": _check_share,
    "Of the measured peak (%)": _check_share,
    "GB/step, upper bound": _number(_bytes("bytes_moved")),
    "Of weights (GB/step)": _number(_bytes("bytes_of_weights")),
    "GB/s, upper bound": _number(_bytes_per_s),
    "Peak (GB/s)": _number(peak_rate("bytes_per_s")),
    # tasks
    "Prompt tokens/s (prefill)": _number(_recorded(_prompt_tokens)),
    "New tokens/s (whole step)": _of("new_tokens_per_s"),
    "Prompt and new tokens/s": _of("tokens_per_s"),
    "Tokens per text": _number(lambda cell: cell.row["tokens_per_s"] / cell.row["samples_per_s"]),
    "Pooling": _text(lambda row: row["pooling_used"]),
    "Real-time factor": _number(lambda cell: 1 / cell.row["samples_per_s"]),
    "Steps, with warm-up": _number(_steps_in_all),
    "Mean loss, first to second half": _check_halves,
    "Loss of the last step": _check_loss,
    "Trend": _check_trend,
    "Memory, allocated (MB)": _of("peak_allocated_mb"),
    # answers
    "Throughput against the baseline (×)": _check_speedup,
    "Answer": _text(lambda row: (row["answer"] or "").upper()),
    "Mean KL": _of("answer_kl_mean"),
    "KL, p99": _of("answer_kl_p99"),
    "Same top token (%)": _percent_of("answer_top1_agreement"),
    "Equal tokens (%)": _percent_of("answer_equal_tokens"),
    "Largest difference of a loss (%)": _percent_of("answer_loss_difference"),
    "Compared with": _check_answer_base,
    # how a case ended
    "No.": _number(lambda cell: cell.row["case"] + 1),
    "Node": _text(lambda row: row["node"]),
    "Outcome": _check_ending,
    "Steps": _of("n"),
    "Reason": _text(lambda row: row["reason"]),
    "Signal": _text(lambda row: row["signal"]),
    "Exit code": _of("exit_code"),
    "Last line on stderr": _text(lambda row: row["stderr_line"]),
    "Ended by": _text(lambda row: row["stop"]),
    "Marks": _check_marks,
    **dict.fromkeys(
        (
            "Answer of",
            "Attention kernel",
            "Clip",
            "Clock limited by",
            "Device busy (%)",
            "Features, p50 (ms)",
            "Forward, p50 (ms)",
            "HFU (%)",
            "Image",
            "Limited by",
            "Lowest SM clock (MHz)",
            "MFU (%)",
            "Performance state",
            "Preprocess, p50 (ms)",
            "Processor",
            "Reason if unknown",
            "Repeated",
            "Share of the measured bandwidth, upper bound (%)",
        ),
        _skip,
    ),
}
"""What a column of a table with a row for each case holds, by its title."""
IN_SECTION: dict[str, dict[str, Check]] = {
    "Generation": {
        "p90 (ms)": _number(_first_token(90, LEAST_FOR_P90)),
        "p99 (ms)": _number(_first_token(99, LEAST_FOR_P99)),
    },
}
"""Titles that mean something else in a section."""
BY_CASE = (
    "Performance metrics",
    "Scaling with batch size",
    "Generation",
    "Serving",
    "Embeddings",
    "Images",
    "Speech",
    "Training",
    "Memory",
    "Energy",
    "Limits",
    "Every case",
    "What the speed costs",
)
"""Sections of tables with a column ``Case``."""


def check_of(section: str, title: str) -> Check | None:
    """Return the check of a column; None for an unknown one."""
    return IN_SECTION.get(section, {}).get(title) or COLUMNS.get(title)
