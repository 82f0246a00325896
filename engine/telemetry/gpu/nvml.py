"""NVIDIA GPU readings through the driver's management library (NVML), without using CUDA."""

import ctypes
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

import pynvml

from benchtui.engine.telemetry.gpu import nvml_errors
from benchtui.engine.telemetry.gpu.gpm import GpmReading
from benchtui.engine.telemetry.gpu.reader import GpuSample, GpusUnavailable
from benchtui.engine.telemetry.kernel_files import kernel_text
from benchtui.sessions.payloads import Gpu

THROTTLES = {
    0x1: None,  # idle: the clock is low because there is no load
    0x2: "app_clocks",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal",
    0x40: "hw_thermal",
    0x80: "hw_power_brake",
    0x100: "display_clocks",
    0x200: "board_limit",
    0x400: "reliability",
}
"""Name of each bit of NVML's clock event reasons (nvml.h, nvmlClocksEventReasons)."""

_GA100 = (8, 0)
"""Compute capability of the newest chip whose power the driver doesn't average."""

_NO_LIBRARY = (
    "CUDA's driver is there without its management library (libnvidia-ml.so.1), as on some Jetson boards;"
    " in a container, add the capability utility (NVIDIA_DRIVER_CAPABILITIES=compute,utility)"
)

PCI_DEVICES = Path("/sys/bus/pci/devices")

T = TypeVar("T")


def open_nvml() -> "Nvml | GpusUnavailable":
    """Connect to the NVIDIA driver, or return the reason why that failed."""
    try:
        pynvml.nvmlInit()
        driver = pynvml.nvmlSystemGetDriverVersion()
        count = pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError as error:
        no_library = error.value == pynvml.NVML_ERROR_LIBRARY_NOT_FOUND
        has_driver = has_cuda_driver()
        reason = _NO_LIBRARY if no_library and has_driver else nvml_errors.reason(error)
        return GpusUnavailable(reason, has_driver=has_driver)
    if count == 0:
        return GpusUnavailable(
            f"the NVIDIA driver {driver} finds no GPU; check which GPUs this container can access",
            has_driver=has_cuda_driver(),
        )
    return Nvml(driver, count)


def has_cuda_driver() -> bool:
    """Return whether CUDA's driver library can be loaded, as on boards without NVML."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


class Nvml:
    """Open connection to the NVIDIA driver and its GPUs. Thread-safe."""

    def __init__(self, driver: str, count: int) -> None:
        self.driver = driver
        """Driver version."""
        self.absent: dict[str, str] = {}
        """GPUs that the driver lists but can't open, such as ``gpu 1``, with the reason."""
        self._devices: list[_Device] = []
        for index in range(count):
            try:
                self._devices.append(_Device(index))
            except pynvml.NVMLError as error:
                self.absent[f"gpu {index}"] = nvml_errors.reason(error)
        self._by_uuid = {device.gpu.uuid: device for device in self._devices if device.gpu.uuid}

    def gpus(self) -> tuple[Gpu, ...]:
        """Return the GPUs as described when the connection was opened."""
        return tuple(device.gpu for device in self._devices)

    def sample(self, indices: Collection[int] | None = None) -> tuple[GpuSample, ...]:
        """Sample the GPUs with these indices, or all, in the order of ``gpus()``, including lost ones."""
        wanted = (device for device in self._devices if indices is None or device.gpu.index in indices)
        return tuple(device.sample() for device in wanted)

    def processes(self, uuid: str) -> dict[int, float | None] | None:
        """Return the compute processes on a GPU: memory in MB by pid. None if unavailable.

        In a container with its own PID namespace the driver may list other pids, or none.
        """
        device = self._by_uuid.get(uuid)
        return None if device is None else device.read(device.processes.read)

    def close(self) -> None:
        """Close the connection. Later readings are None."""
        for device in self._devices:
            device.activity.close()
        with suppress(pynvml.NVMLError):  # the driver may be unloaded
            pynvml.nvmlShutdown()


class _Reading(Generic[T]):
    """One metric of one GPU, with the functions that may still work, best first."""

    def __init__(
        self, convert: Callable[[Any], T], *functions: str | Callable[..., Any], of: int | None = None
    ) -> None:
        """A function of pynvml is given by its name, since releases differ in what they have."""
        self.reason: str | None = None
        """Reason why the last read failed. None if it succeeded."""
        self.answered_by: Callable[..., Any] | None = None
        """Function that returned the latest value."""
        self._convert = convert
        named = (getattr(pynvml, name, None) if isinstance(name, str) else name for name in functions)
        self._functions = tuple(function for function in named if function)
        self._arguments = () if of is None else (of,)

    def read(self, handle: object) -> T | None:
        """Return the value, or None and set ``reason``. Raises NVMLError if the GPU is lost."""
        for function in self._functions:
            try:
                value = function(handle, *self._arguments)
            except pynvml.NVMLError as error:
                if nvml_errors.is_loss(error):
                    raise
                self.reason = nvml_errors.reason(error)
                if nvml_errors.is_permanent(error):
                    # replaced, not changed in place: another thread may be reading the same GPU
                    self._functions = tuple(other for other in self._functions if other is not function)
            else:
                self.reason, self.answered_by = None, function
                return self._convert(value)
        return None


def _instant_power_mw(handle: object) -> int:
    """Instantaneous power, also where nvmlDeviceGetPowerUsage averages."""
    value = pynvml.nvmlDeviceGetFieldValues(handle, [pynvml.NVML_FI_DEV_POWER_INSTANT])[0]
    if value.nvmlReturn != pynvml.NVML_SUCCESS:
        raise pynvml.NVMLError(value.nvmlReturn)
    return int(value.value.uiVal)


def _averages_power(handle: object) -> bool:
    """Whether nvmlDeviceGetPowerUsage averages over 1 s: on Ampere and newer, except GA100 (nvml.h)."""
    major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(handle)
    return (major, minor) > _GA100


def _memory_without_reserved(handle: object) -> pynvml.c_nvmlMemory_v2_t:
    """Memory as in nvidia-smi: memory reserved by the driver doesn't count as used."""
    return pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)


def _thousandth(value: int) -> float:
    """Convert milliwatts to watts, or millijoules to joules."""
    return value / 1000


def _mb(size: int) -> float:
    """Convert bytes to units of 10**6 bytes, rounded to a tenth."""
    return round(size / 1e6, 1)


def _memory_by_pid_mb(processes: Iterable[pynvml.nvmlFriendlyObject]) -> dict[int, float | None]:
    """Memory by pid. None if the driver reports no amount, or 0, as in some containers."""
    total: dict[int, int] = {}
    for process in processes:
        total[process.pid] = total.get(process.pid, 0) + (process.usedGpuMemory or 0)
    return {pid: _mb(size) if size else None for pid, size in total.items()}


def throttle_names(bits: int) -> str:
    """Return the throttle reasons, joined by ``+``. A bit without a name is kept as a number."""
    set_bits = (1 << place for place in range(bits.bit_length()) if bits >> place & 1)
    return "+".join(name for bit in set_bits if (name := THROTTLES.get(bit, hex(bit))))


def _p_state(number: int) -> int | None:
    """Number of the P-state. None if the driver doesn't know it."""
    return None if number == pynvml.NVML_PSTATE_UNKNOWN else number


def _first(modes: Sequence[int]) -> bool:
    """Whether a mode, such as MIG, is on now. The second value applies after the next reset."""
    return bool(modes[0])


def _pcie_link(handle: object) -> str:
    """Maximum generation, because the link slows down while idle, and current width of the link."""
    generation = pynvml.nvmlDeviceGetMaxPcieLinkGeneration(handle)
    return f"gen {generation} x{pynvml.nvmlDeviceGetCurrPcieLinkWidth(handle)}"


def numa_node(pci: pynvml.nvmlPciInfo_t, devices: Path = PCI_DEVICES) -> int | None:
    """NUMA node of the host that a PCI device is attached to. None if the kernel doesn't know it (-1).

    nvmlDeviceGetNumaNodeId is a different quantity: the node of the GPU's own memory, where it is one (nvml.h).
    """
    node = kernel_text(devices / f"{pci.domain:04x}:{pci.bus:02x}:{pci.device:02x}.0" / "numa_node")
    return int(node) if node.isdecimal() else None


class _Readings:
    """Metrics sampled from one GPU, by their names in ``GpuSample``."""

    def __init__(self) -> None:
        self.memory_used_mb = _Reading(
            lambda memory: (_mb(memory.used), _mb(memory.total)),
            _memory_without_reserved,
            "nvmlDeviceGetMemoryInfo",
        )
        self.power_w = _Reading(_thousandth, _instant_power_mw, "nvmlDeviceGetPowerUsage")
        self.power_limit_w = _Reading(_thousandth, "nvmlDeviceGetEnforcedPowerLimit")
        self.utilization_percent = _Reading(lambda rates: float(rates.gpu), "nvmlDeviceGetUtilizationRates")
        self.temperature_c = _Reading(
            float, "nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature", of=pynvml.NVML_TEMPERATURE_GPU
        )
        self.graphics_clock_mhz = _Reading(float, "nvmlDeviceGetClockInfo", of=pynvml.NVML_CLOCK_SM)
        self.memory_clock_mhz = _Reading(float, "nvmlDeviceGetClockInfo", of=pynvml.NVML_CLOCK_MEM)
        self.performance_state = _Reading(_p_state, "nvmlDeviceGetPerformanceState")
        self.throttle = _Reading(
            throttle_names,
            "nvmlDeviceGetCurrentClocksEventReasons",
            "nvmlDeviceGetCurrentClocksThrottleReasons",
        )
        self.energy_j = _Reading(_thousandth, "nvmlDeviceGetTotalEnergyConsumption")

    def absent(self) -> dict[str, str]:
        return {name: reading.reason for name, reading in vars(self).items() if reading.reason is not None}


class _Device:
    """One GPU, until the driver loses it."""

    def __init__(self, index: int) -> None:
        self._handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        name = pynvml.nvmlDeviceGetName(self._handle)
        self._loss: str | None = None
        self.readings = _Readings()
        self.processes = _Reading(
            _memory_by_pid_mb,
            "nvmlDeviceGetComputeRunningProcesses_v3",
            "nvmlDeviceGetComputeRunningProcesses_v2",
        )
        # the default SM clock of applications, or the maximum if the driver has no default
        functions = "nvmlDeviceGetDefaultApplicationsClock", "nvmlDeviceGetMaxClockInfo"
        clock = _Reading(float, *functions, of=pynvml.NVML_CLOCK_SM)
        _, total_mb = self.read(self.readings.memory_used_mb.read) or (None, None)
        self.gpu = Gpu(
            index=index,
            name=name,
            uuid=self._query(str, pynvml.nvmlDeviceGetUUID),
            memory_mb=total_mb,
            power_limit_w=self.read(self.readings.power_limit_w.read),
            mig=self._query(_first, "nvmlDeviceGetMigMode"),
            persistence=self._query(bool, "nvmlDeviceGetPersistenceMode"),
            ecc=self._query(_first, "nvmlDeviceGetEccMode"),
            pcie=self._query(str, _pcie_link),
            numa_node=self._query(numa_node, "nvmlDeviceGetPciInfo"),
            graphics_clock_mhz=self.read(clock.read),
            graphics_clock_is_highest=clock.answered_by is pynvml.nvmlDeviceGetMaxClockInfo,
            slowdown_c=self._query(
                float, "nvmlDeviceGetTemperatureThreshold", of=pynvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN
            ),
            memory_clock_mhz=self._query(float, "nvmlDeviceGetMaxClockInfo", of=pynvml.NVML_CLOCK_MEM),
            # locked clocks, a different setting, can't be read
            application_clock_mhz=self._query(float, "nvmlDeviceGetApplicationsClock", of=pynvml.NVML_CLOCK_SM),
            application_memory_clock_mhz=self._query(
                float, "nvmlDeviceGetApplicationsClock", of=pynvml.NVML_CLOCK_MEM
            ),
        )
        self.activity = GpmReading(self.gpu.mig)
        self._averages_power = self._query(bool, _averages_power) is not False
        """Whether the older power query averages. Assumed for a GPU that doesn't report its generation."""

    def read(self, read: Callable[[object], T | None]) -> T | None:
        """Return a value, or None if it can't be read. A lost GPU isn't queried again."""
        if self._loss is not None:
            return None
        try:
            return read(self._handle)
        except pynvml.NVMLError as error:
            self._loss = nvml_errors.reason(error)
            return None

    def _query(
        self, convert: Callable[[Any], T], *functions: str | Callable[..., Any], of: int | None = None
    ) -> T | None:
        """Read something that doesn't change."""
        return self.read(_Reading(convert, *functions, of=of).read)

    def sample(self) -> GpuSample:
        values: dict[str, Any] = {
            name: self.read(reading.read) for name, reading in vars(self.readings).items()
        }
        used_mb, total_mb = values.pop("memory_used_mb") or (None, None)
        values |= self.read(self.activity.read) or {}
        averaged = self.readings.power_w.answered_by is pynvml.nvmlDeviceGetPowerUsage
        return GpuSample(
            index=self.gpu.index,
            power_averaged=self._averages_power and averaged,
            memory_used_mb=used_mb,
            memory_total_mb=total_mb,
            absent=self.readings.absent() | self.activity.absent if self._loss is None else {"gpu": self._loss},
            **values,
        )
