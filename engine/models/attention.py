"""Attention: names of implementations in transformers, the kernel that ran, and its FLOPs."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

import torch

from benchtui.engine.exception_text import text_of
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sanitize import quoted
from benchtui.sessions.sweep.library_names import IMPLEMENTATIONS, SDPA_KERNELS
from benchtui.sessions.sweep.options import KERNEL

_KERNELS = {
    "cudnn": r"_scaled_dot_product_cudnn|cudnn\w*(?:sdpa|flash)",
    "flash3": r"flash_?attn_?3|FlashAttn(?:Fwd|Bwd)Sm90",
    "flash": r"_scaled_dot_product_flash|flash_?attn|flash_(?:fwd|bwd)",
    "efficient": r"_scaled_dot_product_efficient|fmha_cutlass",
    "flex": r"flex_attention",
    "math": r"_safe_softmax",
}
"""Pattern of each kernel for names of torch operators and GPU functions. The first match wins."""
_SDPA = re.compile(r"aten::_scaled_dot_product_(?:flash|efficient|cudnn)_attention(?:_for_cpu)?(?:_backward)?$")
_FLASH = re.compile(
    r"\w*flash_?attn\w*::(?:varlen_fwd|varlen_bwd|fwd|bwd|_flash_attn\w*_(?:forward|backward))$"
)
"""Operators of flash-attn and of its builds on the hub, whose namespaces end in a hash."""

_UNSUPPORTED = re.compile(
    r"(\w+) does not support (?:an attention implementation through|Flash ?Attention)"
    r"|`attn_implementation=\S+` is not supported",  # transformers 4, of a name that it doesn't know
    re.IGNORECASE,
)


def select(requested: str) -> str | None:
    """Allow only the requested kernel of torch's attention. Return transformers' name of the implementation.

    The setting applies to the whole process. None leaves the choice of the implementation to transformers.
    """
    if requested in SDPA_KERNELS:
        for kernel in SDPA_KERNELS.values():
            getattr(torch.backends.cuda, f"enable_{kernel}_sdp")(kernel == SDPA_KERNELS[requested])
        return "sdpa"
    if requested.startswith(KERNEL):
        return requested.removeprefix(KERNEL)
    return IMPLEMENTATIONS.get(requested, requested)


def require_no_hub_kernel(model: str, config: Any) -> None:  # noqa: ANN401  (a configuration of transformers)
    """Refuse a configuration that names a kernel from the hub: transformers would download and run its code.

    Raises BenchtuiError if it does. Only the option ``attention`` may name one, for which the user is asked.
    """
    for kernel in _stated(config):
        if "/" in kernel:
            raise BenchtuiError(
                f"model {model!r}: its configuration names an attention kernel from the hub, {quoted(kernel)};"
                f" to allow that code, use attention = {quoted(KERNEL + kernel)}, or else attention = 'sdpa'"
            )


def _stated(config: Any) -> Iterator[str]:  # noqa: ANN401
    """Yield the attention implementations that a configuration and the ones inside it name."""
    if stated := getattr(config, "_attn_implementation", None):
        yield str(stated)
    for name in getattr(config, "sub_configs", {}):
        if (inner := getattr(config, name, None)) is not None:
            yield from _stated(inner)


def read_back(network: Any) -> str | None:  # noqa: ANN401  (a model of transformers)
    """Return the implementation that the network uses, with the kernel if torch may choose only one."""
    used: str | None = getattr(network.config, "_attn_implementation", None)
    allowed = [
        name for name, kernel in SDPA_KERNELS.items() if getattr(torch.backends.cuda, f"{kernel}_sdp_enabled")()
    ]
    return allowed[0] if used == "sdpa" and len(allowed) == 1 else used


def no_kernel_reason(requested: str, error: BaseException) -> str | None:
    """Return why the one allowed kernel can't compute a step; None for any other error."""
    text = text_of(error)
    if requested not in SDPA_KERNELS or not re.search("[Nn]o (available kernel|viable backend)", text):
        return None
    return f"attention {requested}: torch has no such kernel for these inputs: {text.partition(chr(10))[0]}"


def unsupported_reason(requested: str, error: BaseException) -> str | None:
    """Return why transformers can't load a model with this implementation; None for any other error."""
    match = _UNSUPPORTED.search(text_of(error))
    if not match:
        return None
    return f"attention {requested}: transformers doesn't support it for {match[1] or 'this model'}"


def kernels(names: Iterable[str]) -> tuple[str, ...]:
    """Return the attention kernels found among names of operators or GPU functions."""
    used = {kernel for name in names if (kernel := _kernel(name))}
    return tuple(kernel for kernel in _KERNELS if kernel in used)


@cache
def _kernel(name: str) -> str | None:
    return next((kernel for kernel, pattern in _KERNELS.items() if re.search(pattern, name)), None)


def flop_formulas() -> dict[Any, "FlopFormula"]:
    """Return a formula for every operator of fused attention that is registered in this process."""
    names = {name.split(".")[0] for name in torch._C._dispatch_get_all_op_names()}
    operators = sorted(name for name in names if _SDPA.match(name) or _FLASH.match(name))
    packets = [attrgetter(name.replace("::", "."))(torch.ops) for name in operators]
    return {packet: FlopFormula(packet) for packet in packets if hasattr(packet, "default")}


class Window(NamedTuple):
    """Keys that a query sees: from ``left`` before it to ``right`` after it; None for no bound."""

    left: int | None
    right: int | None
    aligned_at_end: bool
    """Whether the mask is aligned to the last query and key instead of the first ones."""


class FlopFormula:
    """FLOPs of a fused attention operator. Pairs of query and key that it skips don't count.

    A forward pass has two products (scores, values), a backward pass five, because it recomputes the scores.
    """

    _get_raw = True
    """Requests tensors from torch's counter, not only their shapes."""

    def __init__(self, packet: Any) -> None:  # noqa: ANN401  (torch._ops.OpOverloadPacket)
        self._flash = packet.default.namespace != "aten"
        self._names = tuple(argument.name for argument in packet.default._schema.arguments)

    def __call__(self, *args: object, out_val: object = None, **kwargs: object) -> int:
        """Return the FLOPs of a call."""
        call = dict(zip(self._names, args, strict=False)) | kwargs
        query, key, value = (_first(call, *names) for names in (("query", "q"), ("key", "k"), ("value", "v")))
        heads: int = query.shape[-2] if self._flash else query.shape[1]
        backward = any(name in call for name in ("grad_out", "grad_out_", "dout"))
        of_query, of_value = (3, 2) if backward else (1, 1)
        width: int = of_query * query.shape[-1] + of_value * value.shape[-1]
        window = self._window(call)
        return 2 * heads * width * sum(pairs(*lengths, window) for lengths in self._rows(call, query, key))

    def _rows(self, call: dict[str, Any], query: torch.Tensor, key: torch.Tensor) -> Iterator[tuple[int, int]]:
        if isinstance(call.get("cu_seqlens_q"), torch.Tensor):
            ends = (call["cu_seqlens_q"], _first(call, "cu_seqlens_k", "cu_seqlens_q"))
            yield from zip(*(end.diff().tolist() for end in ends), strict=True)
            return
        axis = 1 if self._flash else 2
        yield from [(query.shape[axis], key.shape[axis])] * query.shape[0]

    def _window(self, call: dict[str, Any]) -> Window:
        left, right = (call.get(f"window_size_{side}", -1) for side in ("left", "right"))
        if call.get("is_causal") or call.get("causal"):
            right = 0
        return Window(left if left >= 0 else None, right if right >= 0 else None, self._flash)


@cache
def pairs(queries: int, keys: int, window: Window) -> int:
    """Return the number of pairs of query and key within the window."""
    if window.left is None and window.right is None:
        return queries * keys
    ahead = keys - queries if window.aligned_at_end else 0
    return sum(_seen(row + ahead, keys, window) for row in range(queries))


def _seen(at: int, keys: int, window: Window) -> int:
    """Return the number of keys that the query at this position sees."""
    first = 0 if window.left is None else max(0, at - window.left)
    last = keys - 1 if window.right is None else min(keys - 1, at + window.right)
    return max(0, last - first + 1)


def _first(call: dict[str, Any], *names: str) -> Any:  # noqa: ANN401
    return next(call[name] for name in names if call.get(name) is not None)
