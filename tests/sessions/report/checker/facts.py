"""Facts that the JSON export supports: ratios, baselines, series and rankings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, prod

from .cases import (
    OPTIONS,
    SPEED,
    Row,
    balanced_figures,
    changes_answer,
    cost,
    diverged,
    has_own_label,
    key,
    label,
    peak_mb,
    typical,
    without_steps,
)

MIN_EFFECT = 0.005
"""Minimum distance of an interval from 1 for one case to be faster."""
MIN_ROUNDS = 3
SAME_WITHIN = 0.02
MAX_MARGIN = 0.05
SMALL_LEAD = 0.1
"""Lead below which a simpler case is preferred, if the lead isn't established."""
VERDICTS = {"UNSURE", "FASTER", "SLOWER", "SAME", "REPORTED"}


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

    def __init__(self, results: Row, others: Sequence[Row]) -> None:
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
        """Return every way to write a case, with the numbers of the cases it may stand for."""
        varied = [name for name in OPTIONS if len({row[name] for row in self.rows}) > 1]
        found: dict[str, set[int]] = {}
        for row in self.rows:
            found.setdefault(row["name"], set()).add(row["case"])
            if not row["again"] and not has_own_label(row):
                found.setdefault(label(row, varied), set()).add(row["case"])
        return {text: sorted(numbers) for text, numbers in found.items()}

    def names(self, case: int) -> set[str]:
        return {name for name, numbers in self.labels().items() if case in numbers}

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
        seen = row["verdict_resolution_percent"]
        ends = row["speedup_low"], row["speedup_high"]
        return Pair(value, *ends, row["verdict"], row["verdict_doubt"], None if seen is None else seen / 100)

    def latency(self, base: Row, new: Row) -> Pair:
        """Return the ratio of typical steps, base over new."""
        found = self.throughput(base, new)
        scale = typical(base) / typical(new) / found.value
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

    def contends(self, need: str, row: Row, best: Row, fit: Sequence[Row]) -> bool | None:
        """Whether a case is near the best one, or may be better; None if no JSON says."""
        pair, near = self.pair(need, row, best, fit), self.near(need, row, fit)
        if near is not False:
            return near
        doubtful = pair.words & ({"UNSURE", "REPORTED"} if pair.value < 1 + SMALL_LEAD else {"UNSURE"})
        return bool(doubtful) if not doubtful or pair.words == doubtful else None
