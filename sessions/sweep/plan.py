"""Sweep plan: axes multiplied out, exclusions applied, meaningless combinations skipped with a reason."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.stored_models.measurable import Inputs, unmeasured_reason
from benchtui.sessions.sweep.model import (
    ALL_GPUS,
    ALL_KINDS,
    MOST_CASES,
    SYNTHETIC,
    Case,
    Measure,
    Sweep,
    custom_task,
)
from benchtui.sessions.sweep.options import (
    AXES,
    FLASH,
    GPU_ATTENTIONS,
    GPU_QUANTIZATIONS,
    KERNEL,
    OPTIONS,
    Config,
    Exclusion,
    Option,
)
from benchtui.sessions.sweep.tasks import TASKS, task_named


def cases(sweep: Sweep) -> list[Case]:
    """Return every combination of the axes in run order: machine outermost, batch size innermost.

    Excluded combinations are left out. The second case of an A/A pair comes last.
    """
    planned = [
        Case(index, config, unsupported_reason(config) or incompatible_reason(config, sweep))
        for index, config in enumerate(included_configs(sweep))
    ]
    return [*planned, *_again(planned, sweep.measure)]


def included_configs(sweep: Sweep) -> Iterator[Config]:
    """Iterate over the combinations of the axes that aren't excluded, in order."""
    values = (getattr(sweep.axes, axis) for axis in AXES)
    configs = (
        Config(**dict(zip(AXES, row, strict=True)), unset=sweep.axes.unset)
        for row in itertools.product(*values)
    )
    return itertools.filterfalse(exclusion_matcher(sweep.exclude), configs)


def exclusion_matcher(exclude: Iterable[Exclusion]) -> Callable[[Config], bool]:
    """Return a predicate for excluded cases that stays fast with many exclusions."""
    groups: dict[tuple[str, ...], set[tuple[str | int, ...]]] = {}
    for exclusion in exclude:
        named = exclusion.named
        groups.setdefault(tuple(named), set()).add(tuple(named.values()))
    return lambda config: any(
        tuple(getattr(config, field) for field in fields) in values for fields, values in groups.items()
    )


def _again(planned: list[Case], rules: Measure) -> list[Case]:
    """Return the second case of an A/A pair: a repeat of the baseline, or else of the first runnable case."""
    sound = [case for case in planned if case.skip is None]
    wanted = [case for case in sound if rules.baseline is None or rules.baseline.matches(case.config)]
    if not rules.aa or not planned:
        return []
    first = next(iter([*wanted, *sound, *planned]))
    return [Case(len(planned), msgspec.structs.replace(first.config, repeat=1), first.skip)]


def missing_device_reason(device: str, where: str, why: str) -> str:
    """Return the skip reason of a case whose device is missing on a machine."""
    return f"no {device} on {where}: {why}"


def lacked_device(config: Config, reason: str) -> bool:
    """Return whether a reason is that of ``missing_device_reason`` for the device of this case."""
    return reason.startswith(missing_device_reason(config.device, "", "").removesuffix(": "))


def expand_gpus(sweep: Sweep, count: int) -> Sweep:
    """Replace ``cuda:*`` with ``count`` devices, or with ``cuda:0`` if there are none.

    Raises BenchtuiError if that makes too many cases.
    """
    gpus = [f"cuda:{index}" for index in range(max(count, 1))]
    return _in_place_of(ALL_GPUS, gpus, "device", sweep, f"{count} GPUs")


def expand_node_kinds(sweep: Sweep, kinds: Sequence[str]) -> Sweep:
    """Replace ``*`` on the axis ``machine`` with these kinds of nodes.

    Raises BenchtuiError if that makes too many cases.
    """
    return _in_place_of(ALL_KINDS, kinds, "machine", sweep, f"{len(kinds)} kinds of nodes")


def _in_place_of(sign: str, values: Sequence[str], axis: str, sweep: Sweep, what: str) -> Sweep:
    """Replace one value of an axis with others, without duplicates."""
    given: tuple[str, ...] = getattr(sweep.axes, axis)
    if sign not in given:
        return sweep
    wanted = (values if value == sign else [value] for value in given)
    whole = tuple(dict.fromkeys(itertools.chain.from_iterable(wanted)))
    replaced = msgspec.structs.replace(sweep, axes=msgspec.structs.replace(sweep.axes, **{axis: whole}))
    if replaced.planned > MOST_CASES:
        raise BenchtuiError(
            f"axes.{axis}: {what} make {replaced.planned:,} cases; at most {MOST_CASES:,} are allowed"
        )
    return replaced


def unsupported_reason(config: Config) -> str | None:
    """Return why a combination is meaningless on any machine, or None."""
    if reason := _unsupported_backend(config):
        return reason
    if config.precision == "int8" and config.quantization != "off":
        return f"int8 already quantizes the weights; quantization={config.quantization} needs another precision"
    return _unsupported_on_cpu(config) if config.device == "cpu" else _unsupported_on_gpu(config)


_BACKEND_PRECISIONS = {
    ("aoti", "cpu"): ("fp32", "bf16", "fp16"),
    ("aoti", "cuda"): ("fp32", "tf32", "bf16", "fp16"),
    ("onnxruntime", "cpu"): ("fp32", "int8"),
    ("onnxruntime", "cuda"): ("fp32", "tf32", "fp16"),
    ("onnxruntime-tensorrt", "cuda"): ("tf32", "fp16"),
    ("openvino", "cpu"): ("fp32", "amp-bf16"),
}
"""Precisions that each backend computes as requested, by the kind of device. TensorRT rounds fp32 to TF32."""


def _unsupported_backend(config: Config) -> str | None:
    """Return why a backend other than torch can't run a combination, or None."""
    backend, kind = config.backend, config.device.partition(":")[0]
    if backend == "torch":
        return None
    precisions = _BACKEND_PRECISIONS.get((backend, kind))
    if precisions is None:
        kinds = " or ".join(device for name, device in _BACKEND_PRECISIONS if name == backend)
        return f"backend {backend} runs on {kinds}, not on {config.device}"
    if config.compile != "off":
        return (
            f"backend {backend} runs an exported network, which torch.compile doesn't change; use compile = off"
        )
    if config.quantization != "off":
        return f"quantization {config.quantization} is for backend torch"
    if config.padding == "packed":
        return f"backend {backend} runs an exported network, which has no packed rows; use padding = longest"
    if config.precision not in precisions:
        return f"backend {backend} computes in {', '.join(precisions)} on {kind}, not in {config.precision}"
    return None


def _unsupported_on_gpu(config: Config) -> str | None:
    if config.precision == "int8":
        return "int8 is torch's dynamic quantization, which runs only on cpu"
    if config.attention == "sdpa-cudnn" and config.precision in ("fp32", "tf32"):
        return "cuDNN's attention supports only fp16 and bf16"
    return _unsupported_flash(config) if config.attention in FLASH else None


def _unsupported_on_cpu(config: Config) -> str | None:
    if config.precision == "tf32":
        return "tf32 is a mode of NVIDIA tensor cores; on cpu it would measure fp32 again"
    if config.compile == "reduce-overhead":
        return "reduce-overhead uses CUDA graphs; on cpu it would measure compile=default again"
    if config.attention in FLASH:
        return "flash attention needs a CUDA device"
    if config.attention in GPU_ATTENTIONS or config.attention.startswith(KERNEL):
        return f"attention {config.attention} needs a CUDA device"
    if config.quantization in GPU_QUANTIZATIONS:
        return f"quantization {config.quantization} needs a CUDA device"
    return "liger's layers need a CUDA device" if config.liger == "on" else None


def _unsupported_flash(config: Config) -> str | None:
    """Return why flash attention can't run on a GPU with the other options, or None."""
    if config.precision in ("fp32", "tf32"):
        return "flash attention supports only fp16 and bf16"
    if config.cache == "static":
        return "flash attention doesn't support masks, and a static cache needs one; use attention = sdpa"
    return None


def incompatible_reason(config: Config, sweep: Sweep) -> str | None:
    """Return why a combination is meaningless with the rest of the sweep, or None."""
    if config.machine and sweep.run.executor == "local":
        return f'machine {config.machine} names nodes of a cluster; set run.executor = "ray"'
    if custom_task(sweep.task):
        if config.quantization != "off":
            return "quantization doesn't apply to a step of your own; use axes.parameters"
        return _without_effect(config, sweep)
    if config.parameters:
        return f"parameters ({config.parameters}) are for a step of your own"
    checks = {
        "lm-train": _untrainable_reason,
        "generate": _ungeneratable_reason,
        "serve-batch": _unservable_reason,
    }
    reason = checks[sweep.task](config) if sweep.task in checks else None
    if config.padding == "packed" and not task_named(sweep.task).packs:
        reason = "padding=packed is for tasks lm-forward and lm-train"
    return reason or _without_effect(config, sweep) or _unmeasured_reason(config, sweep)


def _unmeasured_reason(config: Config, sweep: Sweep) -> str | None:
    """Return why the task can't measure the model of a case, or None."""
    if sweep.task not in TASKS:
        return None
    resolved, generates = sweep.resolve(config), sweep.task in ("generate", "serve-batch")
    task = task_named(sweep.task)
    inputs: Inputs = "tokens" if task.texts and sweep.dataset == SYNTHETIC else task.inputs
    length, new_tokens = resolved.sequence_length, resolved.new_tokens if generates else 0
    return unmeasured_reason(sweep.task, resolved.model, sweep.weights, inputs, length, new_tokens)


def _untrainable_reason(config: Config) -> str | None:
    if config.precision == "fp16":
        return "fp16 weights can't be trained: their gradients underflow and can't be scaled; amp-fp16 trains"
    if config.precision == "int8":
        return "int8 weights can't be trained"
    if config.quantization != "off" and (config.lora == "off" or not config.quantization.startswith("bnb-")):
        return "quantized weights can't be trained; lora trains adapters on top of those of bitsandbytes"
    return None


def _ungeneratable_reason(config: Config) -> str | None:
    if config.backend != "torch":
        return (
            f"backend {config.backend} has a KV cache only through optimum-intel or optimum-onnx, which need"
            " transformers before 5.6 and 4.58"
        )
    if config.uses_cuda_graphs and config.cache != "static":
        return (
            f"{config.compile} uses CUDA graphs, which require fixed shapes, but a dynamic cache grows;"
            " use cache = static"
        )
    if config.draft == "off":
        return None
    if config.batch_size > 1:
        return "transformers checks a draft for one sample at a time; use batch_size = 1"
    if config.cache == "static" or config.compile != "off":
        return "checking a draft removes tokens from the cache; use cache = dynamic and compile = off"
    return None


def _unservable_reason(config: Config) -> str | None:
    """Return why transformers' continuous batching can't run a combination, or None."""
    if config.precision.startswith("amp-"):
        return "continuous batching runs in a separate thread, without autocast; use bf16 or fp16"
    if config.compile != "off":
        return "transformers decides itself what it compiles for continuous batching; use compile = off"
    if config.attention not in ("auto", "eager", "flash", "flash3") and not config.attention.startswith("sdpa"):
        return (
            f"attention {config.attention}: continuous batching supports only eager, sdpa and flash attention"
        )
    return None


def _without_effect(config: Config, sweep: Sweep) -> str | None:
    """Return why an option has no effect on the task or on synthetic tokens, or None."""
    for option in OPTIONS:
        name, value = option.name, getattr(config, option.name)
        reason = _no_effect_reason(option, sweep)
        if reason and value != option.default:
            return f"{reason}; {name}={value} would measure {name}={option.default} again"
    return None


def lacking_devices(sweep: Sweep, missing: Callable[[Config], str]) -> dict[str, str]:
    """Return the devices of a sweep that a machine lacks, with the reasons; none if it lacks all of them."""
    reasons = {device: missing(Config(device=device)) for device in sweep.axes.device}
    return {device: reason for device, reason in reasons.items() if reason} if not all(reasons.values()) else {}


def _no_effect_reason(option: Option, sweep: Sweep) -> str | None:
    if option.tasks and sweep.task not in option.tasks:
        noun = "tasks" if len(option.tasks) > 1 else "task"
        return f"{option.name} is for {noun} {', '.join(option.tasks)} only"
    if option.name == "padding" and not task_named(sweep.task).pads:
        return f"task {sweep.task} doesn't pad"
    if option.of_texts and sweep.dataset == SYNTHETIC:
        return "synthetic rows have no text to tokenize or pad"
    return None
