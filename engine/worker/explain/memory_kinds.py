"""Memory by kind: weights, gradients, optimizer state and the rest of a step's memory at its peak."""

import gc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from benchtui.sessions.profiles import MemoryKinds

STEPS = 2
"""Number of steps whose memory is tracked. The reported growth is the smallest among them."""


def memory_kinds(step: Callable[[], object], device: torch.device, cache_mb: float | None) -> MemoryKinds:
    """Run steps and count their memory by kind.

    Parameters, gradients and optimizer state are those of all modules and optimizers of the process. The rest
    is the step's additional allocation, from the allocator's history.
    """
    weights, held_gradients, pending_gradients, state = _counted(device)
    follow = _follow_gpu if device.type == "cuda" else _follow_cpu
    peak, growth, workspace = follow(step, device)
    cache = round((cache_mb or 0.0) * 1e6)
    return MemoryKinds(
        weights_mb=_mb(weights),
        gradients_mb=_mb(held_gradients + pending_gradients),
        optimizer_mb=_mb(state),
        cache_mb=cache_mb,
        activations_mb=_mb(max(0, peak - pending_gradients - cache)),
        workspace_mb=None if workspace is None else _mb(workspace),
        growth_mb=_mb(max(0, growth)),
        absent={"workspace": "the CPU's allocator doesn't report it"} if workspace is None else {},
    )


def _counted(device: torch.device) -> tuple[int, int, int, int]:
    """Return the bytes of weights, existing gradients, gradients that a step will allocate, optimizer state."""
    gc.collect()  # else modules that nothing uses any more would count
    living = gc.get_objects()
    weights = [tensor for module in _of_type(living, torch.nn.Module) for tensor in _own_tensors(module)]
    tuned = list(_of_type(living, torch.optim.Optimizer))
    parameters = [one_tensor for one in tuned for group in one.param_groups for one_tensor in group["params"]]
    gradients = [
        one_tensor.grad
        for one_tensor in (*weights, *parameters)
        if one_tensor.is_leaf and one_tensor.grad is not None
    ]
    pending = [one_tensor for one_tensor in parameters if one_tensor.grad is None and one_tensor.requires_grad]
    state = [tensor for one in tuned for entry in one.state.values() for tensor in _tensors(entry)]
    return tuple(_bytes(one_tensor, device) for one_tensor in (weights, gradients, pending, state))  # type: ignore[return-value]


def _of_type(living: Iterable[Any], kind: type) -> Iterator[Any]:
    """Yield the objects of a type. ``isinstance`` would call properties of lazy objects."""
    return (item for item in living if issubclass(type(item), kind))


def _own_tensors(module: Any) -> Iterator[torch.Tensor]:  # noqa: ANN401  (torch.nn.Module, perhaps half built)
    for name in ("_parameters", "_buffers"):
        yield from (tensor for tensor in vars(module).get(name, {}).values() if tensor is not None)


def _tensors(entry: Any) -> Iterator[torch.Tensor]:  # noqa: ANN401
    values = entry.values() if isinstance(entry, dict) else ()
    return (value for value in values if isinstance(value, torch.Tensor))


def _bytes(tensors: Iterable[torch.Tensor], device: torch.device) -> int:
    """Return the size of the tensors on a device. Tensors that share memory count once."""
    sizes: dict[int, int] = {}
    for tensor in tensors:
        if tensor.device.type == device.type:
            storage = tensor.untyped_storage()
            sizes[storage.data_ptr()] = storage.nbytes()
    return sum(sizes.values())


def _follow_gpu(step: Callable[[], object], device: torch.device) -> tuple[int, int, int | None]:
    """Return the peak above the start, the growth per step, and the memory reserved beyond the peak."""
    peaks, growths = [], []
    for _ in range(STEPS):
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        step()
        torch.cuda.synchronize(device)
        peaks.append(torch.cuda.max_memory_allocated(device) - before)
        growths.append(torch.cuda.memory_allocated(device) - before)
    unused = torch.cuda.memory_reserved(device) - torch.cuda.max_memory_allocated(device)
    return max(peaks), min(growths), max(0, unused)


def _follow_cpu(step: Callable[[], object], device: torch.device) -> tuple[int, int, int | None]:
    """Return the peak above the start and the growth per step, from the profiler's record of the allocator."""
    peaks, growths = [], []
    for _ in range(STEPS):
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            step()
            gc.collect()
        changes = (event for event in _recorded(profiler) if event.name() == "[memory]")
        held, peak = 0, 0
        for change in sorted(changes, key=lambda event: event.start_ns()):
            held += change.nbytes()
            peak = max(peak, held)
        peaks.append(peak)
        growths.append(held)
    return max(peaks), min(growths), None


def _recorded(profiler: Any) -> Any:  # noqa: ANN401  (torch's profiler has no types for this)
    return profiler.profiler.kineto_results.events()


def _mb(size: int) -> float:
    return round(size / 1e6, 3)
