"""Metrics, labels and marks of a case, computed from its row in the JSON export."""

from collections.abc import Iterable, Sequence
from math import exp, log
from statistics import fmean
from typing import Any

from benchtui.sessions.sweep.options import BY_NAME

Row = dict[str, Any]
"""A case in the JSON export."""
OPTIONS = (
    "machine",
    "device",
    "precision",
    "compile",
    "attention",
    "cache",
    "optimizer",
    "threads",
    "tokenizer_threads",
    "padding",
    "sequence_length",
)
DISTURBANCES = ("disturbed", "throttled", "clock", "shared GPU", "beside")
DTYPES = {"fp32": "float32", "tf32": "float32", "fp16": "float16", "bf16": "bfloat16", "int8": "qint8"}
OUTCOMES = {"oom": "out of memory", "running": "unfinished", "queued": "not started"}
NEEDS_BY_TITLE = {
    "Maximum throughput": "throughput",
    "Minimum latency": "latency",
    "Most throughput per MB": "memory",
    "Least energy per sample": "energy",
    "Steadiest steps": "steadiness",
    "Balanced": "balanced",
}
SPEED = ("throughput", "latency")
LONGER_TAIL = 1.1


def has_own_label(row: Row) -> bool:
    """Whether a case is named by the tool it was imported from, so that its options say nothing."""
    return " bs=" not in row["name"] or row["attention"] is None


def label(row: Row, varied: Iterable[str]) -> str:
    """Return the name of a case in a sentence."""
    shown = [f"{BY_NAME[name].prefix}{row[name] or 'default'}" for name in OPTIONS[3:-1] if name in varied]
    length = f"seq={row['sequence_length']}" if "sequence_length" in varied else ""
    machine = row["machine"] or ""
    precision = row["precision"] if row["precision"] != "unknown" else ""
    words = [machine, row["device"], precision, *shown, f"bs={row['batch_size']}", length]
    return " ".join(filter(None, words))


def key(row: Row, without: str = "") -> tuple[object, ...]:
    """Return the key of a case, optionally without one option."""
    if has_own_label(row):
        return row["name"], *(row[name] for name in ("batch_size",) if name != without)
    return tuple(row[name] for name in (*OPTIONS, "batch_size") if name != without)


def without_steps(row: Row) -> bool:
    """Whether the metrics of a case come from a source that kept no steps."""
    return row["outliers"] is None


def diverged(task: str, row: Row) -> bool:
    """Whether the loss of a training wasn't finite in the end; the JSON of such a case has none."""
    return task == "lm-train" and row["loss"] is None and not without_steps(row)


def typical(row: Row) -> float:
    """Return the typical step in milliseconds: the geometric mean of the medians of the rounds that count."""
    rounds: Sequence[float] = row.get("counted_p50_ms") or row["rounds_p50_ms"]
    if rounds:
        return exp(fmean(log(each) for each in rounds))
    return float(row["latency_mean_ms"] if without_steps(row) else row["latency_p50_ms"])


def step_ms(row: Row) -> float:
    """Return the step that a report shows: the typical one, or that of a source that kept no steps."""
    if not without_steps(row):
        return typical(row)
    return float(row["latency_mean_ms"] if row["latency_p50_ms"] is None else row["latency_p50_ms"])


def peak_mb(row: Row) -> float | None:
    """Return the highest peak: of the worker for a CPU case, else on the device."""
    if row["device"] == "cpu":
        return row["peak_rss_mb"]
    peaks = (row[f"peak_{name}_mb"] for name in ("device", "reserved", "allocated"))
    return max((each for each in peaks if each is not None), default=None)


def token_rate(row: Row) -> float | None:
    return row["tokens_per_s"] or row["padded_tokens_per_s"]


def headline_rate(task: str, row: Row) -> float:
    """Return the rate to rank a case by: new tokens, tokens of a language model, or samples."""
    tokens = token_rate(row) if task.startswith("lm-") else None
    return float(row["new_tokens_per_s"] or tokens or row["samples_per_s"] or 0.0)


def cost(name: str, row: Row) -> float | None:
    """Return the metric that a need minimizes; None if it is unknown or zero."""
    rate, peak = row["samples_per_s"], peak_mb(row)
    found = {
        "throughput": 1000 / rate if rate else None,
        "latency": step_ms(row),
        "mb": peak,
        "memory": 1000 / rate * peak if rate and peak else None,
        "energy": row["energy_per_sample_j"],
        "steadiness": row["p90_over_p50_percent"],
    }
    return found[name] or None


def balanced_figures(fit: Sequence[Row]) -> list[str]:
    """Return the metrics of the balanced need: those that all cases have."""
    return [name for name in ("throughput", "latency", "mb", "energy") if all(cost(name, row) for row in fit)]


def longer_tail(need: str, row: Row, other: Row) -> tuple[str, float, float] | None:
    """Return the highest percentile that both cases have, if it is notably longer than the other's."""
    samples = row["samples_per_step"] / other["samples_per_step"] if need == "throughput" else 1
    for name in ("p99", "p90"):
        mine, theirs = row[f"latency_{name}_ms"], other[f"latency_{name}_ms"]
        if mine is not None and theirs is not None and need in SPEED:
            return (name, mine, theirs) if mine > LONGER_TAIL * theirs * samples else None
    return None


def applied_states(row: Row, option: str) -> set[bool | None]:
    """Return whether an option was applied: every answer that the JSON, which lacks some values, allows."""
    if option == "compile":
        eager = row["cuda_graphs"] == 0 or bool(row["cuda_graph_skips"])
        return {None if row["compiled"] is None else row["compiled"] == (row["compile"] != "off") and not eager}
    if option == "attention":
        asked, used = row["attention"], row["attention_used"]
        return {True if asked == "auto" else None if used is None else used.startswith(asked)}
    if option != "precision":
        return {True, False, None}
    asked, weights, autocast = (row[name] for name in ("precision", "weights_dtype", "autocast_dtype"))
    if asked.startswith("amp-"):
        wanted = DTYPES[asked.removeprefix("amp-")]
        return {None, False} if autocast is None else {autocast.removeprefix("torch.") == wanted}
    if weights is None or asked not in DTYPES:
        return {None}
    if weights.removeprefix("torch.") != DTYPES[asked] or autocast is not None:
        return {False}
    rounded: dict[str, set[bool | None]] = {"tf32": {True, False, None}, "fp32": {True, False}}
    return rounded.get(asked, {True})


def pair_applied_states(base: Row, new: Row, option: str) -> set[bool | None]:
    pairs = [{one, other} for one in applied_states(base, option) for other in applied_states(new, option)]
    return {False if False in each else None if None in each else True for each in pairs}


def mark_kind(mark: str) -> str:
    """Return a mark without its numbers."""
    return next((name for name in (*DISTURBANCES, "page faults") if mark.startswith(name)), mark)


def changes_answer(row: Row) -> bool:
    """Whether a case of trained weights answers otherwise than its baseline."""
    return row["answer"] in ("different", "broken") and "random weights" not in row["marks"]


def comparable_memory(row: Row, base: Row) -> bool:
    """Whether two peaks are of the same kind of memory."""
    return (row["device"] == "cpu") == (base["device"] == "cpu")
