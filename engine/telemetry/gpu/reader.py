"""GPU readers: the protocol that each vendor's reader implements, and the readings it returns."""

from collections.abc import Collection
from typing import Protocol

import msgspec

from benchtui.sessions.payloads import Gpu


class GpusUnavailable(msgspec.Struct, frozen=True):
    """Reason why no GPU can be read on this machine."""

    reason: str
    has_driver: bool = False
    """Whether a driver is installed all the same, so that cases may still run on a GPU."""


class GpuSample(msgspec.Struct, frozen=True, kw_only=True):
    """Readings of one GPU at one moment; None if a reading failed."""

    index: int
    power_w: float | None
    power_averaged: bool
    """Whether the driver averages the power over about a second."""
    power_limit_w: float | None
    memory_used_mb: float | None
    memory_total_mb: float | None
    utilization_percent: float | None
    temperature_c: float | None
    graphics_clock_mhz: float | None
    memory_clock_mhz: float | None
    performance_state: int | None
    """Number of the performance state, from 0 for the highest performance to 15."""
    throttle: str | None
    """Reasons for a reduced clock, joined by ``+``; empty if there are none. The name of one that makes a case
    doubtful ends in ``thermal`` or ``power_brake``; settings and limits by design are in ``CLOCK_LIMITS``."""
    energy_j: float | None
    """Running total. Only differences are meaningful."""
    absent: dict[str, str]
    """Reasons for failed readings, by field. ``gpu`` covers all of them, ``activity`` the following ones, which
    come from hardware counters."""
    compute_active_percent: float | None = None
    occupancy_percent: float | None = None
    tensor_active_percent: float | None = None
    dram_active_percent: float | None = None
    pcie_rx_mb_per_s: float | None = None
    pcie_tx_mb_per_s: float | None = None
    link_rx_mb_per_s: float | None = None
    link_tx_mb_per_s: float | None = None


class GpuReader(Protocol):
    """Open connection to a vendor's driver and its GPUs.

    Thread-safe. Its methods don't raise: a failed reading is None. Samples include the reason.
    """

    driver: str
    """Driver version."""
    absent: dict[str, str]
    """GPUs that the driver lists but can't open, such as ``gpu 1``, with the reason."""

    def gpus(self) -> tuple[Gpu, ...]:
        """Return the GPUs as described when the connection was opened."""

    def sample(self, indices: Collection[int] | None = None) -> tuple[GpuSample, ...]:
        """Sample the GPUs with these indices, or all, in the order of ``gpus()``, including lost ones."""

    def processes(self, uuid: str) -> dict[int, float | None] | None:
        """Return the compute processes on a GPU: memory in MB by pid. None if unavailable.

        The engine calls this at most once per second, because drivers may hold a lock for a long time.
        """

    def close(self) -> None:
        """Close the connection. Later readings are None."""
