"""GPM: activity of the units of a GPU, from its hardware counters, on Hopper and newer.

Each value is the mean between two samples of the counters. See "GPM Functions" in nvml.h.
"""

import threading
from contextlib import suppress
from math import isfinite
from typing import Any

import pynvml

from benchtui.engine.telemetry.gpu import nvml_errors

MIB = 1.048576
"""Megabytes in a mebibyte; NVML gives traffic in MiB/s."""
METRICS = {
    "compute_active_percent": (2, 1.0),
    "occupancy_percent": (3, 1.0),
    "tensor_active_percent": (5, 1.0),
    "dram_active_percent": (10, 1.0),
    "pcie_tx_mb_per_s": (20, MIB),
    "pcie_rx_mb_per_s": (21, MIB),
    "link_rx_mb_per_s": (60, MIB),
    "link_tx_mb_per_s": (61, MIB),
}
"""Number of each metric in nvml.h (nvmlGpmMetricId_t), and the factor to its unit in the journal."""
KEY = "activity"
"""Key of the reason why a GPU has none of these readings."""
_UNSUPPORTED = "the driver exposes no counters of this GPU (GPM); they require Hopper or newer"
_MIG = "not read while the GPU is partitioned by MIG"
_OLD_PACKAGE = "the installed nvidia-ml-py lacks GPM; update it"


class GpmReading:
    """Activity counters of one GPU. Thread-safe."""

    def __init__(self, mig: bool | None) -> None:
        """``mig`` is whether the GPU is partitioned by MIG."""
        self.absent: dict[str, str] = {KEY: _MIG} if mig else {}
        """Why readings are missing: all of them (``KEY``), or single ones by name."""
        self._readable = not mig
        self._query: Any = None
        self._samples: list[Any] = []
        """The older sample and the newer one."""
        self._filled = False
        """Whether the newer sample has been taken."""
        self._lock = threading.Lock()

    def read(self, handle: object) -> dict[str, float]:
        """Return the means since the last call, by name. Empty for the first call, or if they can't be read.

        Raises NVMLError if the GPU is lost.
        """
        with self._lock:
            try:
                return self._read(handle) if self._readable else {}
            except pynvml.NVMLError as error:
                if nvml_errors.is_loss(error):
                    raise
                self.absent = {KEY: nvml_errors.reason(error)}
                self._readable = not nvml_errors.is_permanent(error)
                self._filled = False
                return {}

    def close(self) -> None:
        """Free the samples."""
        with self._lock, suppress(pynvml.NVMLError):
            self._readable = False
            while self._samples:
                pynvml.nvmlGpmSampleFree(self._samples.pop())

    def _read(self, handle: object) -> dict[str, float]:
        query = self._query = self._query or self._open(handle)
        if query is None:
            return {}
        self._samples.reverse()
        query.sample1, query.sample2 = self._samples
        pynvml.nvmlGpmSampleGet(handle, self._samples[1])
        filled, self._filled = self._filled, True
        if not filled:
            return {}
        pynvml.nvmlGpmMetricsGet(query)
        return self._values(query)

    def _open(self, handle: object) -> Any:  # noqa: ANN401  (a pynvml.c_nvmlGpmMetricsGet_t, if pynvml has it)
        """Prepare a query. None if the GPU has no such counters."""
        missing = None if hasattr(pynvml, "nvmlGpmMetricsGet") else _OLD_PACKAGE
        if missing is None and not pynvml.nvmlGpmQueryDeviceSupport(handle).isSupportedDevice:
            missing = _UNSUPPORTED
        if missing is not None:
            self._readable, self.absent = False, {KEY: missing}
            return None
        query = pynvml.c_nvmlGpmMetricsGet_t()
        query.version, query.numMetrics = pynvml.NVML_GPM_METRICS_GET_VERSION, len(METRICS)
        self._samples = [pynvml.nvmlGpmSampleAlloc() for _ in range(2)]
        for place, (number, _) in enumerate(METRICS.values()):
            query.metrics[place].metricId = number
        return query

    def _values(self, query: Any) -> dict[str, float]:  # noqa: ANN401
        """Return the values of an answered query, and set the reasons for missing values."""
        values, absent = {}, {}
        for place, (name, (_, factor)) in enumerate(METRICS.items()):
            metric = query.metrics[place]
            if metric.nvmlReturn == pynvml.NVML_SUCCESS and isfinite(metric.value):
                values[name] = round(metric.value * factor, 1)
            elif metric.nvmlReturn != pynvml.NVML_SUCCESS:
                absent[name] = nvml_errors.reason(pynvml.NVMLError(metric.nvmlReturn))
        self.absent = absent
        return values
