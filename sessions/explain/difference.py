"""Difference between the steps of two explained cases, broken down by family and by operator."""

from collections import defaultdict

import msgspec

from benchtui.sessions.explain.cases import FAMILIES, ExplainedCase

DIGITS = 9
"""Decimals of a difference in milliseconds. Further ones are rounding errors of the sum."""


class Part(msgspec.Struct, frozen=True):
    """Difference in one family or operator, in milliseconds per step or per sample."""

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
    whole_ms: tuple[float, float]
    """Those steps themselves."""
    families: tuple[Part, ...]
    """The largest difference first. Together with the remainder they sum to the measured difference."""
    kernels: tuple[Part, ...]
    """Operators or kernels by name, the largest difference first."""
    per_sample: bool = False
    """Whether all times are per sample, because the steps of the cases have unlike numbers of samples."""

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
    """Compare two explained cases: their steps, or their samples if a step of one has more of them."""
    sizes = base.case.samples_per_step, new.case.samples_per_step
    per_sample = sizes[0] != sizes[1] and min(sizes) > 0
    per = sizes if per_sample else (1, 1)
    whole = _whole(base, new, per)
    return CaseDifference(
        base=base,
        new=new,
        measured_gap_ms=round(whole[1] - whole[0], DIGITS),
        whole_ms=whole,
        families=_sorted([_part(FAMILIES[name], (base.ms(name), new.ms(name)), per) for name in FAMILIES]),
        kernels=_sorted(_kernels(base, new, per)),
        per_sample=per_sample,
    )


def _whole(base: ExplainedCase, new: ExplainedCase, per: tuple[int, int]) -> tuple[float, float]:
    """Return the measured times of both cases, or those of the plain steps if one wasn't recorded."""
    measured = (base.measured_ms, new.measured_ms)
    if None in measured:
        measured = (base.profile.plain_ms, new.profile.plain_ms)
    return (measured[0] or 0.0) / per[0], (measured[1] or 0.0) / per[1]


def _part(name: str, times_ms: tuple[float | None, float | None], per: tuple[int, int]) -> Part:
    return Part(name, *(None if ms is None else ms / size for ms, size in zip(times_ms, per, strict=True)))


def _kernels(base: ExplainedCase, new: ExplainedCase, per: tuple[int, int]) -> list[Part]:
    sides = [_by_name(base), _by_name(new)]
    names = dict.fromkeys((*sides[0], *sides[1]))
    return [_part(name, (sides[0].get(name), sides[1].get(name)), per) for name in names]


def _by_name(case: ExplainedCase) -> dict[str, float]:
    total_ms: dict[str, float] = defaultdict(float)
    for kernel in case.profile.kernels:
        total_ms[kernel.title] += kernel.ms
    return dict(total_ms)


def _sorted(parts: list[Part]) -> tuple[Part, ...]:
    measured = [part for part in parts if part.base_ms or part.new_ms]
    return tuple(sorted(measured, key=lambda part: -abs(part.gap_ms)))
