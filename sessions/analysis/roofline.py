"""Roofline model: how close a case comes to the peaks of its device, and what limits it.

A step can't be shorter than its arithmetic at the peak rate of matrix products, nor than its bytes at the peak
rate of copies (Williams, Waterman, Patterson: Roofline, CACM 52(4), 2009).

Model FLOPs utilization (MFU) is relative to the peak rates of NVIDIA's data sheets: dense rates without
sparsity, with float32 accumulation, at boost clock. Sources: data sheets of V100, T4, A10, A30, A40, A100, RTX
A6000, L4, L40, L40S, H100, H200, GH200 and DGX B200, and the whitepapers on Ampere GA102, Ada and Blackwell for
GeForce and RTX 6000 Ada.
"""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Literal, NamedTuple

import msgspec
from msgspec import structs

from benchtui.sessions.events import Peaks
from benchtui.sessions.payloads import Effective, StepCost
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.stats.evidence import computed_metrics
from benchtui.sessions.stats.noise import gpu_busy_share
from benchtui.sessions.stats.quantiles import per_second
from benchtui.sessions.sweep import Config

TERA = 1e12


class DataSheet(msgspec.Struct, frozen=True):
    """Peak rates of a GPU model, in 10**12 operations per second; None if it doesn't support the precision."""

    fp32: float
    tf32: float | None
    fp16: float
    bf16: float | None

    def flops_per_s(self, precision: str) -> float | None:
        """Return the peak rate of a precision (one of ``PEAK_PRECISIONS``) in operations per second."""
        rate: float | None = getattr(self, precision)
        return None if rate is None else rate * TERA


_V100_SXM = DataSheet(15.7, None, 125.0, None)
_V100_PCIE = DataSheet(14.0, None, 112.0, None)
_A100 = DataSheet(19.5, 156.0, 312.0, 312.0)
_H100_SXM = DataSheet(67.0, 494.7, 989.4, 989.4)
_H100_NVL = DataSheet(60.0, 417.5, 835.5, 835.5)

DATA_SHEETS = {
    "Tesla V100-SXM2-16GB": _V100_SXM,
    "Tesla V100-SXM2-32GB": _V100_SXM,
    "Tesla V100-PCIE-16GB": _V100_PCIE,
    "Tesla V100-PCIE-32GB": _V100_PCIE,
    "Tesla T4": DataSheet(8.1, None, 65.0, None),
    "NVIDIA A10": DataSheet(31.2, 62.5, 125.0, 125.0),
    "NVIDIA A30": DataSheet(10.3, 82.0, 165.0, 165.0),
    "NVIDIA A40": DataSheet(37.4, 74.8, 149.7, 149.7),
    "NVIDIA A100-SXM4-40GB": _A100,
    "NVIDIA A100-SXM4-80GB": _A100,
    "NVIDIA A100-PCIE-40GB": _A100,
    "NVIDIA A100 80GB PCIe": _A100,
    "NVIDIA RTX A6000": DataSheet(38.7, 77.4, 154.8, 154.8),
    "NVIDIA GeForce RTX 3090": DataSheet(35.6, 35.6, 71.0, 71.0),
    "NVIDIA L4": DataSheet(30.3, 60.0, 121.0, 121.0),
    "NVIDIA L40": DataSheet(90.5, 90.5, 181.0, 181.0),
    "NVIDIA L40S": DataSheet(91.6, 183.0, 362.0, 362.0),
    "NVIDIA RTX 6000 Ada Generation": DataSheet(91.1, 182.1, 364.2, 364.2),
    "NVIDIA GeForce RTX 4090": DataSheet(82.6, 82.6, 165.2, 165.2),
    "NVIDIA H100 80GB HBM3": _H100_SXM,
    "NVIDIA H100 PCIe": DataSheet(51.0, 378.0, 756.0, 756.0),
    "NVIDIA H100 NVL": _H100_NVL,
    "NVIDIA H200": _H100_SXM,
    "NVIDIA H200 NVL": _H100_NVL,
    "NVIDIA GH200 480GB": _H100_SXM,
    "NVIDIA B200": DataSheet(75.0, 1125.0, 2250.0, 2250.0),
    "NVIDIA GeForce RTX 5090": DataSheet(104.8, 104.8, 209.5, 209.5),
}
"""Data sheets by the driver's name of the GPU."""


def data_sheet(name: str | None) -> DataSheet | None:
    """Return the data sheet of a GPU by the driver's name; None if it isn't listed, as for a MIG slice."""
    return DATA_SHEETS.get(name or "")


Bound = Literal["arithmetic", "memory", "host"]

PEAK_PRECISIONS = ("fp32", "tf32", "fp16", "bf16")
"""Precisions with a measured peak. Autocast computes in one of them, int8 in none."""
LEAST_BUSY = 0.8
"""Minimum busy share of the device in a step. Below it, the case is host-bound."""
LEAST_HOST = 0.9
"""Minimum share of launching in a step for the case to be host-bound, if busy time is unknown."""
LONGEST_LAUNCH_MS = 30.0
"""Longest step for that rule. In a longer one, the host may wait because the launch queue is full."""
LEAST_SHARE = 0.25
"""Share of a limit below which something else dominates, such as launching many small operations."""

OVER = "exceeded by a case: measured on a disturbed machine or at a lower clock, so it isn't a peak"
UNTYPICAL = "batches differ in width, and the counted one isn't typical"
UNFUSED = ("eager", "sdpa-math", "math")
"""Attention that keeps its scores for the backward pass: implementations, and the kernel."""
UNCOUNTED = "step cost not counted"
UNMEASURED = "peaks not measured"
NEITHER = f"below {LEAST_SHARE:.0%} of both: something else takes most of a step"
EITHER = "arithmetic or memory: caches may save some of the bytes"


class PeakKey(NamedTuple):
    """Key of the peaks of a case: device, precision and threads."""

    device: str
    precision: str
    """One of ``PEAK_PRECISIONS``."""
    threads: int
    """Requested threads; 0 is torch's default, and the value for every GPU."""


class Shares(msgspec.Struct, frozen=True):
    """Fractions of a step; None if an input is missing."""

    arithmetic: float | None
    """Time of the step's operations at the measured peak rate of matrix products."""
    memory: float | None
    """Time of the step's bytes at the peak rate of copies. An upper bound, which exceeds 1 if caches help."""
    weights: float | None
    """The same for the weights only. A lower bound, because only the largest caches can store all weights."""
    busy: float | None
    """Time in which the device was busy; None on a CPU."""


class Limit(msgspec.Struct, frozen=True):
    """A case compared with the peaks of its device."""

    work: StepCost
    peaks: Peaks | None
    step_ms: float
    """Median step, timed by the device's clock if it has one."""
    flops_per_s: float | None
    bytes_per_s: float | None
    """Operations and bytes of a step over its time. Bytes are an upper bound, see ``StepCost.bytes_moved``."""
    shares: Shares
    bound: Bound | None
    """Limit of the case; None if unclear."""
    reason: str | None
    """Why ``bound`` is None."""


def peak_key(config: Config) -> PeakKey | None:
    """Return the key of the peaks that apply to a case; None for a precision without any."""
    precision = config.precision.removeprefix("amp-")
    if precision not in PEAK_PRECISIONS:
        return None
    return PeakKey(config.device, precision, config.threads if config.device == "cpu" else 0)


def limit(case: CaseState, peaks: Iterable[Peaks]) -> Limit | None:
    """Compare a case with the peaks of its session; None if its work wasn't counted."""
    work, step_ms = case.finished.work if case.finished else None, _step_ms(case)
    if work is None or not step_ms:
        return None
    own_peaks, typical = peaks_of(case, peaks), work.is_typical
    flops_per_s, bytes_per_s, weights_per_s = (
        per_second(amount, step_ms) if typical else None
        for amount in (work.flops, work.bytes_moved, work.bytes_of_weights)
    )
    flops_peak, bytes_peak = (own_peaks.flops_per_s, own_peaks.bytes_per_s) if own_peaks else (None, None)
    shares = Shares(
        arithmetic=_share(flops_per_s, flops_peak),
        memory=_share(bytes_per_s, bytes_peak),
        weights=_share(weights_per_s, bytes_peak),
        busy=gpu_busy_share(case, step_ms),
    )
    bound = "host" if _launch_bound(case, work, step_ms) else _bound(shares)
    reason = None if bound else _reason(shares, work, own_peaks)
    return Limit(work, own_peaks, step_ms, flops_per_s, bytes_per_s, shares, bound, reason)


def sound_peaks(cases: Iterable[CaseState], peaks: Sequence[Peaks]) -> tuple[Peaks, ...]:
    """Return the peaks of a session without the rates that one of its cases exceeded.

    Such a rate isn't a peak. The burst rate replaces it, unless a case exceeded that too. Only the bytes of the
    weights are compared, a lower bound, so that a cache can't explain the excess.
    """
    shares: dict[int, dict[str, float]] = {}
    for case in cases:
        case_limit = limit(case, peaks)
        if case_limit is None or case_limit.peaks is None:
            continue
        most = shares.setdefault(id(case_limit.peaks), {})
        for name, share in (("flops", case_limit.shares.arithmetic), ("bytes", case_limit.shares.weights)):
            most[name] = max(most.get(name, 0.0), share or 0.0)
    return tuple(_sound(rates, shares.get(id(rates), {})) for rates in peaks)


def _sound(peaks: Peaks, shares: dict[str, float]) -> Peaks:
    """Replace the exceeded rates; ``shares`` has the largest share of each rate that a case reached."""
    for name in (name for name, share in shares.items() if share > 1):
        rate, burst = getattr(peaks, f"{name}_per_s"), getattr(peaks, f"{name}_burst_per_s")
        changes: dict[str, float | None] = {f"{name}_per_s": None}
        absent = {**peaks.absent, name: OVER}
        if burst is not None and shares[name] * rate <= burst:
            changes, absent = {f"{name}_per_s": burst}, peaks.absent
        peaks = structs.replace(peaks, **changes, absent=absent)
    return peaks


def _step_ms(case: CaseState) -> float | None:
    if metrics := computed_metrics(case):
        return (metrics.device_ms or metrics.latency_ms).median
    times_ms = case.measured.device_ms or case.measured.wall_ms
    return median(times_ms) if times_ms else None


def _launch_bound(case: CaseState, work: StepCost, step_ms: float) -> bool:
    """Return whether even the fastest launch of a step takes about as long as a step, without a profiler.

    Applies only to steps known not to wait for the device, because host time would include the waits.
    """
    if work.busy_ms is not None or work.waits != 0 or step_ms > LONGEST_LAUNCH_MS:
        return False
    metrics = computed_metrics(case)
    host_ms = metrics.host_ms if metrics else None
    least_ms = host_ms.least if host_ms else min(case.measured.host_ms, default=None)
    return least_ms is not None and least_ms >= LEAST_HOST * step_ms


def peaks_of(case: CaseState, peaks: Iterable[Peaks]) -> Peaks | None:
    """Return the newest peaks recorded before the case ended; a resumed session measures them again."""
    key = peak_key(case.config)
    own = [rates for rates in peaks if rates.node == case.node]
    matching = [rates for rates in own if (rates.device, rates.precision, rates.threads) == key]
    before = [rates for rates in matching if case.finished is None or rates.t <= case.finished.t]
    return next(reversed(before or matching), None)


def context_power_w(peaks: Iterable[Peaks], node: str | None) -> dict[str, float]:
    """Return the power of each idle GPU of a node while a process had a CUDA context on it."""
    powers = ((rates.device, rates.context_power_w) for rates in peaks if rates.node == node)
    return {device: power_w for device, power_w in powers if power_w is not None}


def model_flops_utilization(case_limit: Limit, config: Config, gpu: str | None) -> float | None:
    """Return the share of the data sheet's peak; None for a GPU or precision without one.

    If recomputed operations count too, it is hardware FLOPs utilization (HFU), see ``counts_recomputation``.
    See PaLM (arXiv 2204.02311, appendix B).
    """
    sheet, key = data_sheet(gpu), peak_key(config)
    return _share(case_limit.flops_per_s, sheet.flops_per_s(key.precision) if sheet and key else None)


def counts_recomputation(case: CaseState, config: Config) -> bool:
    """Return whether the counted operations of a case include recomputed ones. ``config`` is the resolved one.

    Activation checkpointing computes the forward pass again. The backward pass of fused attention computes the
    scores again, and is counted as five products instead of four, as by torch's ``flop_counter``.
    """
    if config.activation_checkpointing == "on":
        return True
    work, used = case.finished.work if case.finished else None, (case.effective or Effective()).attention
    if work is None or used in UNFUSED or "backward" not in case.parts:
        return False
    kernels = work.attention or (used,)  # those of compiled code are unknown without a profile
    return any(kernel not in (None, *UNFUSED) for kernel in kernels)


def _share(rate: float | None, peak: float | None) -> float | None:
    return rate / peak if rate is not None and peak else None


def _bound(shares: Shares) -> Bound | None:
    """Return the limit that a step is closest to; None if the counts are ambiguous."""
    if shares.busy is not None and shares.busy < LEAST_BUSY:
        return "host"
    arithmetic, memory, weights = shares.arithmetic, shares.memory, shares.weights
    if arithmetic is None or memory is None or not max(arithmetic, memory) >= LEAST_SHARE or arithmetic > 1:
        return None
    if arithmetic >= memory:
        return "arithmetic"
    return "memory" if weights is not None and weights >= arithmetic else None


def _reason(shares: Shares, work: StepCost, peaks: Peaks | None) -> str:
    if not work.is_typical:
        return UNTYPICAL
    if shares.arithmetic is not None and shares.memory is not None:
        if shares.arithmetic > 1:
            return OVER
        return NEITHER if max(shares.arithmetic, shares.memory) < LEAST_SHARE else EITHER
    if work.flops is None or work.bytes_moved is None:
        return _first(work.absent) or UNCOUNTED
    return f"peak not measured: {_first(peaks.absent) or UNMEASURED}" if peaks else UNMEASURED


def _first(reasons: dict[str, str]) -> str | None:
    """Return the first reason why flops or bytes are missing."""
    return next((reasons[name] for name in ("flops", "bytes") if name in reasons), None)
