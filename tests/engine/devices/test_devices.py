import warnings
from time import sleep
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import torch

from benchtui.engine.devices import oom, process_memory
from benchtui.engine.devices.base import Lap, sum_parts
from benchtui.engine.devices.cuda import Cuda
from benchtui.engine.devices.registry import open_device
from benchtui.sessions.errors import BenchtuiError


def test_cpu_step_parts_add_up_to_the_total() -> None:
    def step(lap: Lap) -> str:
        sleep(0.01)
        lap("first")
        sleep(0.02)
        lap("second")
        return "done"

    time, done = open_device("cpu").time(step)
    assert done == "done"
    assert time.device_ms is time.host_ms is None
    assert list(time.parts_ms) == ["first", "second"]
    assert time.parts_ms["first"] >= 10
    assert time.parts_ms["second"] >= 20
    assert sum(time.parts_ms.values()) == pytest.approx(time.wall_ms, rel=0.05)


def test_repeated_parts_are_summed() -> None:
    assert sum_parts(["a", "b", "a"], [1.0, 2.0, 4.0]) == {"a": 5.0, "b": 2.0}
    assert list(open_device("cpu").time(lambda lap: [lap(part) for part in "aba"])[0].parts_ms) == ["a", "b"]


def test_failed_cpu_allocation_is_out_of_memory() -> None:
    with pytest.raises(RuntimeError) as raised:
        torch.empty(10**15)
    refused = "tried to allocate 4,000,000,000 MB"
    assert oom.reason("cpu", raised.value) == f"out of memory on cpu: {refused}"
    assert oom.reason("cuda:0", raised.value) == f"out of memory on the host: {refused}"
    assert oom.reason("cpu", MemoryError()) == "out of memory on cpu"
    assert oom.reason("cuda:0", MemoryError()) == "out of memory on the host"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            "CUDA out of memory. Tried to allocate 442.00 MiB. GPU 0 has a total capacity of 5.59 GiB of which"
            " 276.05 MiB is free. Process 4711 has 3.00 GiB memory in use. Of the allocated memory 4.69 GiB is"
            " allocated by PyTorch, and 648.25 MiB is reserved by PyTorch but unallocated.",
            ": tried to allocate 442.00 MiB, 276.05 MiB of 5.59 GiB free",
        ),
        ("InductorError: OutOfMemoryError: CUDA out of memory in a graph", ": CUDA out of memory"),
        ("CUDA error: out of memory\nCUDA kernel errors might be", ": CUDA error: out of memory"),
        (
            "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
            ": CUBLAS_STATUS_ALLOC_FAILED",
        ),
        (
            "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
            ": CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
        ),
        ("CUDA driver error: out of memory", ": CUDA driver error: out of memory"),
        ("Triton Error [CUDA]: out of memory", ": Triton Error [CUDA]: out of memory"),
        ("Caught RuntimeError: HIP out of memory.", ": HIP out of memory"),
        (
            "HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 64.00 GiB of which"
            " 1.00 GiB is free.",
            ": tried to allocate 2.00 GiB, 1.00 GiB of 64.00 GiB free",
        ),
        ("NCCL error: Last error: Cuda failure 2 'out of memory'", ": Cuda failure 2 'out of memory'"),
    ],
)
def test_gpu_memory_errors_are_shortened_to_out_of_memory(error: str, reason: str) -> None:
    assert oom.reason("cuda:0", RuntimeError(error)) == f"out of memory on cuda:0{reason}"


def test_out_of_memory_of_another_allocator_is_recognized() -> None:
    refused = torch.cuda.OutOfMemoryError(
        "Allocation on device 0 would exceed allowed memory. (out of memory)\nmore"
    )
    said = "out of memory on cuda:0: Allocation on device 0 would exceed allowed memory. (out of memory)"
    assert oom.reason("cuda:0", refused) == said


def test_cause_of_an_error_may_be_out_of_memory() -> None:
    wrapped = RuntimeError("the backend failed")
    wrapped.__cause__ = torch.cuda.OutOfMemoryError("Allocation on device 0 would exceed")
    assert oom.reason("cuda:0", wrapped) == "out of memory on cuda:0: Allocation on device 0 would exceed"
    wrapped.__cause__ = wrapped
    assert oom.reason("cuda:0", wrapped) is None


def test_error_handled_before_may_be_out_of_memory() -> None:
    for suppressed in (False, True):
        wrapped = RuntimeError("the fallback failed")
        wrapped.__context__, wrapped.__suppress_context__ = MemoryError(), suppressed
        assert oom.reason("cpu", wrapped) == (None if suppressed else "out of memory on cpu")


def test_cudnn_may_run_out_of_memory_of_the_host() -> None:
    said = "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED"
    assert oom.reason("cuda:0", RuntimeError(f"cuDNN error: {said}")) == f"out of memory on the host: {said}"


@pytest.mark.parametrize(
    ("free", "reason"),
    [(12_000_000, "out of memory on cuda:0: CUBLAS_STATUS_NOT_INITIALIZED, 12 MB free"), (8_000_000_000, None)],
)
def test_library_without_a_handle_is_out_of_memory_on_a_full_device(
    monkeypatch: pytest.MonkeyPatch, free: int, reason: str | None
) -> None:
    refused = RuntimeError("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`")
    assert oom.reason("cpu", refused) is None
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 10**11))
    assert oom.reason("cuda:0", refused) == reason


@pytest.mark.parametrize(
    "said",
    [
        "CUDA error: an illegal memory access",
        "shape '[2]' is invalid",
        "CUDA graphs were skipped so as not to run out of memory",
    ],
)
def test_other_errors_are_not_out_of_memory(said: str) -> None:
    assert oom.reason("cuda:0", RuntimeError(said)) is None


def test_peak_resident_memory_counts_from_the_last_reset() -> None:
    block = torch.ones(50_000_000)
    with_block_mb = process_memory.peak_mb()
    del block
    process_memory.reset_peak()
    after_mb = process_memory.peak_mb()
    assert with_block_mb - after_mb > 150
    assert len(torch.ones(25_000_000)) == 25_000_000
    assert process_memory.peak_mb() - after_mb > 75


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_missing_device_is_named_in_the_error() -> None:
    with pytest.raises(BenchtuiError, match=r"no cuda:0 on this machine: torch .* sees 0 CUDA devices"):
        open_device("cuda:0")


class FakeEvent:
    """A device event; the device's clock goes on by a millisecond with each."""

    recorded: ClassVar[list["FakeEvent"]] = []

    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing

    def record(self) -> None:
        self.recorded.append(self)
        self.at_ms = float(len(self.recorded))

    def elapsed_time(self, later: "FakeEvent") -> float:
        return later.at_ms - self.at_ms


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> tuple[Cuda, list[str]]:
    """A GPU that isn't there, and what is done on it."""
    done: list[str] = []
    monkeypatch.setattr(FakeEvent, "recorded", [])
    monkeypatch.setattr(torch.cuda, "Event", FakeEvent)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: done.append("synchronised"))
    device = object.__new__(Cuda)
    device.torch_device = torch.device("cuda:0")
    return device, done


def test_gpu_is_synchronized_at_both_ends_of_a_step(cuda: tuple[Cuda, list[str]]) -> None:
    device, done = cuda

    def step(lap: Lap) -> str:
        lap("transfer")
        done.append("step")
        lap("forward")
        return "given"

    time, given = device.time(step)
    assert done == ["synchronised", "step", "synchronised"]
    assert given == "given"
    assert (time.device_ms, time.parts_ms) == (2.0, {"transfer": 1.0, "forward": 1.0})


def test_gpu_is_synchronized_only_at_both_ends_of_a_block(
    cuda: tuple[Cuda, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    device, done = cuda
    host_ns = iter((0, 500_000, 1_250_000, 1_500_000, 10_000_000))
    monkeypatch.setattr("benchtui.engine.devices.cuda.perf_counter_ns", lambda: next(host_ns))

    def step(lap: Lap) -> int:
        done.append("step")
        lap("forward")
        return len(done)

    rows = device.time_block(step, 3)
    assert done == ["synchronised", "step", "step", "step", "synchronised"]
    assert [given for _, given in rows] == [2, 3, 4]
    assert [time.device_ms for time, _ in rows] == [1.0, 1.0, 1.0]
    assert [time.wall_ms for time, _ in rows] == [2.0, 2.0, 6.0], "until the next begins; the last has the rest"
    assert [time.host_ms for time, _ in rows] == [0.5, 0.75, 0.25], "until each step has returned"


def test_waits_of_a_step_are_those_that_torch_warns_of(
    cuda: tuple[Cuda, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    device, done = cuda
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: 0)
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", lambda mode: done.append(str(mode)))

    def step(lap: Lap) -> None:
        for _ in range(2):
            warnings.warn("called a synchronizing CUDA operation (Triggered internally at ...)", stacklevel=1)
        warnings.warn("something else", stacklevel=1)
        done.append("step")

    assert device.waits(step) == 2
    assert done == ["warn", "step", "0"]
    assert open_device("cpu").waits(step) is None


def seen(kind: str, begin_us: float, end_us: float, named: bool = False) -> SimpleNamespace:
    """An event as torch's profiler tells it."""
    return SimpleNamespace(
        name=f"{kind} work",
        device_type=SimpleNamespace(name=kind),
        time_range=SimpleNamespace(start=begin_us, end=end_us),
        is_user_annotation=named,
    )


class Profiler:
    """A profiler that saw two kernels at once and a copy in each of the steps it was shown."""

    told: ClassVar[list[str]] = []
    events_seen: ClassVar[list[SimpleNamespace]] = [
        seen("CUDA", 0.0, 1000.0),
        seen("CUDA", 500.0, 1500.0),
        seen("CUDA", 4000.0, 4500.0),
        seen("CPU", 0.0, 9000.0),
        seen("CUDA", 0.0, 9000.0, named=True),
    ]

    def __init__(self, activities: list[Any], schedule: Any) -> None:
        assert activities == [torch.profiler.ProfilerActivity.CUDA]
        assert [schedule(number).name for number in range(3)] == ["WARMUP", "RECORD_AND_SAVE", "NONE"]

    def step(self) -> None:
        self.told.append("recording")

    def __enter__(self) -> "Profiler":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def events(self) -> list[SimpleNamespace]:
        return self.events_seen


def test_gpu_busy_time_is_that_of_kernels_and_copies_after_plain_steps(
    cuda: tuple[Cuda, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    device, done = cuda
    monkeypatch.setattr("benchtui.engine.devices.cuda.profile", Profiler)
    monkeypatch.setattr("benchtui.engine.devices.cuda.PLAIN_S", 0.0)
    monkeypatch.setattr(Profiler, "told", done)
    profiled = device.profile_steps(lambda lap: done.append("step"), 2)
    assert profiled is not None
    assert (profiled.busy_ms, profiled.functions) == (pytest.approx(1.0), {"CUDA work"})
    assert done == ["step", "synchronised"] * 2 + ["recording", "step", "step", "synchronised"]
    monkeypatch.setattr(Profiler, "events_seen", Profiler.events_seen[3:])
    with pytest.raises(BenchtuiError, match="the profiler recorded no work on the device"):
        device.profile_steps(lambda lap: None, 2)


def test_cpu_has_no_busy_time() -> None:
    assert open_device("cpu").profile_steps(lambda lap: None, 3) is None


@pytest.mark.parametrize(
    ("properties", "uuid", "absent"),
    [
        ({"uuid": "ab-1"}, "GPU-ab-1", None),
        ({}, None, f"torch {torch.__version__} doesn't report the GPU's UUID"),
    ],
)
def test_gpu_without_a_known_uuid_says_why(
    monkeypatch: pytest.MonkeyPatch, properties: dict[str, str], uuid: str | None, absent: str | None
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: None)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(**properties))
    device = Cuda("cuda:0")
    assert (device.uuid, device.uuid_absent) == (uuid, absent)
