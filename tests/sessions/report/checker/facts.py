"""Facts that the JSON export supports: ratios, baselines, series and rankings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, log, prod

from .cases import (
    MAX_MARGIN,
    MIN_ROUNDS,
    OPTIONS,
    SAME_WITHIN,
    SMALL_LEAD,
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

    def times(self, factor: float) -> "Pair":
        """Return the pair scaled by a factor. Its verdict is then unknown, unless it has no bounds."""
        unbounded = self.doubt == "no interval" or (self.doubt == "outside" and self.low is None)
        word, doubt = (self.verdict, self.doubt) if unbounded else (None, None)
        scaled = {name: end and end * factor for name, end in (("low", self.low), ("high", self.high))}
        return replace(self, value=self.value * factor, **scaled, verdict=word, doubt=doubt)


class Facts:
    """Facts of the results, by arithmetic of this package's own."""

    def __init__(self, results: Row, others: Sequence[Row], same_within: float) -> None:
        self.session: Row = results["session"]
        self.rows: list[Row] = results["cases"]
        self.same_within = same_within
        self.ok = [row for row in self.rows if row["outcome"] == "ok"]
        with_figures = [row for row in self.ok if row["latency_mean_ms"] is not None]
        self.measured = [row for row in with_figures if not row["again"]]
        self.again = next((row for row in with_figures if row["again"]), None)
        self._fits: dict[tuple[str, int | None], list[Row]] = {}
        self._judged: dict[tuple[int, int], Row] = {}
        for each in (*others, results):
            for row in each["cases"]:
                if row["verdict"] is not None:
                    self._judged[row["baseline"], row["case"]] = row

    def of_length(self, length: int | None) -> list[Row]:
        return [row for row in self.measured if length in (None, row["sequence_length"])]

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

    def aa_pair(self) -> tuple[Row, Row] | None:
        """Return both measurements of a case that was measured twice; None if there is none."""
        first = next((row for row in self.measured if self.again and key(row) == key(self.again)), None)
        return (first, self.again) if first and self.again else None

    def margin(self, row: Row) -> float:
        """Return the equivalence margin: wider if equal cases differ on that kind of device."""
        pair, kind = self.aa_pair(), row["device"].partition(":")[0]
        if pair is None or pair[0]["device"].partition(":")[0] != kind:
            return self.same_within
        floor = abs(log(typical(pair[1]) / typical(pair[0])))
        return max(self.same_within, min(2 * floor, MAX_MARGIN))

    def series(self, row: Row) -> list[Row]:
        """Return the cases that differ from this one only in batch size: the first of each, by size."""
        alike = [each for each in self.measured if each["samples_per_s"]]
        alike = [each for each in alike if key(each, "batch_size") == key(row, "batch_size")]
        found = {each["batch_size"]: each for each in reversed(alike)}
        return [found[size] for size in sorted(found)]

    def throughput(self, base: Row, new: Row) -> Pair:
        """Return the throughput ratio at typical steps."""
        steps, samples = typical(base) / typical(new), new["samples_per_step"] / base["samples_per_step"]
        rates, reported = (
            (base["samples_per_s"], new["samples_per_s"]),
            without_steps(base) and without_steps(new),
        )
        value = rates[1] / rates[0] if reported and all(rates) else steps * samples
        row = self._judged.get((base["case"], new["case"]))
        if row is None:
            return Pair(value, known=False)
        seen = row["verdict_resolution_percent"]
        resolution = None if seen is None else seen / 100
        return Pair(
            value, row["speedup_low"], row["speedup_high"], row["verdict"], row["verdict_doubt"], resolution
        )

    def latency(self, base: Row, new: Row) -> Pair:
        """Return the ratio of typical steps, base over new."""
        found = self.throughput(base, new)
        scale = typical(base) / typical(new) / found.value
        return found if abs(scale - 1) < 1e-9 else found.times(scale)

    def pair(self, need: str, base: Row, new: Row, fit: Sequence[Row]) -> Pair:
        """Return how many times as good the new case is for a need. No JSON judges pairs for other needs."""
        if need in SPEED:
            return self._ratio(need, base, new)
        if need == "memory" and max(base["ended_rounds"], new["ended_rounds"]) == 1:
            return self.throughput(base, new).times((peak_mb(base) or 0.0) / (peak_mb(new) or inf))
        names = (
            balanced_figures(fit)
            if need == "balanced"
            else ["throughput", "mb"]
            if need == "memory"
            else [need]
        )
        over_rounds = min(base["rounds"], new["rounds"]) >= MIN_ROUNDS and not {
            "energy",
            "steadiness",
        }.isdisjoint(names)
        return Pair(
            prod(self._ratio(name, base, new).value for name in names), known=False, exact=not over_rounds
        )

    def _ratio(self, name: str, base: Row, new: Row) -> Pair:
        if name in SPEED:
            return self.throughput(base, new) if name == "throughput" else self.latency(base, new)
        return Pair((cost(name, base) or 0.0) / (cost(name, new) or inf), known=False)

    def fit(self, need: str, length: int | None) -> list[Row]:
        """Return the cases to choose from, the best first."""
        if (need, length) not in self._fits:
            sound = [row for row in self.of_length(length) if not diverged(self.session["task"], row)]
            able = [row for row in sound if need == "balanced" or cost(need, row)]
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
