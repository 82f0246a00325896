"""Step cost: floating-point operations, bytes moved and device busy time of one step.

Counted after measuring, in extra steps, without effect on the case's outcome: an error here becomes the reason
why a metric is absent.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from math import prod
from time import monotonic
from typing import Any, TypeVar

import torch
from msgspec.structs import replace
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

from benchtui.engine.devices import oom
from benchtui.engine.devices.base import Device, Lap
from benchtui.engine.exception_text import described, text_of
from benchtui.engine.job import TEARDOWN_S
from benchtui.engine.models import compilation
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.payloads import StepCost

Step = Callable[[Lap], object]
Shape = tuple[int, ...]
T = TypeVar("T")

LONGEST_STEP_S = 10.0
"""Longest step that is counted. An extra one beyond that would cost noticeable time."""
BUSY_STEPS = 3
LONGEST_BUSY_S = 1.0
"""Number of profiled steps, and the longest step that is profiled."""
EXIT_S = 2.0
"""Seconds left for the process to exit after counting and profiling."""
LONGEST_COUNTING_S = TEARDOWN_S - (BUSY_STEPS + 1) * LONGEST_BUSY_S - EXIT_S
"""Time limit for counting, which costs some microseconds per operator. Profiling, a step whose waits are
counted and the exit follow it."""

_NATIVE = ("aten", "prim", "prims", "profiler")
"""Namespaces of torch's own operators. Those that compute are elementwise or known to the counter."""
_GATHER_OPS = ("aten::embedding", "aten::index_select", "aten::index", "aten::gather")
"""Operators that read no more of their first input than they return."""


def measure_step_cost(step: Step, device: Device, step_s: float) -> StepCost:
    """Measure the cost of a step that takes ``step_s``. Exceptions of the step are caught."""
    counted = _result_or_reason(device, lambda: count(step, step_s))
    busy_ms = _result_or_reason(device, lambda: _busy_ms(step, device, step_s))
    work = StepCost(absent={"flops": counted, "bytes": counted}) if isinstance(counted, str) else counted
    if isinstance(busy_ms, str):
        return replace(work, absent=work.absent | {"busy": busy_ms})
    return replace(work, busy_ms=busy_ms)


def count_waits(work: StepCost, step: Step, device: Device, step_s: float) -> StepCost:
    """Add to the cost of a step how often the host waits for the device. Exceptions of the step are caught."""
    waits = _result_or_reason(device, lambda: _waits(step, device, step_s))
    if isinstance(waits, str):
        return replace(work, absent=work.absent | {"waits": waits})
    return replace(work, waits=waits)


def count(step: Step, step_s: float) -> StepCost:
    """Count operations and bytes of one uncompiled step. Raises BenchtuiError if it takes too long."""
    if step_s > LONGEST_STEP_S:
        raise BenchtuiError(f"a step takes {step_s:.0f} s; only steps up to {LONGEST_STEP_S:g} s are counted")
    byte_counter, flop_counter = ByteCounter(), FlopCounterMode(display=False, custom_mapping=_FORMULAS)
    # torch's counter decomposes composite operators, so it is the inner one of the two
    with _uncompiled(), warnings.catch_warnings(), byte_counter, flop_counter:
        warnings.simplefilter("ignore")  # about the counter's hooks on a compiled module, which it doesn't need
        step(lambda part: None)
    known = flop_counter.flop_registry
    unknown = [name for name, packet in byte_counter.foreign.items() if packet not in known]
    absent = {}
    if unknown:
        absent["flops"] = f"torch's counter has no formula for {unknown[0]}"
    if byte_counter.hidden:
        absent["bytes"] = f"{byte_counter.hidden} hides its weights from the counter"
    return StepCost(
        flops=None if unknown else float(flop_counter.get_total_flops()),
        bytes_moved=None if byte_counter.hidden else float(byte_counter.bytes),
        bytes_of_weights=None if byte_counter.hidden else float(byte_counter.bytes_of_weights),
        absent=absent,
    )


class ByteCounter(TorchDispatchMode):
    """Dispatch mode that sums the bytes every operator reads and writes. A view moves nothing."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bytes = self.bytes_of_weights = 0
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


def _busy_ms(step: Step, device: Device, step_s: float) -> float | None:
    if step_s > LONGEST_BUSY_S and device.torch_device.type != "cpu":
        raise BenchtuiError(f"a step takes {step_s:.1f} s; only steps up to {LONGEST_BUSY_S:g} s are profiled")
    return device.busy_ms(step, BUSY_STEPS)


def _waits(step: Step, device: Device, step_s: float) -> int | None:
    if step_s > LONGEST_BUSY_S:
        raise BenchtuiError(f"a step takes {step_s:.1f} s; waits are counted up to {LONGEST_BUSY_S:g} s")
    return device.waits(step)


def _result_or_reason(device: Device, measure: Callable[[], T]) -> T | str:
    """Return the result of ``measure``, or the reason why it failed."""
    try:
        return measure()
    except BenchtuiError as error:
        return text_of(error)
    except Exception as error:  # noqa: BLE001  (the step is model or user code, and its case has succeeded)
        return oom.reason(str(device.torch_device), error) or described(error)


def _uncompiled() -> AbstractContextManager[object]:
    """Run compiled code eagerly. A compiled graph is a single opaque operator."""
    if "torch._dynamo" not in sys.modules or not compilation.graphs():
        return nullcontext()
    if not hasattr(torch.compiler, "set_stance"):
        raise BenchtuiError(
            f"torch {torch.__version__} can't run a compiled step eagerly; torch 2.6 or later can"
        )
    stance: AbstractContextManager[object] = torch.compiler.set_stance("force_eager")
    return stance


def _tensors(value: object) -> Iterator[torch.Tensor]:
    """Yield the tensors in an operator's arguments or result."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _mutated(func: Any, args: tuple[Any, ...]) -> list[torch.Tensor]:  # noqa: ANN401
    """Return the tensors that an operator modifies in place, according to its schema."""
    declared = zip(func._schema.arguments, args, strict=False)
    mutated = (value for argument, value in declared if argument.alias_info and argument.alias_info.is_write)
    return list(_tensors(list(mutated)))


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _size(tensor: torch.Tensor) -> int:
    """Size of a tensor in bytes. Expanded dimensions count once."""
    lengths = (length for length, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride)
    return prod(lengths) * tensor.element_size() if tensor.numel() else 0


def _attention(query: Shape, key: Shape, value: Shape, *_: object, **__: object) -> int:
    return int(sdpa_flop_count(query, key, value))


def _attention_backward(grad: Shape, query: Shape, key: Shape, value: Shape, *_: object, **__: object) -> int:
    return int(sdpa_backward_flop_count(grad, query, key, value))


_FORMULAS = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: _attention_backward,
}
"""FLOP formulas for torch's CPU attention, which its counter lacks."""
