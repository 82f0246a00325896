"""Facts that the JSON export supports: metrics and names of cases, ratios, baselines, series and rankings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, inf, log, prod
from statistics import fmean
from typing import Any

from benchtui.sessions.report.overview.decision import OPTIMA
from benchtui.sessions.sweep.options import IN_NAMES

Row = dict[str, Any]
"""A case in the JSON export."""
OPTIONS = tuple(name for name in IN_NAMES if name not in ("batch_size", "model", "env", "parameters"))
DTYPES = {"fp32": "float32", "tf32": "float32", "fp16": "float16", "bf16": "bfloat16", "int8": "qint8"}
OUTCOMES = {"oom": "out of memory", "running": "unfinished", "queued": "not started"}
NEEDS_BY_TITLE = {title: need for need, title in OPTIMA.items()}
SPEED = ("throughput", "latency")
MIN_EFFECT = 0.005
"""Minimum distance of an interval from 1 for one case to be faster."""
MIN_ROUNDS = 3
SAME_WITHIN = 0.02
MAX_MARGIN = 0.05
SMALL_LEAD = 0.1
"""Lead below which a simpler case is preferred, if the lead isn't established."""
VERDICTS = {"UNSURE", "FASTER", "SLOWER", "SAME", "REPORTED"}


def has_own_label(row: Row) -> bool:
    """Whether a case is named by the tool it was imported from, so that its options say nothing."""
    return " bs=" not in row["name"] or row["attention"] is None


def key(row: Row, *without: str) -> tuple[object, ...]:
    """Return the key of a case, without some options."""
    if has_own_label(row):
        return row["name"], *(row[name] for name in ("batch_size",) if name not in without)
    return tuple(row[name] for name in (*OPTIONS, "batch_size") if name not in without)


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
    """Return the highest peak: of the worker for a CPU case, else on the device; either if that is unknown."""
    if row["device"] == "cpu":
        return row["peak_rss_mb"]
    peaks = [row[f"peak_{name}_mb"] for name in ("device", "reserved", "allocated")]
    known = [peak for peak in peaks if peak is not None]
    return max(known, default=row["peak_rss_mb"] if row["device"] == "unknown" else None)


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


def changes_answer(row: Row) -> bool:
    """Whether a case of trained weights answers otherwise than its baseline."""
    return row["answer"] in ("different", "broken") and "random weights" not in row["marks"]


def comparable_memory(row: Row, base: Row) -> bool:
    """Whether two peaks are of the same kind of memory."""
    return (row["device"] == "cpu") == (base["device"] == "cpu")


@dataclass(frozen=True)
class Pair:
    """How many times as good one case is as another; None for what no JSON says."""

    value: float
    low: float | None = None
    high: float | None = None
    verdict: str | None = None
    doubt: str | None = None
    resolution: float | None = None
    known: bool = True
    """Whether the JSON judges the pair, so that bounds that are None are known to be missing."""
    exact: bool = True
    """Whether a report shows this value rather than a mean over rounds, which the JSON lacks."""

    @property
    def words(self) -> set[str]:
        """The verdict, or every one that the bounds allow."""
        if self.verdict is not None:
            return {self.verdict}
        if self.low is None or self.high is None:
            return VERDICTS
        margin = 1 + 2 * MAX_MARGIN
        excluded = {
            "FASTER": self.low <= 1 + MIN_EFFECT,
            "SLOWER": self.high >= 1 / (1 + MIN_EFFECT),
            "SAME": self.low < 1 / margin or self.high > margin,
        }
        return {word for word in VERDICTS if not excluded.get(word)}

    @property
    def next_to_a_neighbor(self) -> bool:
        """Whether nothing bounds the ratio because of something outside the cases."""
        return self.doubt == "outside" and self.low is None

    def times(self, factor: float) -> "Pair":
        """Return the pair scaled by a factor. Its verdict is then unknown, unless it has no bounds."""
        unbounded = self.doubt == "no interval" or self.next_to_a_neighbor
        word, doubt = (self.verdict, self.doubt) if unbounded else (None, None)
        scaled = {name: end and end * factor for name, end in (("low", self.low), ("high", self.high))}
        return replace(self, value=self.value * factor, **scaled, verdict=word, doubt=doubt)


class Facts:
    """Facts of the results, by arithmetic of this package's own."""

    def __init__(self, results: Row, others: Sequence[Row], *, by_turns: bool = False) -> None:
        """Take the results. Of cases that took turns, the ratio is that of their turns, which only JSON has."""
        self._by_turns = by_turns
        self.session: Row = results["session"]
        self.rows: list[Row] = results["cases"]
        self.measured = [
            row
            for row in self.rows
            if row["outcome"] == "ok" and row["latency_mean_ms"] is not None and not row["again"]
        ]
        self._fits: dict[tuple[str, int | None], list[Row]] = {}
        self._judged: dict[tuple[int, int], Row] = {}
        for each in (*others, results):
            for row in each["cases"]:
                if row["verdict"] is not None:
                    self._judged[row["baseline"], row["case"]] = row

    def base_of(self, row: Row) -> Row | None:
        """Return the baseline of a case in the JSON."""
        return None if row["baseline"] is None else self.rows[row["baseline"]]

    def labels(self) -> dict[str, list[int]]:
        """Return the numbers of the cases by their name."""
        names = {row["name"] for row in self.rows}
        return {name: [row["case"] for row in self.rows if row["name"] == name] for name in names}

    def series(self, row: Row) -> list[Row]:
        """Return the cases that differ from this one only in batch size: the first of each, by size."""
        alike = [each for each in self.measured if each["samples_per_s"]]
        alike = [each for each in alike if key(each, "batch_size") == key(row, "batch_size")]
        found = {each["batch_size"]: each for each in reversed(alike)}
        return [found[size] for size in sorted(found)]

    def throughput(self, base: Row, new: Row) -> Pair:
        """Return the throughput ratio at typical steps."""
        value = typical(base) / typical(new) * new["samples_per_step"] / base["samples_per_step"]
        rates = base["samples_per_s"], new["samples_per_s"]
        if without_steps(base) and without_steps(new) and all(rates):
            value = rates[1] / rates[0]
        row = self._judged.get((base["case"], new["case"]))
        if row is None:
            return Pair(value, known=False)
        if self._by_turns:
            value = row["speedup"]
        seen = row["verdict_resolution_percent"]
        ends = row["speedup_low"], row["speedup_high"]
        return Pair(value, *ends, row["verdict"], row["verdict_doubt"], None if seen is None else seen / 100)

    def latency(self, base: Row, new: Row) -> Pair:
        """Return the ratio of typical steps, base over new."""
        found = self.throughput(base, new)
        scale = typical(base) / typical(new) / found.value
        if self._by_turns:
            scale = base["samples_per_step"] / new["samples_per_step"]
        return found if abs(scale - 1) < 1e-9 else found.times(scale)

    def pair(self, need: str, base: Row, new: Row, fit: Sequence[Row]) -> Pair:
        """Return how many times as good the new case is for a need. No JSON judges pairs for other needs."""
        if need in SPEED:
            return self.throughput(base, new) if need == "throughput" else self.latency(base, new)
        if need == "memory" and max(base["ended_rounds"], new["ended_rounds"]) == 1:
            return self.throughput(base, new).times((peak_mb(base) or 0.0) / (peak_mb(new) or inf))
        names = (
            ["throughput", "mb"]
            if need == "memory"
            else balanced_figures(fit)
            if need == "balanced"
            else [need]
        )
        over_rounds = min(base["rounds"], new["rounds"]) >= MIN_ROUNDS and {"energy", "steadiness"} & {*names}
        return Pair(prod(self._ratio(name, base, new) for name in names), known=False, exact=not over_rounds)

    def _ratio(self, name: str, base: Row, new: Row) -> float:
        if name in SPEED:
            return self.pair(name, base, new, ()).value
        return (cost(name, base) or 0.0) / (cost(name, new) or inf)

    def fit(self, need: str, length: int | None) -> list[Row]:
        """Return the cases to choose from, the best first."""
        if (need, length) not in self._fits:
            task = self.session["task"]
            works = [row for row in self.measured if length in (None, row["sequence_length"])]
            able = [row for row in works if not diverged(task, row) and (need == "balanced" or cost(need, row))]
            able = [row for row in able if not changes_answer(row)] or able
            if need == "steadiness":  # only among those that are as fast as the fastest
                fastest = self.fit("throughput", length)
                able = [row for row in able if self.near("throughput", row, fastest) is not False]
            self._fits[need, length] = sorted(able, key=lambda row: self.costs(need, row, able))
        return self._fits[need, length]

    def costs(self, need: str, row: Row, fit: Sequence[Row]) -> float:
        names = balanced_figures(fit) if need == "balanced" else (need,)
        return prod(cost(name, row) or 0.0 for name in names)

    def near(self, need: str, row: Row, fit: Sequence[Row]) -> bool | None:
        """Whether the best case's lead over this one is negligible; None if no JSON says."""
        pair = self.pair(need, row, fit[0], fit)
        lead = max(pair.value - 1, self.costs(need, row, fit) / self.costs(need, fit[0], fit) - 1)
        if lead >= SMALL_LEAD or row is fit[0]:
            return row is fit[0]
        if pair.verdict is None or (pair.verdict == "UNSURE" and pair.doubt is None and lead >= SAME_WITHIN):
            return None
        return pair.verdict != "FASTER" and lead < (SAME_WITHIN if pair.doubt == "no interval" else SMALL_LEAD)
