"""Roofline model of Llama 3.2 1B on an NVIDIA H100 SXM: time, power and memory of a step. Nothing is measured.

A step is a sequence of matrix products, attention and elementwise kernels. Each takes as long as its
operations at a share of the peak rate, or its bytes at a share of the peak bandwidth (Williams, Waterman,
Patterson: Roofline, CACM 52(4), 2009); the step takes no less than the host takes to launch its kernels.
"""

from dataclasses import dataclass, replace

from benchtui.sessions.payloads import Model
from benchtui.sessions.sweep import Config

PEAK_FLOPS_PER_S = {"bf16": 989.4e12, "fp32": 67.0e12}
PEAK_BYTES_PER_S = 3.35e12
POWER_LIMIT_W = 700.0
"""Dense rates, bandwidth and maximum power of the H100 SXM: NVIDIA H100 data sheet (2023)."""
BOOST_MHZ = 1980
"""Maximum SM clock of the H100 SXM, as nvidia-smi shows it."""
MEMORY_MB = 85_520.8
"""81,559 MiB, the memory that nvidia-smi shows for an H100 80GB HBM3."""
IDLE_W = 70.0
"""Typical power of an idle H100 SXM."""

LAYERS, HIDDEN, INTERMEDIATE, HEADS, VOCABULARY = 16, 2048, 8192, 32, 128_256
KEYS_AND_VALUES = 2 * 512
"""Width of keys and values together: 8 heads of 64 each."""
PARAMETERS = 1_235_814_400
"""Shapes of meta-llama/Llama-3.2-1B: its config.json. Embeddings and output layer share their weights."""
MODEL = Model(
    name="meta-llama/Llama-3.2-1B",
    architecture="LlamaForCausalLM",
    parameters=PARAMETERS,
    hidden_size=HIDDEN,
    hidden_layers=LAYERS,
    attention_heads=HEADS,
    weights="random",
    source="hub",
)
_OF_A_LAYER = HIDDEN * (2 * HIDDEN + KEYS_AND_VALUES + 3 * INTERMEDIATE)
MULTIPLIED = LAYERS * _OF_A_LAYER + HIDDEN * VOCABULARY
"""Weights that each token is multiplied with."""

BEST_SHARE = {"bf16": 0.74, "fp32": 0.80}
"""Share of the peak that large matrix products reach at the boost clock, without a power limit."""
HALF_SHARE_TOKENS = {"bf16": 500, "fp32": 120}
"""Tokens at which products reach half of that: smaller ones don't fill the GPU."""
ATTENTION_SHARE = {"bf16": 0.35, "fp32": 0.50}
"""The same for fused attention, which skips the masked half of its operations."""
BANDWIDTH_SHARE = 0.85
FUSED = 0.55
"""Share of the elementwise bytes that is left after torch.compile has fused kernels."""
KERNELS_PER_LAYER = {"off": 46, "default": 14}
EAGER_ATTENTION_KERNELS = 6
OTHER_KERNELS = 24
LAUNCH_MS = {"off": 0.0088, "default": 0.0065}
"""Host time to launch a kernel, Python included."""
CONTEXT_MB = 620.0
"""CUDA context and library workspaces, which the framework's allocator doesn't see."""


@dataclass(frozen=True, slots=True)
class Step:
    """Modeled step of a case at the boost clock."""

    kernels_ms: float
    """Time in which the GPU is busy."""
    launch_ms: float
    """Time that the host takes to launch it."""
    flops: float
    bytes_moved: float
    weights: float
    """Bytes of the weights, read once."""
    allocated_mb: float
    largest_mb: float
    """Largest single tensor."""
    dynamic_w: float
    """Power above idle while the GPU is busy, without the limit."""
    products_ms: float
    attention_ms: float
    elementwise_ms: float
    """Parts of the time in which the GPU is busy."""

    decode_kernels_ms: float = 0.0
    decode_launch_ms: float = 0.0
    """The same for all tokens after the first, if the step generates any."""
    kv_cache_mb: float | None = None

    @property
    def device_ms(self) -> float:
        """Time between device events around the step."""
        return max(self.kernels_ms, self.launch_ms) + max(self.decode_kernels_ms, self.decode_launch_ms)


def generation(config: Config, new_tokens: int) -> Step:
    """Model a prefill and the decoding of so many tokens per sample, each of which reads weights and cache."""
    prefill, size = step(config), 4 if config.precision == "fp32" else 2
    length = config.sequence_length + new_tokens
    cache = float(config.batch_size * length * LAYERS * KEYS_AND_VALUES * size)
    flops = 2.0 * config.batch_size * MULTIPLIED
    arithmetic_s = flops / (PEAK_FLOPS_PER_S[config.precision] * BEST_SHARE[config.precision])
    memory_s = (size * PARAMETERS + cache) / (PEAK_BYTES_PER_S * BANDWIDTH_SHARE)
    after_first, token_s = new_tokens - 1, max(arithmetic_s, memory_s)
    decode_ms = 1000 * after_first * token_s
    whole_w = prefill.dynamic_w * prefill.kernels_ms + _dynamic_w(0.0, 1.0, config.precision) * decode_ms
    return replace(
        prefill,
        decode_kernels_ms=decode_ms,
        decode_launch_ms=after_first * prefill.launch_ms,
        kv_cache_mb=cache / 1e6,
        flops=prefill.flops + after_first * flops,
        bytes_moved=prefill.bytes_moved + after_first * (size * PARAMETERS + cache),
        weights=prefill.weights + after_first * size * PARAMETERS,
        allocated_mb=prefill.allocated_mb + cache / 1e6,
        dynamic_w=whole_w / (prefill.kernels_ms + decode_ms),
    )


def step(config: Config) -> Step:
    """Model one forward pass over a batch."""
    size = 4 if config.precision == "fp32" else 2
    tokens, eager = config.batch_size * config.sequence_length, config.attention == "eager"
    peak, weights = PEAK_FLOPS_PER_S[config.precision], float(size * PARAMETERS)
    products, attended = 2.0 * tokens * MULTIPLIED, 4.0 * tokens * config.sequence_length * HIDDEN * LAYERS
    scores = float(config.batch_size * HEADS * config.sequence_length**2)
    elementwise = _elementwise_bytes(tokens, size) * (1.0 if config.compile == "off" else FUSED)
    elementwise += LAYERS * scores * (2 * size + 10) if eager else 0.0
    full = BEST_SHARE[config.precision] * tokens / (tokens + HALF_SHARE_TOKENS[config.precision])
    products_s = max(products / (peak * full), weights / (PEAK_BYTES_PER_S * BANDWIDTH_SHARE))
    # eager attention multiplies the masked half too, but as a plain product
    attention_s = attended / (peak * (full if eager else 2 * ATTENTION_SHARE[config.precision]))
    bytes_s = elementwise / (PEAK_BYTES_PER_S * BANDWIDTH_SHARE)
    kernels_s = products_s + attention_s + bytes_s
    return Step(
        kernels_ms=1000 * kernels_s,
        launch_ms=_launch_ms(config),
        flops=products + (attended if eager else attended / 2),
        bytes_moved=weights + elementwise + 2.0 * tokens * size * VOCABULARY,
        weights=weights,
        allocated_mb=(weights + _working_bytes(tokens, size) + (scores * (2 * size + 4) if eager else 0)) / 1e6,
        largest_mb=max(tokens * VOCABULARY * size, scores * 4 if eager else 0) / 1e6,
        dynamic_w=_dynamic_w(
            (products_s + attention_s) * full / kernels_s, bytes_s / kernels_s, config.precision
        ),
        products_ms=1000 * products_s,
        attention_ms=1000 * attention_s,
        elementwise_ms=1000 * bytes_s,
    )


def _elementwise_bytes(tokens: int, size: int) -> float:
    """Return the bytes that norms, rotary embeddings, residuals and activations read and write."""
    return float(tokens * size * (LAYERS * (22 * HIDDEN + 5 * INTERMEDIATE) + VOCABULARY))


def _working_bytes(tokens: int, size: int) -> float:
    """Return the peak of live activations: the logits, and the widest tensors of a layer."""
    return float(tokens * size * (VOCABULARY + 3 * INTERMEDIATE + 4 * HIDDEN))


def _launch_ms(config: Config) -> float:
    per_layer = KERNELS_PER_LAYER[config.compile] + EAGER_ATTENTION_KERNELS * (config.attention == "eager")
    return (LAYERS * per_layer + OTHER_KERNELS) * LAUNCH_MS[config.compile]


def _dynamic_w(arithmetic: float, memory: float, precision: str) -> float:
    """Return the power of busy kernels: tensor cores at full rate exceed the limit, memory alone doesn't."""
    return 150.0 + (840.0 if precision == "bf16" else 560.0) * arithmetic + 300.0 * memory
