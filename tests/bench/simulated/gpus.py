"""Model of a GPU over time: power with its limit, clock, temperature and throttling."""

import math
from dataclasses import dataclass, field
from random import Random

from simulated.llama import BOOST_MHZ, IDLE_W, POWER_LIMIT_W

IDLE_MHZ = 345
INLET_C = 30.0
CELSIUS_PER_W = 0.062
"""Thermal resistance: 73 degrees at 700 W."""
BLOCKED_CELSIUS_PER_W = 0.092
"""The same while the airflow is blocked."""
TEMPERATURE_S, POWER_S = 4.0, 0.35
"""Time constants."""
SLOWDOWN_C, RESUME_C = 86.0, 80.0
"""Temperatures at which software slows the GPU down, and at which it lets go."""
SLOWED_MHZ = 1650
POWER_EXPONENT = 2.4
"""Power above idle grows with this power of the clock: voltage falls with it."""


@dataclass(frozen=True, slots=True)
class Load:
    """Work on a GPU."""

    dynamic_w: float = 0.0
    """Power above idle while busy, at the boost clock and without the limit."""
    busy: float = 0.0
    """Share of the time in which a kernel runs."""
    memory_mb: float = 0.0


@dataclass(slots=True)
class Gpu:
    """State of one GPU, and its readings so far."""

    index: int
    random: Random
    load: Load = Load()
    blocked: bool = False
    """Whether its airflow is blocked."""
    power_w: float = IDLE_W
    temperature_c: float = INLET_C + CELSIUS_PER_W * IDLE_W
    energy_j: float = 0.0
    slowed: bool = False
    """Whether it is throttled because it is too hot."""
    readings: dict[str, list[float | str]] = field(default_factory=dict)

    @property
    def clock_mhz(self) -> float:
        """SM clock, as far as power limit and heat allow."""
        if not self.load.busy:
            return IDLE_MHZ
        wanted_w = self.load.dynamic_w * self.load.busy
        room = min(1.0, (POWER_LIMIT_W - IDLE_W) / wanted_w) if wanted_w else 1.0
        return min(BOOST_MHZ * room ** (1 / POWER_EXPONENT), SLOWED_MHZ if self.slowed else BOOST_MHZ)

    @property
    def throttle(self) -> str:
        """Reasons that hold the clock down, as the driver's reader names them."""
        capped = self.load.dynamic_w * self.load.busy > POWER_LIMIT_W - IDLE_W
        reasons = {"sw_power_cap": capped and not self.slowed, "sw_thermal": self.slowed}
        return "+".join(name for name, holds in reasons.items() if holds)

    def advance(self, span_s: float) -> None:
        """Advance power, temperature and the energy counter."""
        share = (self.clock_mhz / BOOST_MHZ) ** POWER_EXPONENT if self.load.busy else 0.0
        target_w = IDLE_W + self.load.dynamic_w * self.load.busy * share
        before_w = self.power_w
        self.power_w += (target_w - self.power_w) * (1 - math.exp(-span_s / POWER_S))
        self.energy_j += span_s * (before_w + self.power_w) / 2
        resistance = BLOCKED_CELSIUS_PER_W if self.blocked else CELSIUS_PER_W
        target_c = INLET_C + resistance * self.power_w
        self.temperature_c += (target_c - self.temperature_c) * (1 - math.exp(-span_s / TEMPERATURE_S))
        self.slowed = self.temperature_c > (RESUME_C if self.slowed else SLOWDOWN_C)

    def settle(self) -> None:
        """Go on until power and temperature are steady; the energy counter starts from there."""
        for _ in range(round(20 * TEMPERATURE_S / POWER_S)):
            self.advance(POWER_S)
        self.energy_j = 0.0

    def read(self) -> None:
        """Append a sample, as the driver rounds it."""
        noise, busy = self.random.gauss, self.load.busy
        sample = {
            "power_w": round(min(self.power_w + noise(0, 0.6 + 5 * busy), POWER_LIMIT_W + 4)),
            "memory_used_mb": round(self.load.memory_mb),
            "utilization_percent": min(100, max(0, round(100 * busy + (noise(0, 1.2) if busy else 0)))),
            "temperature_c": round(self.temperature_c),
            "graphics_clock_mhz": 15 * round((self.clock_mhz - (abs(noise(0, 6)) if busy else 0)) / 15),
            "throttle": self.throttle,
            "energy_j": round(self.energy_j),
        }
        for name, value in sample.items():
            self.readings.setdefault(name, []).append(value)
