"""Denormal numbers in the inputs of operators, found in one step whose operators are intercepted."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from msgspec.structs import replace
from torch.utils._python_dispatch import TorchDispatchMode

from benchtui.engine.models import compilation
from benchtui.sessions.profiles import KernelTime

LEAST_ELEMENTS = 10_000
"""Minimum size of an input worth looking at."""
LOOKED_AT = 4096
"""Number of elements to look at, evenly spread."""
LEAST_SHARE = 0.1
"""Minimum share of the profiled operators for looking at one."""


class _Inputs(TorchDispatchMode):
    """Largest share of denormal numbers in the inputs of each named operator."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._names = frozenset(names)
        self.shares: dict[str, float] = {}

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401
        types: object,
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        name = func._schema.name
        if name in self._names:
            tensors = (value for value in args if isinstance(value, torch.Tensor))
            self.shares[name] = max((self.shares.get(name, 0.0), *map(_denormal_share, tensors)))
        return func(*args, **(kwargs or {}))


def with_denormals(kernels: Sequence[KernelTime], step: Callable[[], object]) -> tuple[KernelTime, ...]:
    """Run a step, and add the share of denormal numbers to the operators that take most of it.

    Compiled code can't be intercepted, so its operators keep none.
    """
    whole_ms = sum(kernel.ms for kernel in kernels)
    longest = {kernel.name for kernel in kernels if kernel.shape and kernel.ms >= LEAST_SHARE * whole_ms}
    if not longest or compilation.graphs():
        return tuple(kernels)
    with _Inputs(longest) as inputs:
        step()
    shares = inputs.shares
    return tuple(
        replace(kernel, denormal_share=round(shares[kernel.name], 4)) if kernel.name in shares else kernel
        for kernel in kernels
    )


def _denormal_share(tensor: torch.Tensor) -> float:
    """Return the share of denormal numbers in a tensor, from evenly spread elements; 0 for a small one."""
    if tensor.numel() < LEAST_ELEMENTS or not tensor.is_floating_point() or tensor.layout != torch.strided:
        return 0.0
    flat = tensor.detach().as_strided((tensor.untyped_storage().nbytes() // tensor.element_size(),), (1,), 0)
    seen = flat[:: max(1, flat.numel() // LOOKED_AT)].abs()
    return float(((seen > 0) & (seen < torch.finfo(tensor.dtype).tiny)).float().mean())
