"""Check every cell of the tables with a row for each case. An unknown table or column is an objection."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import log2
from statistics import fmean

from .cases import OUTCOMES, PRECISIONS, Row, comparable_memory, matches_title, peak_mb, token_rate
from .claims import Claim, Reader
from .facts import Facts
from .recording import LEAST_FOR_P90, LEAST_FOR_P99, Recording, loss_halves, percentile
from .report_text import NUMBER, Part, parse_mb, parse_number


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


DATA_SHEETS = {
    "Tesla T4": {"fp32": 8.1, "fp16": 65.0},
    "NVIDIA A100-SXM4-80GB": {"fp32": 19.5, "tf32": 156.0, "fp16": 312.0, "bf16": 312.0},
    "NVIDIA H100 80GB HBM3": {"fp32": 67.0, "tf32": 494.7, "fp16": 989.4, "bf16": 989.4},
    "NVIDIA H200": {"fp32": 67.0, "tf32": 494.7, "fp16": 989.4, "bf16": 989.4},
}
"""Dense rates by NVIDIA's data sheets in 10^12 operations per second, of the GPUs in recorded sessions."""


CLOCK_LIMITS = ("app_clocks", "sw_power_cap", "sync_boost", "display_clocks", "board_limit", "reliability")
"""The driver's reasons for a limited clock that isn't throttled."""


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


def _per_token(cell: Cell) -> float | None:
    times = cell.column("part_decode_ms")
    return percentile(times, 50) / (cell.new_tokens - 1) if cell.new_tokens > 1 else None


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
    """Return the GFLOP/s of a case: counted operations over the median step."""
    step_ms = cell.row["device_p50_ms"] or cell.row["latency_p50_ms"]
    return _flops(cell) * 1000 / step_ms


def utilization(cell: Cell) -> float | None:
    """Return the percentage of the rate by the GPU's data sheet that a case reaches; None without one."""
    if cell.recording is None:
        raise NotKnown
    sheet = DATA_SHEETS.get(str(cell.recording.gpu_name(cell.row)), {})
    peak, rate = sheet.get(cell.row["precision"].removeprefix("amp-")), operations_per_s(cell)
    return 100 * rate / 1000 / peak if rate and peak else None


def _utilization_of(recomputing: bool) -> Check:
    """Check MFU, or HFU, which counts the operations that the backward pass runs again."""

    def check(claim: Claim, cell: Cell, shown: str) -> None:
        if cell.recording is None:
            return
        again = cell.recording.recomputes(cell.facts.rows)
        claim.require(again is recomputing, "operations that run again count in HFU alone")
        claim.require_value(shown, utilization(cell), f"of {cell.row['name']}: a cell")

    return check


UTILIZATION: dict[str, Check] = {"MFU (%)": _utilization_of(False), "HFU (%)": _utilization_of(True)}


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
    """Return the function that gives a measured peak, in 10^9 per second."""

    def value(cell: Cell) -> float | None:
        if cell.recording is None:
            raise NotKnown
        peaks = cell.recording.peaks(cell.row)
        return peaks[name] / 1e9 if peaks and peaks.get(name) else None

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


def _check_memory(name: str) -> Check:
    def check(claim: Claim, cell: Cell, shown: str) -> None:
        number, unit = parse_mb(shown)
        value = cell.row[name]
        claim.require_value(number, None if value is None else value / unit, name)

    return check


def _text(value: Callable[[Row], str | None]) -> Check:
    def check(claim: Claim, cell: Cell, shown: str) -> None:
        claim.require(shown == value(cell.row), f"it is {value(cell.row)}")

    return check


def _check_where(claim: Claim, cell: Cell, shown: str) -> None:
    place = "of the worker (RSS)" if cell.row["device"] == "cpu" else "on the device"
    claim.require(shown == place, f"it is {place}")


def _check_marks(claim: Claim, cell: Cell, shown: str) -> None:
    rest = shown
    for mark in sorted(cell.row["marks"], key=len, reverse=True):
        rest = rest.replace(mark, "")
    claim.require(not rest.strip(" ,;…"), f"its marks are {cell.row['marks']}")


def _check_ending(claim: Claim, cell: Cell, shown: str) -> None:
    words = OUTCOMES.get(cell.row["outcome"], cell.row["outcome"])
    claim.require(shown in (words, "unfinished"), f"it is {words}")


def _check_graphs(claim: Claim, cell: Cell, shown: str) -> None:
    names = ("graphs", "graph_breaks", "recompiles", "cuda_graphs", "cuda_graph_skips")
    known = [cell.row[name] for name in names if cell.row[name]] or [0]
    claim.require([parse_number(each) for each in re.findall(NUMBER, shown)] == known, f"they are {known}")


def _check_clock_limits(claim: Claim, cell: Cell, shown: str) -> None:
    """Check the recorded reasons that neither heat nor the power supply causes."""
    if cell.recording is None:
        return
    reasons = (cell.recording.finished(cell.row["case"])["environment"] or {}).get("throttle", ())
    limits = ", ".join(reason for reason in reasons if reason in CLOCK_LIMITS).replace("_", " ")
    claim.require(shown == limits, f"it is {limits}")


def _skip(claim: Claim, cell: Cell, shown: str) -> None:
    """Accept a fact that no JSON has."""


def _check_verdict(claim: Claim, cell: Cell, shown: str) -> None:
    claim.require(shown.partition(":")[0] in ("faster", "slower", "same", "unsure", "reported"), "no verdict")


GENERATION: dict[str, Check] = {
    "Time to first token, p50 (ms)": _of("time_to_first_token_p50_ms"),
    "p90 (ms)": _number(_first_token(90, LEAST_FOR_P90)),
    "p99 (ms)": _number(_first_token(99, LEAST_FOR_P99)),
    "Time per output token, p50 (ms)": _of("time_per_output_token_p50_ms"),
    "Prompt tokens/s (prefill)": _number(_recorded(_prompt_tokens)),
    "New tokens/s (whole step)": _of("new_tokens_per_s"),
    "KV cache (MB)": _of("kv_cache_mb"),
    "Drafted tokens accepted (%)": _of("draft_acceptance_percent"),
}
_RATE: dict[str, Check] = {
    "Samples/s": _of("samples_per_s"),
    "Time per sample (ms)": _number(lambda cell: 1000 / cell.row["samples_per_s"]),
}
SERVING: dict[str, Check] = {
    **{
        f"{title}, {percentile} (ms)": _of(f"{field}_{percentile}_ms")
        for title, field in (
            ("First token", "time_to_first_token"),
            ("Between tokens", "time_per_output_token"),
            ("Request", "request"),
        )
        for percentile in ("p50", "p90", "p99")
    },
    **_RATE,
    "New tokens/s": _of("new_tokens_per_s"),
    "Prompt and new tokens/s": _of("tokens_per_s"),
    "KV cache (MB)": _of("kv_cache_mb"),
}
EMBEDDINGS: dict[str, Check] = {
    **_RATE,
    "Tokens/s": _of("tokens_per_s"),
    "Tokens per text": _number(lambda cell: cell.row["tokens_per_s"] / cell.row["samples_per_s"]),
    "Pooling": _text(lambda row: row["pooling_used"]),
}
IMAGES: dict[str, Check] = {
    **_RATE,
    **dict.fromkeys(("Preprocess, p50 (ms)", "Forward, p50 (ms)", "Image", "Processor"), _skip),
}
SPEECH: dict[str, Check] = {
    **_RATE,
    "Real-time factor": _number(lambda cell: 1 / cell.row["samples_per_s"]),
    **dict.fromkeys(("Features, p50 (ms)", "Forward, p50 (ms)", "Clip"), _skip),
}
TRAINING: dict[str, Check] = {
    "Steps, with warm-up": _number(_steps_in_all),
    "Mean loss, first to second half": _check_halves,
    "Loss of the last step": _check_loss,
    "Trend": _check_trend,
    "Memory, allocated": _check_memory("peak_allocated_mb"),
    "Reserved": _check_memory("peak_reserved_mb"),
}
LATENCY: dict[str, Check] = {
    "n": _of("n"),
    "Latency, mean (ms)": _of("latency_mean_ms"),
    "p50 (ms)": _of("latency_p50_ms"),
    "± 95% interval (%)": _check_half_width,
    "p90 (ms)": _of("latency_p90_ms"),
    "p99 (ms)": _of("latency_p99_ms"),
    "Std (ms)": _of("latency_std_ms"),
    "Jitter (%)": _of("jitter_percent"),
    "Throughput (samples/s)": _of("samples_per_s"),
    "95% interval (samples/s)": _numbers(
        lambda cell: (cell.row["samples_per_s_low"], cell.row["samples_per_s_high"])
    ),
    "Tokens/s": _of("tokens_per_s"),
    "Tokens/s with padding": _of("padded_tokens_per_s"),
    "New tokens/s": _of("new_tokens_per_s"),
    "CPU memory, peak RSS (MB)": _of("peak_rss_mb"),
    "GPU memory, peak allocated (MB)": _of("peak_allocated_mb"),
    "GPU memory, peak reserved (MB)": _of("peak_reserved_mb"),
    "GPU memory, peak used on the device (MB)": _of("peak_device_mb"),
    "Mean power (W)": _of("mean_power_w"),
    "Energy (J/sample)": _of("energy_per_sample_j"),
}
MEMORY: dict[str, Check] = {
    "Peak memory (MB)": _number(lambda cell: peak_mb(cell.row)),
    "Lowest round (MB)": _of("peak_memory_low_mb"),
    "Where": _check_where,
    "Peak over batch (MB/sample)": _number(_peak_per_sample),
    "Each further sample (MB)": _number(_further_sample),
    "Samples/s per MB": _number(_per_mb(lambda row: row["samples_per_s"])),
    "Tokens/s per MB": _number(_per_mb(lambda row: token_rate(row)[0])),
}
ENERGY: dict[str, Check] = {
    "Mean power (W)": _of("mean_power_w"),
    "Energy (J/sample)": _of("energy_per_sample_j"),
    "95% interval (J/sample)": _numbers(
        lambda cell: (cell.row["energy_per_sample_low_j"], cell.row["energy_per_sample_high_j"])
    ),
    "Samples/J": _number(_samples_per_joule),
    "Energy (J per 1,000 tokens)": _number(_joules_per_1000_tokens),
    "Over the window (J)": _of("energy_j"),
    "Read from": _text(lambda row: row["energy_source"]),
}
JITTER: dict[str, Check] = {
    "n": _of("n"),
    "Std (ms)": _of("latency_std_ms"),
    "Jitter (%)": _of("jitter_percent"),
    "p99 over p50": _number(_tail),
    "Range (ms)": _numbers(lambda cell: (cell.row["latency_least_ms"], cell.row["latency_most_ms"])),
    "Between rounds (%)": _of("between_rounds_percent"),
    "Outliers": _of("outliers"),
}
SCALING: dict[str, Check] = {
    "Throughput (samples/s)": _of("samples_per_s"),
    "Throughput per item (samples/s)": _number(_per_item),
    "Per item, relative to first batch size": _number(_per_item_relative),
    "Throughput relative to linear scaling": _number(_against_linear),
    "Gain per doubling (%)": _number(_per_doubling),
    "Relative to the previous size": _check_verdict,
}
LIMITS: dict[str, Check] = {
    "GFLOP/step": _number(_flops),
    "GFLOP/s": _number(operations_per_s),
    "Peak (GFLOP/s)": _number(peak_rate("flops_per_s")),
    "Share of the measured peak (%)": _skip,  # ``check_roofline`` computes it from the cells before it
    **UTILIZATION,
    "GB/step, upper bound": _number(_bytes("bytes_moved")),
    "Of weights (GB/step)": _number(_bytes("bytes_of_weights")),
    "GB/s, upper bound": _number(_bytes_per_s),
    "Peak (GB/s)": _number(peak_rate("bytes_per_s")),
    "Share of the measured bandwidth, upper bound (%)": _skip,
    "Device busy (%)": _skip,
    "Host, p50 (ms)": _of("host_p50_ms"),
    "Attention kernel": _skip,
    "Limited by": _skip,
    "Reason if unknown": _skip,
}
EVERY_CASE: dict[str, Check] = {
    "No.": _number(lambda cell: cell.row["case"] + 1),
    "Node": _text(lambda row: row["node"]),
    "Outcome": _check_ending,
    "Steps": _of("n"),
    "Reason": _text(lambda row: row["reason"]),
    "Signal": _text(lambda row: row["signal"]),
    "Exit code": _of("exit_code"),
    "Last line on stderr": _text(lambda row: row["stderr_line"]),
    "Ended by": _text(lambda row: row["stop"]),
    "Outliers": _of("outliers"),
    "CPU use of other processes (%)": _of("others_cpu_percent"),
    "Lowest SM clock (MHz)": _skip,
    "Clock limited by": _check_clock_limits,
    "Memory clock (MHz)": _of("memory_clock_mhz"),
    "Performance state": _skip,
    "Processor clock (MHz)": _of("processor_mhz"),
    "Highest temperature (°C)": _of("temperature_c"),
    "Repeated": _skip,
    "Graphs": _check_graphs,
    "GPU utilization, as imported (%)": _of("reported_gpu_utilization_percent"),
    "Call of torch.compile, before it compiles (s)": _of("reported_compile_call_s"),
    "Marks": _check_marks,
}
DISTURBED: dict[str, Check] = {"Marks": _check_marks, "Repeated": _skip}
BY_CASE: dict[str, Mapping[str, Check]] = {
    "Generation": GENERATION,
    "Serving": SERVING,
    "Embeddings": EMBEDDINGS,
    "Images": IMAGES,
    "Speech": SPEECH,
    "Training": TRAINING,
    "Memory": MEMORY,
    "Energy": ENERGY,
    "Jitter": JITTER,
    "Limits": LIMITS,
    "Every case": EVERY_CASE,
    "Disturbed cases": DISTURBED,
}
"""Tables with a column ``Case``."""
BY_BATCH_SIZE = {"Performance metrics": LATENCY, "Scaling with batch size": SCALING}
"""Tables of a series, with a column ``Batch size``."""
ELSEWHERE = (
    "Tried",
    "Decision",
    "Results",
    "What each option brings",
    "What the speed costs",
    "Leaderboard",
    "Precision gain",
    "Compile gain",
    "Where a step's time goes",
)
"""Sections whose tables have checks of their own."""
WITHOUT_NUMBERS = ("Method", "System information", "Warnings", "Out of memory")
"""Sections whose tables quote facts that no JSON has."""


def check_tables(reader: Reader, part: Part) -> None:
    """Check the tables of a heading; one that isn't known is an objection."""
    if not part.tables:
        return
    section = part.section
    if section in BY_CASE:
        check_rows(reader, part, BY_CASE[section], lambda row: reader.case(row["Case"]), "Case")
    elif section in BY_BATCH_SIZE:
        named = all("Case" in row for row in part.rows)  # by the tool that they were imported from
        find = partial(_named, reader) if named else partial(_in_series, reader, part)
        check_rows(reader, part, BY_BATCH_SIZE[section], find, "Case" if named else "Batch size")
    elif section == "Step breakdown":
        _check_parts(reader, part)
    elif section in ("Device speedup", "Machine comparison"):
        _check_speedups(reader, part, section.split()[0].lower())
    elif section == "Anomalies":
        for row in part.rows:
            reader.case(row["Case"])
    elif section not in (*ELSEWHERE, *WITHOUT_NUMBERS) and not section.endswith(" gain"):
        reader.objections.append(f"{section}: a table that no check knows")


def check_rows(
    reader: Reader,
    part: Part,
    columns: Mapping[str, Check],
    find: Callable[[dict[str, str]], Row | None],
    key: str,
) -> None:
    for row in part.rows:
        case, claim = find(row), reader.claim(part.section, str(row))
        for title, shown in row.items():
            if title in columns and case:
                columns[title](claim, Cell(reader.facts, case, reader.recording), shown)
            else:
                claim.require(title == key, f"unknown column: {title}")


def _named(reader: Reader, row: dict[str, str]) -> Row:
    return reader.case(row["Case"])


def _in_series(reader: Reader, part: Part, row: dict[str, str]) -> Row | None:
    """Return the case of a row by the heading, if it can be only one."""
    size = parse_number(row["Batch size"])
    found = [
        case for case in reader.facts.measured if case["batch_size"] == size and matches_title(case, part.title)
    ]
    if len(found) != 1:
        reader.objections.append(f"{part.section}, {part.title}: {len(found)} cases of batch size {size:g}")
        return None
    return found[0]


def _check_parts(reader: Reader, part: Part) -> None:
    for row in part.rows:
        case, claim = reader.case(row["Case"]), reader.claim(part.section, str(row))
        for title, shown in row.items():
            if match := re.fullmatch(r"(.+) \((ms|%)\)", title):
                mean = case["parts_ms"][match[1]]["mean"]
                value = mean if match[2] == "ms" else 100 * mean / case["latency_mean_ms"]
                claim.require_value(shown, value, f"{case['name']}: {title}")
            else:
                claim.require(title == "Case", f"unknown column: {title}")
        if reader.recording:
            for name, spread in case["parts_ms"].items():
                times = reader.recording.column(case["case"], f"part_{name}_ms")
                claim.require(abs(spread["mean"] / fmean(times) - 1) < 1e-6, f"{name} is {fmean(times)}")


def _check_speedups(reader: Reader, part: Part, option: str) -> None:
    """Check the ratios between two devices or machines."""
    for row in part.rows:
        claim = reader.claim(part.section, str(row))
        sides = [_speedup_side(reader, row, option, row[f"{side} {option}"]) for side in ("Baseline", "Target")]
        if len(sides[0]) != 1 or len(sides[1]) != 1:
            claim.require(sides[0] and sides[1], "no such cases")
            continue
        (base,), (new,) = sides
        claim.require_value(
            row["Throughput speedup (×)"], reader.facts.throughput(base, new).value, "the throughput"
        )
        claim.require_value(row["Latency speedup (×)"], reader.facts.latency(base, new).value, "the latency")


def _speedup_side(reader: Reader, row: dict[str, str], option: str, value: str) -> list[Row]:
    """Return the cases that one side of a row may stand for."""
    return [
        case
        for case in reader.facts.measured
        if case["batch_size"] == parse_number(row["Batch size"])
        and PRECISIONS.get(case["precision"], case["precision"].upper()) == row["Precision"]
        and case[option] == value
        and all(
            row.get(title, str(case[name])) == str(case[name])
            for title, name in (("Tokens", "sequence_length"), ("Compile", "compile"), ("Threads", "threads"))
        )
    ]
