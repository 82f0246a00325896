"""Parser of numbers with units: durations such as ``1h30m``, and the limits of ``benchtui optimal``."""

import re
from collections.abc import Mapping
from functools import cache

_LONGEST = 100
"""Maximum characters of a quantity: the pattern takes quadratic time for many spaces."""


def parse_quantity(text: str, units: Mapping[str, float], *, whole: bool = False) -> float | None:
    """Parse numbers with units into the unit whose factor is 1. Return None if the text isn't valid.

    Args:
        text: Each unit at most once, the largest first: ``1h30m``, ``1.5 h``, ``8GB``. Case matters.
        units: Allowed units and their factors.
        whole: Accept only whole numbers of at most nine ASCII digits.
    """
    ordered = tuple(sorted(units, key=lambda unit: units[unit], reverse=True))
    match = _pattern(ordered, whole).fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if match is None or not any(match.groups()):
        return None
    return sum(float(part or 0) * units[unit] for part, unit in zip(match.groups(), ordered, strict=True))


@cache
def _pattern(units: tuple[str, ...], whole: bool) -> re.Pattern[str]:
    number = r"([0-9]{1,9})" if whole else r"(\d+(?:\.\d+)?)"
    return re.compile(" *".join(f"(?:{number} *{unit})?" for unit in units))
