"""Step cost: floating-point operations, bytes moved and device busy time of one step.

Counted after measuring, in extra steps, without effect on the case's outcome: an error here becomes the reason
why a metric is absent.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from hashlib import sha256
from math import prod
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import msgspec
import torch
from msgspec.structs import replace
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from benchtui.engine.devices.base import Device, Lap, ProfiledSteps, no_lap
from benchtui.engine.devices.cuda import PLAIN_STEPS
from benchtui.engine.devices.failure import result_or_reason
from benchtui.engine.job import SEARCH_S, STEP_COST_S, Job
from benchtui.engine.models import attention, compilation
from benchtui.engine.workloads.base import Workload
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.payloads import Effective, StepCost
from benchtui.sessions.sweep import Config, custom_task

Step = Callable[[Lap], object]

STORED = "costs"
"""Name of the folder of counted costs, next to the scratch folders of the cases."""
LONGEST_STEP_S = 12.0
"""Longest step that is counted. A longer extra step would take noticeable time."""
BUSY_STEPS = 3
LONGEST_BUSY_S = 1.0
"""Number of profiled steps, and the longest step that is profiled."""
MAX_RUNS_S = 1.5
"""Time of both partial steps that represent a long step, relative to that of the longer one: 1.5 because they
have one and two batches."""
EXIT_S = 2.0
"""Seconds left for the process to exit after counting and profiling."""
_PROFILING_S = (PLAIN_STEPS + BUSY_STEPS) * LONGEST_BUSY_S * MAX_RUNS_S
LONGEST_COUNTING_S = (STEP_COST_S - SEARCH_S - _PROFILING_S - LONGEST_BUSY_S - EXIT_S) / 2
"""Time limit for counting one of two runs. Counting takes a few microseconds per operator. Profiling
comes before it; a step that counts waits, and the exit, come after it."""
LONGEST_WAITS_S = LONGEST_BUSY_S + _PROFILING_S
"""Longest step whose waits are counted. A step over ``LONGEST_BUSY_S`` isn't profiled, which leaves time."""

_NO_KERNEL = "no GPU function is a known attention kernel"
_NOT_PROFILED = "on a CPU, the kernel is known only for uncompiled code with fused attention"
_NATIVE = ("aten", "prim", "prims", "profiler")
"""Namespaces of torch's own operators. Their compute operators are elementwise or known to the counter."""
_GATHER_OPS = ("aten::embedding", "aten::index_select", "aten::index", "aten::gather")
"""Operators that read no more of their first input than they return."""


class TypicalStep(NamedTuple):
    """Step that represents all measured ones."""

    step_s: float
    """Mean time of a step."""
    padded_tokens: int | None = None
    """Median number of tokens per step, including padding. None if the task has none."""


def stored_or(job: Job, typical: TypicalStep, count: Callable[[], StepCost]) -> StepCost:
    """Return the stored cost of this shape, or count and store it."""
    name = sha256(msgspec.json.encode(_shape(job))).hexdigest()
    path = Path(job.scratch).parent / STORED / f"{name}.json"
    with suppress(OSError, msgspec.MsgspecError):
        cost = msgspec.json.decode(path.read_bytes(), type=StepCost)
        return replace(cost, typical_padded_tokens=typical.padded_tokens)
    cost = count()
    with suppress(OSError):  # perhaps the disk is full
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(f".{job.case}")
        new.write_bytes(msgspec.json.encode(cost))
        new.replace(path)
    return cost


def _shape(job: Job) -> Config:
    """Return the options that decide the cost of a step.

    Threads and environment variables may change the busy time on a GPU, and all of a step of the user's.
    """
    config = replace(job.config, repeat=0)
    if config.device != "cpu" or custom_task(job.sweep.task):
        return config
    return replace(config, threads=0, tokenizer_threads=0, env="")


def count_waits(work: StepCost, workload: Workload, device: Device, step_s: float) -> StepCost:
    """Add the number of times the host waits for the device. Exceptions of the step are caught.

    A long step that accumulates batches is extrapolated, as in ``measure_step_cost``.
    """
    runs = _runs(workload, step_s)

    def waits_of_runs() -> float | None:
        _require_torch(workload.effective)
        return _whole([_waits(*run, device) for run in runs], workload.accumulated)

    waits = result_or_reason(str(device.torch_device), waits_of_runs)
    if isinstance(waits, str):
        return replace(work, absent=work.absent | {"waits": waits})
    return replace(work, waits=None if waits is None else round(waits))


def measure_step_cost(workload: Workload, device: Device, typical: TypicalStep) -> StepCost:
    """Measure the cost of the step with typical batches. Exceptions of the step are caught.

    A long step that accumulates batches is extrapolated from steps with one batch and with two equal ones.
    """
    runs = _runs(workload, typical.step_s)
    name = str(device.torch_device)
    repeated = result_or_reason(name, lambda: _repeat_step(workload, typical.padded_tokens, len(runs) > 1))
    if isinstance(repeated, str):
        return StepCost(absent=dict.fromkeys(("flops", "bytes", "busy"), repeated))
    # profiled before the counting pass, which leaves the device idle between its operators
    profiled = result_or_reason(
        name, lambda: _whole_profile([_profile(*run, device) for run in runs], workload.accumulated)
    )
    counted = result_or_reason(
        name, lambda: _whole_cost([count(*run, workload.effective) for run in runs], workload.accumulated)
    )
    cost = StepCost(absent={"flops": counted, "bytes": counted}) if isinstance(counted, str) else counted
    cost = replace(cost, padded_tokens=repeated, typical_padded_tokens=typical.padded_tokens)
    return _with_profile(cost, profiled)


def _runs(workload: Workload, step_s: float) -> list[tuple[Step, float]]:
    """Return the step and its time; for a long step, partial steps with one and two of its batches."""
    if step_s <= LONGEST_BUSY_S or workload.accumulated <= 2:
        return [(workload.step, step_s)]
    batch_s = step_s / workload.accumulated
    return [(partial(workload.partial_step, batches=count), count * batch_s) for count in (1, 2)]


def _whole(values: Sequence[float | None], batches: int) -> float | None:
    """Extrapolate the value of a step with this many batches from one and two; a single value is unchanged."""
    first, last = values[0], values[-1]
    return None if first is None or last is None else first + (batches - 1) * (last - first)


def _whole_cost(costs: Sequence[StepCost], batches: int) -> StepCost:
    names = ("flops", "bytes_moved", "bytes_of_weights")
    whole = {name: _whole([getattr(cost, name) for cost in costs], batches) for name in names}
    return replace(costs[-1], **whole)


def _whole_profile(profiles: Sequence[ProfiledSteps | None], batches: int) -> ProfiledSteps | None:
    profiled = [profile for profile in profiles if profile]
    if len(profiled) < len(profiles):
        return None
    busy_ms = _whole([profile.busy_ms for profile in profiled], batches)
    return None if busy_ms is None else ProfiledSteps(busy_ms, profiled[-1].functions)


def _repeat_step(workload: Workload, padded_tokens: int | None, one_batch: bool) -> int | None:
    return None if padded_tokens is None else workload.repeat_step(padded_tokens, one_batch=one_batch)


def _profile(step: Step, step_s: float, device: Device) -> ProfiledSteps | None:
    if step_s > LONGEST_BUSY_S and device.torch_device.type != "cpu":
        raise BenchtuiError(f"a step takes {step_s:.1f} s; only steps up to {LONGEST_BUSY_S:g} s are profiled")
    return device.profile_steps(step, BUSY_STEPS)


def _with_profile(cost: StepCost, profiled: ProfiledSteps | str | None) -> StepCost:
    """Add busy time, and the attention kernels that the counting pass didn't see: those of compiled code."""
    if isinstance(profiled, ProfiledSteps):
        cost = replace(cost, busy_ms=profiled.busy_ms)
    elif profiled:
        cost = replace(cost, absent=cost.absent | {"busy": profiled})
    if not compilation.graphs() and cost.attention:
        return cost
    kernels = attention.kernels(profiled.functions) if isinstance(profiled, ProfiledSteps) else ()
    reason = profiled if isinstance(profiled, str) else _NO_KERNEL if profiled else _NOT_PROFILED
    return replace(cost, attention=kernels, absent=cost.absent | ({} if kernels else {"attention": reason}))


def count(step: Step, step_s: float, effective: Effective) -> StepCost:
    """Count operations and bytes of one uncompiled step. Raises BenchtuiError if it takes too long."""
    if step_s > LONGEST_STEP_S:
        raise BenchtuiError(f"a step takes {step_s:.0f} s; only steps up to {LONGEST_STEP_S:g} s are counted")
    _require_torch(effective)
    formulas = attention.flop_formulas()
    byte_counter, flop_counter = ByteCounter(), FlopCounterMode(display=False, custom_mapping=formulas)
    # torch's counter decomposes composite operators, so it is the inner one of the two
    with _uncompiled(), warnings.catch_warnings(), byte_counter, flop_counter:
        warnings.simplefilter("ignore")  # about the counter's hooks on a compiled module, which it doesn't need
        step(no_lap)
    kernels = attention.kernels(byte_counter.operators)
    unknown = [
        name for name, packet in byte_counter.foreign.items() if packet not in flop_counter.flop_registry
    ]
    absent = {}
    if unknown:
        absent["flops"] = f"torch's counter has no formula for {unknown[0]}"
    elif not kernels and "flash" in (effective.attention or ""):
        absent["flops"] = f"{effective.attention} isn't visible to torch's counter"
    if byte_counter.hidden:
        absent["bytes"] = f"{byte_counter.hidden} hides its weights from the counter"
    return StepCost(
        flops=None if "flops" in absent else float(flop_counter.get_total_flops()),
        bytes_moved=None if byte_counter.hidden else float(byte_counter.bytes),
        bytes_of_weights=None if byte_counter.hidden else float(byte_counter.bytes_of_weights),
        attention=kernels,
        absent=absent,
    )


def _require_torch(effective: Effective) -> None:
    """Raise BenchtuiError for a backend other than torch, which runs a step in one call."""
    if (backend := effective.others.get("backend", "torch")) != "torch":
        raise BenchtuiError(f"{backend} runs a step in one call, whose operations torch doesn't see")


class ByteCounter(TorchDispatchMode):
    """Dispatch mode that sums the bytes every operator reads and writes. A view moves nothing."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bytes = self.bytes_of_weights = 0
        self.operators: set[str] = set()
        """Names of all operators, with their namespaces."""
        self.foreign: dict[str, Any] = {}
        """Operators that aren't torch's own, by name."""
        self.hidden: str | None = None
        """An operator that reads more than its tensors, if there is one."""
        self._allocated: set[int] = set()
        """Addresses of storages allocated in this step. All others existed before."""
        self._until_s = monotonic() + LONGEST_COUNTING_S

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401  (torch._ops.OpOverload)
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> object:
        """Run the operator and add the bytes it moved."""
        if monotonic() > self._until_s:
            raise BenchtuiError(f"counting a step took longer than {LONGEST_COUNTING_S:g} s")
        outputs = func(*args, **(kwargs or {}))
        self._record_origin(func, args)
        self._record(func, (args, kwargs), list(_tensors(outputs)) or _mutated(func, args))
        return outputs

    def _record_origin(self, func: Any, args: tuple[Any, ...]) -> None:  # noqa: ANN401
        self.operators.add(func._schema.name)
        if func.namespace in _NATIVE:
            return
        self.foreign.setdefault(str(func.overloadpacket), func.overloadpacket)
        if any(isinstance(argument, torch.ScriptObject) for argument in args):
            self.hidden = str(func.overloadpacket)

    def _record(self, func: Any, arguments: object, outputs: list[torch.Tensor]) -> None:  # noqa: ANN401
        inputs = list(_tensors(arguments))
        input_storages = {_storage(tensor) for tensor in inputs}
        new = [tensor for tensor in outputs if _storage(tensor) not in input_storages]
        self._allocated.update(_storage(tensor) for tensor in new)
        changes = func._schema.is_mutable and torch.Tag.inplace_view not in func.tags
        if (new or changes) and "empty" not in func._schema.name:
            gathers = func._schema.name in _GATHER_OPS
            self._add([*new, *inputs[1:]] if gathers else inputs)
            self._add(new or outputs)

    def _add(self, tensors: list[torch.Tensor]) -> None:
        for tensor in tensors:
            size = _size(tensor)
            self.bytes += size
            self.bytes_of_weights += 0 if _storage(tensor) in self._allocated else size


def _waits(step: Step, step_s: float, device: Device) -> int | None:
    if step_s > LONGEST_WAITS_S and device.torch_device.type != "cpu":
        raise BenchtuiError(f"a step takes {step_s:.1f} s; waits are counted up to {LONGEST_WAITS_S:g} s")
    return device.waits(step)


def _uncompiled() -> AbstractContextManager[object]:
    """Run compiled code eagerly. A compiled graph is a single opaque operator."""
    if not compilation.graphs():
        return nullcontext()
    if not hasattr(torch.compiler, "set_stance"):
        raise BenchtuiError(
            f"torch {torch.__version__} can't run a compiled step eagerly; torch 2.6 or later can"
        )
    stance: AbstractContextManager[object] = torch.compiler.set_stance("force_eager")
    return stance


def _tensors(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _mutated(func: Any, args: tuple[Any, ...]) -> list[torch.Tensor]:  # noqa: ANN401
    declared = zip(func._schema.arguments, args, strict=False)
    mutated = (value for argument, value in declared if argument.alias_info and argument.alias_info.is_write)
    return list(_tensors(list(mutated)))


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _size(tensor: torch.Tensor) -> int:
    """Size of a tensor in bytes. Expanded dimensions count once."""
    lengths = (length for length, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride)
    return prod(lengths) * tensor.element_size() if tensor.numel() else 0
