"""Requested options of a case next to the values that its worker read back. Independent of Textual."""

import msgspec

from benchtui.sessions.analysis.applied_options import has_no_part, was_applied
from benchtui.sessions.payloads import Effective
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep.options import READ_BACK, value_text
from benchtui.sessions.text.formatting import memory
from benchtui.tui.drawing.format import clean

WORDS = {True: "applied", False: "not applied", None: "not verified"}


class ActualOption(msgspec.Struct, frozen=True):
    """Option of a case, or of its task, as requested and as read back. All texts are sanitized."""

    name: str
    requested: str
    """Empty for an option of the task."""
    actual: str
    """Empty if it wasn't read back."""
    word: str
    """Whether it was applied, in words; empty for an option of the task."""
    applied: bool | None
    """None if unknown."""


def actual_options(case: CaseState) -> list[ActualOption]:
    """Return the case's options, then those of its task, such as the optimizer."""
    effective = case.effective
    actual = _actual_values(effective) if effective else {}
    options = []
    # a case named by another tool has its options in the name
    for name in () if case.config.label else READ_BACK:
        if not has_no_part(case, name):
            applied = was_applied(case, name) if effective else None
            requested = clean(value_text(getattr(case.config, name, "")))
            options.append(ActualOption(name, requested, actual.get(name, ""), WORDS[applied], applied))
    others = [name for name in effective.others if name not in READ_BACK] if effective else []
    return [*options, *(ActualOption(clean(name), "", actual[name], "", None) for name in others)]


def _actual_values(effective: Effective) -> dict[str, str]:
    compiled = {None: "", True: "compiled", False: "not compiled"}[effective.compiled]
    actual = {
        "precision": _dtypes(effective),
        "attention": clean(effective.attention or ""),
        "compile": compiled,
        "threads": "" if effective.threads is None else str(effective.threads),
        "padding": clean(effective.padding or ""),
        **{option: clean(str(value)) for option, value in effective.others.items()},
    }
    if "quantization" in actual and (weights := _quantized_weights(effective)):
        actual["quantization"] += f" ({weights})"
    if effective.draft_acceptance is not None:
        actual["draft"] = f"{actual.get('draft', '')} ({effective.draft_acceptance:.0%} accepted)"
    return actual


def _dtypes(effective: Effective) -> str:
    dtypes = {
        "weights": effective.weights_dtype,
        "autocast": effective.autocast_dtype,
        "output": effective.output_dtype,
        "products": "tf32" if effective.tf32 else None,
    }
    return ", ".join(f"{name} {clean(dtype)}" for name, dtype in dtypes.items() if dtype)


def _quantized_weights(effective: Effective) -> str:
    layers = [f"{count:,} {layer}" for layer, count in effective.layers.items()]
    size = [] if effective.weights_mb is None else [str(memory(effective.weights_mb))]
    return clean(", ".join([*layers, *size]))
