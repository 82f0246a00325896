"""Difference between the steps of two explained cases, broken down by family and by operator."""

from collections import defaultdict

import msgspec

from benchtui.sessions.explain.cases import FAMILIES, ExplainedCase
from benchtui.sessions.profiles import FamilyName

DIGITS = 6
"""Decimals of a difference in milliseconds. Further ones are rounding errors of the sum."""


class Part(msgspec.Struct, frozen=True):
    """Difference in one family or operator, in milliseconds per step."""

    name: str
    base_ms: float | None
    """None if the case doesn't list it."""
    new_ms: float | None

    @property
    def gap_ms(self) -> float:
        """Extra time in the new case."""
        return round((self.new_ms or 0.0) - (self.base_ms or 0.0), DIGITS)


class CaseDifference(msgspec.Struct, frozen=True):
    """Difference between two cases."""

    base: ExplainedCase
    new: ExplainedCase
    measured_gap_ms: float
    """Difference between the measured steps, new minus base; between the plain steps if one wasn't recorded."""
    families: tuple[Part, ...]
    """The largest difference first. Together with the remainder they sum to the measured difference."""
    kernels: tuple[Part, ...]
    """Operators or kernels by name, the largest difference first."""

    @property
    def profiled_gap_ms(self) -> float:
        """Extra time of the profiled step of the new case: the sum of the families."""
        return sum(part.gap_ms for part in self.families)

    @property
    def remainder_ms(self) -> float:
        """Part of the measured difference that the profiles don't show."""
        return round(self.measured_gap_ms - self.profiled_gap_ms, DIGITS)

    def share(self, part: Part) -> float | None:
        """Return the share of a part in the measured difference; None if there is no difference."""
        return part.gap_ms / self.measured_gap_ms if self.measured_gap_ms else None


def difference(base: ExplainedCase, new: ExplainedCase) -> CaseDifference:
    """Compare two explained cases."""
    measured = (base.measured_ms, new.measured_ms)
    if None in measured:
        measured = (base.profile.plain_ms, new.profile.plain_ms)
    return CaseDifference(
        base=base,
        new=new,
        measured_gap_ms=round((measured[1] or 0.0) - (measured[0] or 0.0), DIGITS),
        families=_sorted([_family(name, base, new) for name in FAMILIES]),
        kernels=_sorted(_kernels(base, new)),
    )


def _family(name: FamilyName, base: ExplainedCase, new: ExplainedCase) -> Part:
    return Part(FAMILIES[name], base.ms(name), new.ms(name))


def _kernels(base: ExplainedCase, new: ExplainedCase) -> list[Part]:
    sides = [_by_name(base), _by_name(new)]
    names = dict.fromkeys((*sides[0], *sides[1]))
    return [Part(name, sides[0].get(name), sides[1].get(name)) for name in names]


def _by_name(case: ExplainedCase) -> dict[str, float]:
    total_ms: dict[str, float] = defaultdict(float)
    for kernel in case.profile.kernels:
        total_ms[kernel.name] += kernel.ms
    return dict(total_ms)


def _sorted(parts: list[Part]) -> tuple[Part, ...]:
    measured = [part for part in parts if part.base_ms or part.new_ms]
    return tuple(sorted(measured, key=lambda part: -abs(part.gap_ms)))
