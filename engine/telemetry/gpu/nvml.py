"""NVIDIA GPU readings through the driver's management library (NVML), without using CUDA."""

import ctypes
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

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
Value = TypeVar("Value", covariant=True)


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
        return None if device is None else device.read(device.processes)

    def close(self) -> None:
        """Close the connection. Later readings are None."""
        for device in self._devices:
            device.activity.close()
        with suppress(pynvml.NVMLError):  # the driver may be unloaded
            pynvml.nvmlShutdown()


class _Readable(Protocol[Value]):
    """A metric that can be read from one GPU."""

    def read(self, handle: object) -> Value | None:
        """Return the value, or None. Raises NVMLError if the GPU is lost."""
        ...


class _Reading(Generic[T]):
    """One metric of one GPU, with the functions that may still work, best first."""

    def __init__(
        self, convert: Callable[[Any], T], *functions: Callable[..., Any], of: int | None = None
    ) -> None:
        self.reason: str | None = None
        """Reason why the last read failed. None if it succeeded."""
        self.answered_by: Callable[..., Any] | None = None
        """Function that returned the latest value."""
        self._convert = convert
        self._functions = functions
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


def _known(*names: str) -> tuple[Callable[..., Any], ...]:
    """Return the pynvml functions that the installed release has. They vary with the CUDA version."""
    return tuple(getattr(pynvml, name) for name in names if hasattr(pynvml, name))


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


def _used_and_total_mb(memory: pynvml.c_nvmlMemory_t) -> tuple[float, float]:
    return _mb(memory.used), _mb(memory.total)


def _utilization_percent(rates: pynvml.c_nvmlUtilization_t) -> float:
    return float(rates.gpu)


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


def _is_mig(modes: Sequence[int]) -> bool:
    """Whether MIG is on now. The second mode applies after the next reset."""
    return bool(modes[0] == pynvml.NVML_DEVICE_MIG_ENABLE)


def _first(modes: Sequence[int]) -> bool:
    """Whether a mode is on now. The second value applies after the next reset."""
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


def _application_clock(kind: int) -> _Reading[float]:
    """Requested application clock, of SM or memory. NVML can't read locked clocks, a different setting."""
    return _Reading(float, *_known("nvmlDeviceGetApplicationsClock"), of=kind)


def _default_clock() -> _Reading[float]:
    """Default SM clock of applications, or the maximum if the driver has no default."""
    functions = _known("nvmlDeviceGetDefaultApplicationsClock", "nvmlDeviceGetMaxClockInfo")
    return _Reading(float, *functions, of=pynvml.NVML_CLOCK_SM)


def _slowdown_temperature() -> _Reading[float]:
    """Temperature in degrees Celsius at which the hardware slows the clocks down."""
    functions = _known("nvmlDeviceGetTemperatureThreshold")
    return _Reading(float, *functions, of=pynvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN)


class _Readings:
    """Metrics sampled from one GPU, by their names in ``GpuSample``."""

    def __init__(self) -> None:
        self.power_w = _Reading(_thousandth, _instant_power_mw, *_known("nvmlDeviceGetPowerUsage"))
        self.power_limit_w = _Reading(_thousandth, *_known("nvmlDeviceGetEnforcedPowerLimit"))
        self.memory_used_mb = _Reading(
            _used_and_total_mb, _memory_without_reserved, *_known("nvmlDeviceGetMemoryInfo")
        )
        self.utilization_percent = _Reading(_utilization_percent, *_known("nvmlDeviceGetUtilizationRates"))
        self.temperature_c = _Reading(
            float,
            *_known("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature"),
            of=pynvml.NVML_TEMPERATURE_GPU,
        )
        self.graphics_clock_mhz = _Reading(float, *_known("nvmlDeviceGetClockInfo"), of=pynvml.NVML_CLOCK_SM)
        self.memory_clock_mhz = _Reading(float, *_known("nvmlDeviceGetClockInfo"), of=pynvml.NVML_CLOCK_MEM)
        self.performance_state = _Reading(_p_state, *_known("nvmlDeviceGetPerformanceState"))
        self.throttle = _Reading(
            throttle_names,
            *_known("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"),
        )
        self.energy_j = _Reading(_thousandth, *_known("nvmlDeviceGetTotalEnergyConsumption"))

    def absent(self) -> dict[str, str]:
        """Return the reasons for missing readings, by name."""
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
            *_known("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"),
        )
        clock = _default_clock()
        highest_memory_clock = _Reading(float, *_known("nvmlDeviceGetMaxClockInfo"), of=pynvml.NVML_CLOCK_MEM)
        _, total_mb = self.read(self.readings.memory_used_mb) or (None, None)
        self.gpu = Gpu(
            index=index,
            name=name,
            uuid=self.read(_Reading(str, pynvml.nvmlDeviceGetUUID)),
            memory_mb=total_mb,
            power_limit_w=self.read(self.readings.power_limit_w),
            mig=self.read(_Reading(_is_mig, *_known("nvmlDeviceGetMigMode"))),
            persistence=self.read(_Reading(bool, *_known("nvmlDeviceGetPersistenceMode"))),
            ecc=self.read(_Reading(_first, *_known("nvmlDeviceGetEccMode"))),
            pcie=self.read(_Reading(str, _pcie_link)),
            numa_node=self.read(_Reading(numa_node, *_known("nvmlDeviceGetPciInfo"))),
            graphics_clock_mhz=self.read(clock),
            graphics_clock_is_highest=clock.answered_by is pynvml.nvmlDeviceGetMaxClockInfo,
            slowdown_c=self.read(_slowdown_temperature()),
            memory_clock_mhz=self.read(highest_memory_clock),
            application_clock_mhz=self.read(_application_clock(pynvml.NVML_CLOCK_SM)),
            application_memory_clock_mhz=self.read(_application_clock(pynvml.NVML_CLOCK_MEM)),
        )

        self.activity = GpmReading(self.gpu.mig)
        self._averages_power = self.read(_Reading(bool, _averages_power)) is not False
        """Whether the older power query averages. Assumed for a GPU that doesn't report its generation."""

    def read(self, reading: "_Readable[T]") -> T | None:
        """Return a value, or None if it can't be read. A lost GPU isn't queried again."""
        if self._loss is not None:
            return None
        try:
            return reading.read(self._handle)
        except pynvml.NVMLError as error:
            self._loss = nvml_errors.reason(error)
            return None

    def sample(self) -> GpuSample:
        """Read every metric once."""
        readings = self.readings
        used_mb, total_mb = self.read(readings.memory_used_mb) or (None, None)
        activity = self.read(self.activity) or {}
        return GpuSample(
            index=self.gpu.index,
            power_w=self.read(readings.power_w),
            power_averaged=self._averages_power
            and readings.power_w.answered_by is pynvml.nvmlDeviceGetPowerUsage,
            power_limit_w=self.read(readings.power_limit_w),
            memory_used_mb=used_mb,
            memory_total_mb=total_mb,
            utilization_percent=self.read(readings.utilization_percent),
            temperature_c=self.read(readings.temperature_c),
            graphics_clock_mhz=self.read(readings.graphics_clock_mhz),
            memory_clock_mhz=self.read(readings.memory_clock_mhz),
            performance_state=self.read(readings.performance_state),
            throttle=self.read(readings.throttle),
            energy_j=self.read(readings.energy_j),
            **activity,
            absent=readings.absent() | self.activity.absent if self._loss is None else {"gpu": self._loss},
        )
