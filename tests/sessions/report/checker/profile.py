"""Recorded profile of a case, read without benchtui's code."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .cases import Row
from .recording import Recording

FAMILIES = {
    "matrix products": "matmul",
    "attention": "attention",
    "normalization and elementwise": "elementwise",
    "embedding and gather": "gather",
    "copies and casts": "copy",
    "optimizer": "optimizer",
    "collectives": "collective",
    "tokenizer": "tokenizer",
    "DataLoader": "input",
    "compiling": "compile",
    "other operators": "other",
    "Python and launch gaps": "python",
    "waiting": "wait",
}


@dataclass(frozen=True)
class Profile:
    """A recorded profile, with the metrics of its case."""

    row: Row
    found: Row
    changed: list[str]
    peaks: Row
    absent: str | None
    """Why there is no profile."""

    @property
    def step_ms(self) -> float:
        return float(self.found["step_ms"])

    @property
    def plain_ms(self) -> float:
        return float(self.found["plain_ms"])

    @property
    def measured_ms(self) -> float | None:
        return self.row["latency_p50_ms"]  # type: ignore[no-any-return]

    @property
    def kernels(self) -> list[Row]:
        return self.found.get("kernels", [])  # type: ignore[no-any-return]

    @property
    def by_name(self) -> Counter[str]:
        """Time of the kernels by name."""
        total = Counter[str]()
        for each in self.kernels:
            total[each["name"]] += each["ms"]
        return total

    def family(self, name: str) -> Row:
        """Return the time and launches of a family."""
        known = (each for each in self.found["families"] if each["family"] == name)
        return next(known, {"ms": 0.0, "launches": 0.0})

    def ms(self, *families: str) -> float:
        return sum(self.family(each)["ms"] for each in families)

    @property
    def memory(self) -> Row:
        return self.found.get("memory", {})  # type: ignore[no-any-return]


def profiles_of(events: Sequence[Row], rows: Sequence[Row]) -> dict[int, Profile]:
    """Return the newest profile of each explained case, or why there is none."""
    peaks = Recording({}, list(events)).peaks
    return {
        each["case"]: Profile(
            rows[each["case"]],
            each.get("profile") or {},
            each.get("changed", []),
            peaks(rows[each["case"]]) or {},
            each.get("absent"),
        )
        for each in events
        if each["event"] == "explained"
    }
