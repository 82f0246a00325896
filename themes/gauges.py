"""Look of the gauges: the color roles of a machine's text and bars, and the loads at which they change.

The characters of a bar are in ``symbols.py``, the color of each role in the themes' TOML files.
"""

from typing import Literal

Standing = Literal["own", "shared", "foreign", "other", "plain"]
"""Who uses a device: the shown case, that case and other processes, other processes, neither, or unknown."""
TEXT_ROLES: dict[Standing, str] = {
    "own": "bright",
    "shared": "warning",
    "foreign": "warning",
    "other": "muted",
    "plain": "plain",
}
SEVERE = ("warning", "bad")
"""Roles of a reading near or beyond its limit."""
BAR_ROLES = ("accent", "good", "soft", "faint")
"""Roles of bars and sparklines alone."""

MEMORY_WARNING, MEMORY_CRITICAL = 0.90, 0.97
"""Fractions of memory in use from which a case may soon run out of it."""
POWER_CAPPED = 0.98
"""Fraction of the power limit from which the limit lowers the clock."""
HOT_C = 10.0
"""Distance from the throttling temperature, in degrees, from which a GPU is hot."""
