"""Cost of an operator by the shapes of its inputs: floating-point operations and bytes."""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

Shapes = Sequence[Sequence[int]]
"""Shape of each input; empty for a scalar, or an input that isn't a tensor."""

LEAST_STRIDED = 100_000
"""Minimum number of elements of an input whose order matters."""
ITEM_BYTES = {
    "double": 8,
    "long": 8,
    "long int": 8,
    "c10::complex<float>": 8,
    "float": 4,
    "int": 4,
    "half": 2,
    "c10::Half": 2,
    "c10::BFloat16": 2,
    "short": 2,
    "bool": 1,
    "signed char": 1,
    "unsigned char": 1,
}
"""Size of an element by the type's name, as the profiler records it."""


def flops(operator: str, shapes: Shapes) -> float | None:
    """Return the floating-point operations of a matrix product or attention; None for other operators."""
    formula = _FORMULAS.get(operator)
    try:
        return None if formula is None else float(formula([list(shape) for shape in shapes if shape]))
    except (ValueError, IndexError):  # the inputs don't match the formula
        return None


def moved_bytes(operator: str, shapes: Shapes, dtypes: Sequence[str]) -> float | None:
    """Return the bytes of the inputs, plus an output as large as the largest one; None if a type is unknown.

    The output of a copy is among its inputs.
    """
    sizes = []
    for shape, dtype in zip(shapes, dtypes, strict=False):
        if shape:
            if dtype not in ITEM_BYTES:
                return None
            sizes.append(prod(shape) * ITEM_BYTES[dtype])
    if not sizes:
        return None
    return float(sum(sizes) + (0 if operator == "aten::copy_" else max(sizes)))


def has_gaps(shapes: Shapes, strides: Shapes) -> bool:
    """Return whether an operator reads inputs element by element with gaps, or in unlike orders.

    An input without neighbors in memory wastes most of each cache line. Small inputs fit into a cache.
    """
    large = [
        _order(shape, stride)
        for shape, stride in zip(shapes, strides, strict=False)
        if len(shape) == len(stride) and prod(shape) >= LEAST_STRIDED
    ]
    orders = {order for _, order in large}
    return any(step > 1 for step, _ in large) or len(orders) > len({len(order) for order in orders})


def _order(shape: Sequence[int], stride: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """Return the smallest stride, and the dimensions in the order of their strides, without repeated ones."""
    lengths = enumerate(zip(stride, shape, strict=True))
    real = sorted((step, dimension) for dimension, (step, length) in lengths if step and length > 1)
    return min((step for step, _ in real), default=1), tuple(dimension for _, dimension in real)


def shape_text(shapes: Shapes, dtypes: Sequence[str]) -> str | None:
    """Return the shapes and types of the inputs, such as ``32x128 float``; None without any."""
    tensors = [(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=False) if shape]
    texts = [f"{'x'.join(map(str, shape))} {dtype.removeprefix('c10::')}" for shape, dtype in tensors]
    return ", ".join(texts[:3]) or None


def _product(left: Sequence[int], right: Sequence[int]) -> int:
    """Multiply (…, m, k) by (…, k, n); a multiply-add counts as two."""
    *batch, rows, inner = left
    if right[-2] != inner:
        raise ValueError("no matrix product")
    return 2 * prod(batch) * rows * inner * right[-1]


def _linear(inputs: Sequence[int], weight: Sequence[int]) -> int:
    """Multiply (…, k) by the transposed weight (n, k)."""
    if weight[-1] != inputs[-1]:
        raise ValueError("no linear layer")
    return 2 * prod(inputs) * weight[0]


def _attention(query: Sequence[int], key: Sequence[int], products: int) -> int:
    """Multiply (batch, heads, queries, width) by keys or values (batch, heads, keys, width)."""
    batch, heads, queries, width = query
    return products * 2 * batch * heads * queries * key[2] * width


def _inner_attention(shapes: list[list[int]], *, turned: bool, first: int, products: int) -> int:
    query, key = (
        [shape[0], shape[2], shape[1], shape[3]] if turned else shape for shape in shapes[first : first + 2]
    )
    return _attention(query, key, products)


_Formula = Callable[[list[list[int]]], int]

_FORMULAS: dict[str, _Formula] = {
    "aten::mm": lambda shapes: _product(shapes[0], shapes[1]),
    "aten::bmm": lambda shapes: _product(shapes[0], shapes[1]),
    "aten::addmm": lambda shapes: _product(shapes[-2], shapes[-1]),
    "aten::_addmm_activation": lambda shapes: _product(shapes[-2], shapes[-1]),
    "aten::baddbmm": lambda shapes: _product(shapes[-2], shapes[-1]),
    "aten::mkldnn_linear": lambda shapes: _linear(shapes[0], shapes[1]),
    "mkldnn::_linear_pointwise": lambda shapes: _linear(shapes[0], shapes[1]),
    "mkl::_mkl_linear": lambda shapes: _linear(shapes[0], shapes[2]),
}
for _name, _turned in (("cudnn", False), ("flash", True), ("efficient", True)):
    # what a kernel's launch names is the inner operator; these two take (batch, queries, heads, width)
    _FORMULAS[f"aten::_{_name}_attention_forward"] = partial(
        _inner_attention, turned=_turned, first=0, products=2
    )
    _FORMULAS[f"aten::_{_name}_attention_backward"] = partial(
        _inner_attention, turned=_turned, first=1, products=5
    )
for _name in ("flash_attention_for_cpu", "flash_attention", "efficient_attention", "cudnn_attention"):
    _FORMULAS[f"aten::_scaled_dot_product_{_name}"] = lambda shapes: _attention(shapes[0], shapes[1], 2)
    _FORMULAS[f"aten::_scaled_dot_product_{_name}_backward"] = lambda shapes: _attention(
        shapes[1], shapes[2], 5
    )
