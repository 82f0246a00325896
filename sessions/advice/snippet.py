"""Snippet: the configuration of a measured case as runnable transformers code."""

from functools import cache
from os.path import expanduser
from typing import Any

import jinja2

from benchtui.sessions.sanitize import shell_word, visible
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import SYNTHETIC, Config, custom_task
from benchtui.sessions.sweep.library_names import (
    ADAMW_ARGUMENTS,
    AUTO_CLASSES,
    AUTOCAST_DTYPES,
    IMPLEMENTATIONS,
    SDPA_KERNELS,
    TORCHAO_CONFIGS,
    WEIGHTS_DTYPES,
    lora_arguments,
)
from benchtui.sessions.sweep.options import KERNEL, LOOKUP, LORA

_CONV1D = ("GPT2", "OpenAIGPT", "ImageGPT")
"""Architectures whose linear layers are ``Conv1D``, which torchao doesn't quantize."""


class _Code(str):
    """Text that is code already; anything else is written as a literal."""

    __slots__ = ()


def snippet(session: Session, case: CaseState) -> str | None:
    """Return code that runs a case's configuration; None if ``no_snippet_reason`` says why there is none.

    Text from the session becomes string literals, and comments of one line, so that none of it is code.
    """
    if no_snippet_reason(session, case):
        return None
    return _template().render(_values(session, case)) + "\n"


def no_snippet_reason(session: Session, case: CaseState) -> str | None:
    """Return in one line why a case has no snippet; None if it has one."""
    start, config = session.start, session.start.sweep.resolve(case.config)
    prepared = case.prepared
    architecture = prepared.model.architecture or "" if prepared else ""
    if start.source or config.label:
        return f"imported from {start.source or 'another tool'}, which doesn't record every option"
    if custom_task(start.sweep.task):
        return f"its step is code of your own, {start.sweep.task}"
    if start.sweep.task not in AUTO_CLASSES:
        return f"there is none for task {start.sweep.task}"
    if start.sweep.task == "image" and not (prepared and prepared.data and prepared.data.processor):
        return "the model has no image processor"
    if config.quantization.startswith("bnb-") and start.sweep.weights == "random":
        return f"{config.quantization} is for a checkpoint, and the weights were random"
    if config.quantization in TORCHAO_CONFIGS and architecture.startswith(_CONV1D):
        return f"{config.quantization} needs the Conv1D layers of {architecture} converted to linear ones"
    return None


def _literal(value: object) -> str:
    """Return a value as a Python literal, text in double quotes if it contains no quotes."""
    text = repr(value)
    return f'"{text[1:-1]}"' if isinstance(value, str) and not set(value) & set("'\"") else text


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("benchtui.sessions.advice", "."),
        finalize=lambda value: value if isinstance(value, _Code) else _literal(value),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"code": _Code, "comment": lambda text: _Code(visible(text))}
    return environment.get_template("snippet.py.j2")


def _values(session: Session, case: CaseState) -> dict[str, Any]:
    sweep, config = session.start.sweep, session.start.sweep.resolve(case.config)
    read_back = case.effective.others if case.effective else {}
    synthetic = sweep.dataset == SYNTHETIC and sweep.task != "image"
    return {
        "case_name": case.name,
        "config": config,
        "task": sweep.task,
        "weights": sweep.weights,
        "synthetic": synthetic,
        "model": expanduser(config.model),
        "bundled": case.prepared is not None and case.prepared.model.source == "bundled",
        "versions": _versions(session),
        "variables": _variables(sweep.env, config),
        "auto": AUTO_CLASSES[sweep.task],
        "classes": ", ".join(sorted(_classes(sweep.task, sweep.weights, config, synthetic))),
        "threads": config.tokenizer_threads or config.threads,
        "on_gpu": config.device != "cpu",
        "device_type": config.device.partition(":")[0],
        "dtype_argument": _dtype_argument(session),
        "dtype": WEIGHTS_DTYPES.get(config.precision, "float32"),
        "autocast": AUTOCAST_DTYPES.get(config.precision),
        "implementation": _implementation(config.attention),
        "sdpa_kernels": _sdpa_kernels(config.attention),
        "bitsandbytes": config.quantization.startswith("bnb-"),
        "torchao": TORCHAO_CONFIGS.get(config.quantization),
        "compile_mode": "" if config.compile in ("off", "default") else f", mode={config.compile!r}",
        "pooling": read_back.get("pooling", config.pooling),
        "lookup": int(lookup) if (lookup := config.draft.removeprefix(LOOKUP)).isdecimal() else None,
        "draft_model": None if config.draft == "off" or lookup.isdecimal() else config.draft,
        "lora": lora_arguments(config.lora) if config.lora in LORA[1:] else None,
        "adamw": ADAMW_ARGUMENTS.get(_optimizer(config)),
        "learning_rate": sweep.train.learning_rate,
    }


def _classes(task: str, weights: str, config: Config, synthetic: bool) -> set[str]:
    classes = {AUTO_CLASSES[task]}
    if weights == "random":
        classes.add("AutoConfig")
    if not synthetic:
        classes.add("AutoImageProcessor" if task == "image" else "AutoTokenizer")
    if config.quantization.startswith("bnb-"):
        classes.add("BitsAndBytesConfig")
    return classes


def _versions(session: Session) -> str | None:
    """Return what the case was measured with; None if that is unknown, or nothing was measured."""
    runtime = None if session.simulated else session.runtime
    versions = {"torch": runtime.torch, "transformers": runtime.transformers} if runtime else {}
    return ", ".join(f"{name} {version}" for name, version in versions.items() if version) or None


def _dtype_argument(session: Session) -> str:
    """Return the name of the argument, which transformers 4.56 renamed."""
    release = (session.runtime.transformers or "") if session.runtime else ""
    numbers = [int(part) for part in release.split(".")[:2] if part.isdecimal()]
    return "torch_dtype" if numbers and numbers < [4, 56] else "dtype"


def _variables(common: dict[str, str], config: Config) -> str:
    """Return the variables of all cases and of this one as words of a shell command."""
    words = [f"{name}={shell_word(value)}" for name, value in common.items()]
    return " ".join([*words, config.env] if config.env else words)


def _implementation(attention: str) -> str | None:
    if attention in SDPA_KERNELS:
        return "sdpa"
    return IMPLEMENTATIONS.get(attention, attention.removeprefix(KERNEL))


def _sdpa_kernels(attention: str) -> list[tuple[str, bool]]:
    """Return torch's kernels, each with whether it is allowed; none if attention leaves the choice to torch."""
    if attention not in SDPA_KERNELS:
        return []
    return [(kernel, kernel == SDPA_KERNELS[attention]) for kernel in SDPA_KERNELS.values()]


def _optimizer(config: Config) -> str:
    if config.optimizer != "auto":
        return config.optimizer
    return "adamw" if config.device == "cpu" else "adamw-fused"
