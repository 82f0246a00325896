"""Applied options: the values that a case actually ran with, read back from the model and its output."""

import re
from collections.abc import Callable
from typing import Any

from benchtui.sessions.payloads import Effective
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Config
from benchtui.sessions.sweep.options import BY_NAME, KERNEL, READ_BACK

_FLASH = re.compile(r"flash[-_]att(?:ention|n)[-_]?(\d?)")
_FLASH_VERSIONS = {"flash": ("2", ""), "flash3": ("3",)}
"""Versions in FlashAttention names, such as ``flash_attention_2`` or ``kernels-community/flash-attn2``. The
name of the ROCm build, ``aiter-flash-attn``, has no version."""
AUTOCAST = "amp-"
DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "int8": "qint8"}


def was_applied(case: CaseState, option: str) -> bool | None:
    """Return whether an option, such as ``precision`` or ``threads``, was applied; None if unknown."""
    effective = case.effective
    return None if effective is None else _was_applied(option, case.config, effective)


def unapplied_options(config: Config, effective: Effective) -> tuple[str, ...]:
    """Return a mark for each option that was requested but not applied."""
    wrong = [option for option in READ_BACK if _was_applied(option, config, effective) is False]
    return tuple(f"{option} {getattr(config, option)} was requested but not applied" for option in wrong)


def has_no_part(case: CaseState, option: str) -> bool:
    """Return whether an option is neither requested nor read back: it is for another task, or is newer."""
    row, read_back = BY_NAME[option], case.effective.others if case.effective else {}
    optional = row.tasks or not (row.own_fields or row.free)
    return bool(optional) and option not in read_back and getattr(case.config, option) == row.default


def _was_applied(option: str, config: Config, effective: Effective) -> bool | None:
    requested = getattr(config, option)
    if BY_NAME[option].free and requested == BY_NAME[option].default:
        return True
    if option in effective.unread and requested != BY_NAME[option].default:
        return False
    if option in _CHECKS:
        return _CHECKS[option](requested, effective)
    actual = effective.others.get(option, getattr(effective, option, None))
    return None if actual is None else actual == requested


def _precision(requested: str, effective: Effective) -> bool | None:
    if requested.startswith(AUTOCAST):
        return _autocast(DTYPES.get(requested.removeprefix(AUTOCAST)), effective)
    kept = "float32" if requested == "tf32" else DTYPES.get(requested)
    if kept is None or effective.weights_dtype is None:
        return None
    if _bare(effective.weights_dtype) != kept or effective.autocast_dtype is not None:
        return False
    if requested == "tf32":
        return effective.tf32
    return not (requested == "fp32" and effective.tf32)


def _autocast(dtype: str | None, effective: Effective) -> bool | None:
    if effective.autocast_dtype is not None:
        return _bare(effective.autocast_dtype) == dtype
    # None means no autocast, or nothing read back. In the latter case the output dtype is None as well.
    return None if effective.output_dtype is None else False


def _compile(requested: str, effective: Effective) -> bool | None:
    if effective.compiled is None:
        return None
    return effective.compiled is (requested != "off") and effective.cuda_graphs is not False


def _attention(requested: str, effective: Effective) -> bool | None:
    actual = effective.attention
    if actual is None:
        return None
    if requested in _FLASH_VERSIONS:
        match = _FLASH.search(actual)
        return match is not None and match[1] in _FLASH_VERSIONS[requested]
    if requested.startswith(KERNEL):
        return requested.removeprefix(KERNEL) in actual
    return actual == requested if requested.startswith("sdpa-") else actual.startswith(requested)


_CHECKS: dict[str, Callable[[Any, Effective], bool | None]] = {
    "precision": _precision,
    "compile": _compile,
    "attention": _attention,
}
"""Checks of options whose actual value isn't spelled like the requested one."""


def _bare(dtype: str) -> str:
    return dtype.removeprefix("torch.")
