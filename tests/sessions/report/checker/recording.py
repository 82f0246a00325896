"""A session file read without benchtui's code: its events, and its steps as ``export --steps`` writes them."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose, isfinite, sqrt
from statistics import fmean, stdev, variance

import numpy as np

from .facts import Row

LEAST_FOR_P90, LEAST_FOR_P99 = 20, 100


@dataclass(frozen=True)
class Recording:
    """Measured steps by case, and the events."""

    steps: dict[int, list[dict[str, str]]]
    events: list[Row]

    @classmethod
    def parse(cls, steps_csv: str, session_json: str) -> "Recording":
        found: dict[int, list[dict[str, str]]] = {}
        for row in csv.DictReader(io.StringIO(steps_csv)):
            if row["phase"] == "measure":
                found.setdefault(int(row["case"]), []).append(row)
        return cls(found, json.loads(session_json))

    def column(self, case: int, name: str) -> list[float]:
        """Return a column of a case's steps, without empty cells.

        Rounds that were measured next to a neighbor don't count if the case has others.
        """
        steps = self.steps.get(case, [])
        quiet = [row for row in steps if int(row["round"]) not in self._shared_rounds(case)]
        return [float(row[name]) for row in quiet or steps if row.get(name)]

    def only_next_to_a_neighbor(self, case: int) -> bool:
        rounds = {int(row["round"]) for row in self.steps.get(case, [])}
        return bool(rounds) and rounds <= self._shared_rounds(case)

    def _shared_rounds(self, case: int) -> set[int]:
        kinds = ("round_finished", "case_finished")
        ends = [each for each in self.events if each["event"] in kinds and each["case"] == case]
        return {place for place, end in enumerate(ends) if _is_shared(end.get("environment") or {})}

    def finished(self, case: int) -> Row:
        """Return the event that ended a case."""
        return next(e for e in self.events if e["event"] == "case_finished" and e["case"] == case)

    def peaks(self, row: Row) -> Row:
        """Return the peaks that were measured for a case's device, precision and threads; empty without."""
        wanted = (row["device"], row["precision"].removeprefix("amp-"))
        peaks = [each for each in self.events if each["event"] == "peaks"]
        fitting = [each for each in peaks if (each["device"], each["precision"]) == wanted]
        return next((each for each in fitting if each.get("threads", 0) in (row["threads"], 0)), {})

    def gpu(self, case: int) -> str:
        """Return the name of a case's GPU. Raises KeyError without one."""
        names = {gpu["uuid"]: str(gpu["name"]) for gpu in self.events[0]["host"]["gpus"]}
        prepared = (e for e in self.events if e["event"] == "case_prepared" and e["case"] == case)
        return names[next(prepared).get("gpu_uuid", "")]


def _is_shared(around: Row) -> bool:
    """Return whether others used a twentieth of the processors, or the GPU, if nothing was read while idle."""
    others = around.get("others_cpu_percent") or 0.0
    return bool(others >= 5 * (around.get("processors") or 1) or around.get("gpu_processes"))


def loss_halves(losses: Sequence[float]) -> tuple[float, float, float] | None:
    """Return the mean loss of both halves, and the standard error of their difference."""
    if len(losses) < 4 or not all(map(isfinite, losses)):
        return None
    halves = losses[: len(losses) // 2], losses[len(losses) // 2 :]
    error = sqrt(sum(variance(half) / len(half) for half in halves))
    return fmean(halves[0]), fmean(halves[1]), error


def objections_to_results(recording: Recording, rows: Sequence[Row]) -> list[str]:
    """Return which results don't follow from the steps."""
    found = []
    for row in rows:
        if row["outcome"] != "ok" or not recording.steps.get(row["case"]):
            continue
        for name, value in _metrics(recording, row).items():
            shown = row["parts_ms"][name[5:]]["mean"] if name.startswith("part:") else row[name]
            if not (value == shown if None in (value, shown) else isclose(value or 0, shown, rel_tol=1e-6)):
                found.append(f"{row['name']}: {name} is {value}, not {shown}")
    return found


def _metrics(recording: Recording, row: Row) -> dict[str, float | None]:
    """Compute the metrics of a case from its steps."""
    case, samples = row["case"], row["samples_per_step"]
    times = recording.column(case, "wall_ms")
    tokens, losses = recording.column(case, "tokens"), recording.column(case, "loss")
    n, seconds = len(times), sum(times) / 1000
    return {
        "n": n,
        "latency_mean_ms": fmean(times),
        "latency_p50_ms": float(np.percentile(times, 50)),
        "latency_p90_ms": float(np.percentile(times, 90)) if n >= LEAST_FOR_P90 else None,
        "latency_p99_ms": float(np.percentile(times, 99)) if n >= LEAST_FOR_P99 else None,
        "latency_std_ms": stdev(times) if n > 1 else None,
        "jitter_percent": 100 * stdev(times) / fmean(times) if n > 1 else None,
        "latency_least_ms": min(times),
        "latency_most_ms": max(times),
        "samples_per_s": n * samples / seconds,
        "tokens_per_s": sum(tokens) / seconds if tokens else None,
        "loss": losses[-1] if losses and isfinite(losses[-1]) else None,
        **{f"part:{name}": fmean(recording.column(case, f"part_{name}_ms")) for name in row["parts_ms"]},
    }
