"""Families of operators and kernels, by their names and those of the enclosing operators."""

import re
from collections.abc import Iterable, Sequence

from benchtui.sessions.profiles import FamilyName

OVERHEAD_PREFIXES = (
    "benchtui.",
    "autograd::",
    "Torch-Compiled Region",
    "TorchDynamo",
    "AOTDispatcher",
    "_compile",
    "## Call",
    "Pregraph",
    "torch/",
    "PythonDispatch",
    "ProfilerStep",
    "nn.Module:",
)
"""Annotations around operators. Their own time is that of Python or of the autograd engine."""

_AROUND: tuple[tuple[str, FamilyName], ...] = (
    (r"^enumerate\(DataLoader\)#", "input"),
    (r"^dynamo$|^entire_frame_compile|\(dynamo_timed\)", "compile"),
    (r"^Optimizer\.(step|zero_grad)#", "optimizer"),
    (r"aten::_?sparse_", "other"),  # the costs of dense products and copies don't apply
    (r"scaled_dot_product|ScaledDotProduct|flex_attention|FlexAttention|_efficient_attention", "attention"),
)
"""Families of everything within a matching operator or annotation."""

_NAMES: tuple[tuple[str, FamilyName], ...] = (
    (r"nccl|c10d::|gloo|all_?reduce|all_?gather|reduce_?scatter|broadcast_(?:coalesced)?$", "collective"),
    (r"attention|fmha|flash_fwd|flash_bwd|cudnn_generated_fort_native_sdpa", "attention"),
    (r"triton_tem_fused", "matmul"),  # a kernel from a template of Inductor; its other templates are attention
    (r"fused_adam|_fused_sgd|multi_tensor_apply|foreach_|FusedAdam|FusedSgd", "optimizer"),
    (r"^Mem(cpy|set)|aten::(copy_|_to_copy|clone|contiguous|to|pin_memory|_pin_memory|fill_|zero_)$", "copy"),
    (r"CatArray|direct_copy_kernel|copy_kernel|FillFunctor|aten::(_?cat|stack)$|convert_element_type$", "copy"),
    (r"embedding|indexSelect|index_select|aten::(index|gather|scatter|index_put|_index_put)", "gather"),
    (r"index_elementwise|gather_kernel|scatter_", "gather"),
    (r"(cpp|triton\w*)_fused", "elementwise"),  # named after the operators around it, such as a convolution
    (
        r"gemm|gemv|cutlass|xmma|cublas|mkldnn|mkl::|_linear_pointwise|onednn|nvjet|splitK|wgmma"
        r"|aten::(_?(add)?(b?mm|mv)|baddbmm|linear|matmul|dot|vdot|einsum|_?scaled_mm|_?int_mm"
        r"|bilinear|_addmm_activation|.*int4pack.*|dyn_quant.*)$|quantized::linear"
        r"|conv(?!ert)|winograd|fprop|dgrad|wgrad",
        "matmul",
    ),
    (
        r"elementwise|layer_?norm|rms_?norm|batch_norm|group_norm|softmax|reduce_kernel"
        r"|gelu|silu|relu|tanh|sigmoid|dropout|bernoulli",
        "elementwise",
    ),
)
"""Families by the operator's or kernel's own name; the first match wins."""

_ELEMENTWISE = re.compile(
    r"aten::(?:(?:add|sub|mul|div|pow|sqrt|rsqrt|exp|log|neg|abs|sum|mean|clamp|cumsum|cos|sin|erf|lerp|addcmul"
    r"|addcdiv|masked_fill|square|reciprocal)_?|rsub|var|var_mean|amax|amin|max|min|where|eq|ne|lt|le|gt|ge|all|any"
    r"|logical_\w+|bitwise_\w+|clamp_m\w+|maximum|minimum|norm|linalg_vector_norm|nll_loss\w*|cross_entropy_loss"
    r"|threshold_backward|tril|triu)"
)
"""Elementwise operators and reductions of torch."""

_around = tuple((re.compile(pattern), family) for pattern, family in _AROUND)
_names = tuple((re.compile(pattern, re.IGNORECASE), family) for pattern, family in _NAMES)


_FORWARD = re.compile(
    r"aten::(linear|conv[123]d|convolution|embedding|(layer|batch|group|instance|rms)_norm|softmax|dropout"
    r"|scaled_dot_product_attention|relu|gelu|silu|tanh|sigmoid|einsum|matmul|addmm)"
)
"""Operators that modules call; the formulas of a backward pass call others."""
BACKWARD = "autograd::engine::evaluate_function: "
"""Prefix of the annotation around an operator's backward pass."""


def is_of_forward(name: str) -> bool:
    """Return whether modules call an operator, and the formulas of a backward pass don't."""
    return _FORWARD.fullmatch(name) is not None


def is_overhead(name: str) -> bool:
    """Return whether an event is an annotation around operators, whose own time is overhead."""
    return name.startswith(OVERHEAD_PREFIXES)


def is_operator(name: str) -> bool:
    """Return whether an event is an operator, or a fused kernel of compiled code."""
    return "::" in name or "_fused_" in name


def family_of(name: str, around: Iterable[str] = ()) -> FamilyName:
    """Return the family of an operator or kernel. ``around`` has the names of the enclosing operators."""
    for operator in (name, *around):
        for pattern, family in _around:
            if pattern.search(operator):
                return family
    if is_overhead(name) or name.endswith("Backward0"):
        return "python"
    for pattern, family in _names:
        if pattern.search(name):
            return family
    return "elementwise" if _ELEMENTWISE.fullmatch(name) else "other"


_OPERATIONS: tuple[tuple[str, FamilyName], ...] = (
    (r"Attention|^SDPA$", "attention"),
    (r"MatMul|Gemm|FullyConnected|Conv(?!ert)", "matmul"),
    (r"Gather|Embed|Scatter", "gather"),
    (
        r"^(Reorder|Transpose|Concat\w*|Cast|Convert|Reshape|Split|Slice|Expand|Broadcast|Tile|Pad)$|^Memcpy",
        "copy",
    ),
    (r"^(Shape\w*|Range|ConstantOfShape|Unsqueeze|Squeeze|Identity|Constant|Loop|If)$", "other"),
    (r"", "elementwise"),
)
"""Families by the types of operations of ONNX Runtime and OpenVINO; most are elementwise or reductions."""


def family_of_operation(kind: str) -> FamilyName:
    """Return the family of an operation of a backend's graph, by its type."""
    return next(family for pattern, family in _OPERATIONS if re.search(pattern, kind))


def family_of_work(name: str, around: Sequence[str]) -> FamilyName:
    """Return the family of a kernel or copy of a GPU, by its name or else by the operators that launched it."""
    of_launchers = (family_of(family) for family in around)
    families = (
        family for family in (family_of(name, around), *of_launchers) if family not in ("other", "python")
    )
    return next(families, "other")
