"""Case names on the screen: one spelling for the table, headings, the editor, charts and comparisons."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Config
from benchtui.sessions.sweep.options import AXES, BY_NAME

ALWAYS = ("device", "precision", "batch_size")
"""Options that every name has."""
PREFIXES = {
    "cache": "cache ",
    "draft": "draft ",
    "lora": "lora ",
    "liger": "liger ",
    "activation_checkpointing": "ckpt ",
    "accumulation": "acc ",
    "threads": "threads ",
    "tokenizer_threads": "tok ",
    "padding": "pad ",
    "new_tokens": "new ",
    "sequence_length": "seq ",
    "batch_size": "bs ",
}
"""Words in front of values that don't explain themselves."""
COMPILED = "compiled"
"""Word for the compile mode ``default``, whose own name says nothing."""
AGAIN = "again"
"""Last word of the second case of an A/A pair."""


def case_name(case: CaseState) -> str:
    """Return the name of a case's options; a rerun also names the number of the original case."""
    of = case.added.of if case.added else None
    return config_name(case.config) + ("" if of is None else f" (rerun of case {of})")


def config_name(config: Config, shown: Collection[str] = AXES) -> str:
    """Return a configuration's name, with the options in ``shown`` and those that every name has."""
    if config.label:
        return config.name
    words = (_word(config, name) for name in AXES if name in shown or name in ALWAYS)
    return " ".join(word for word in (*words, AGAIN if config.repeat else "") if word)


@dataclass(frozen=True, slots=True)
class CaseNames:
    """Format of aligned case names: the options that differ, each as wide as its widest value."""

    widths: tuple[tuple[str, int, int], ...]
    """Each option with the width of its values, and of the whole column, in cells."""

    @classmethod
    def of(cls, plan: Sequence[Config]) -> "CaseNames":
        """Select a plan's options: always device, precision and batch size; labels replace all options."""
        labeled = any(config.label for config in plan)
        widths = []
        for option in ("name",) if labeled else (*AXES, "repeat"):
            samples = {_value(config, option): config for config in plan}
            if len(samples) > 1 or option in (*ALWAYS, "name"):
                size = max((len(str(value)) for value in samples), default=0)
                words = (len(_word(config, option, size)) for config in samples.values())
                widths.append((option, size, max(words, default=0)))
        return cls(tuple(widths))

    @property
    def width(self) -> int:
        """Width of a case name in cells."""
        return sum(width + 1 for _, _, width in self.widths) - 1

    def text(self, config: Config) -> str:
        """Format a case's options, aligned: names left, numbers right."""
        return " ".join(_word(config, option, size).ljust(width) for option, size, width in self.widths)


def _value(config: Config, option: str) -> str | int:
    value: str | int = config_name(config) if option == "name" else getattr(config, option)
    return value


def _word(config: Config, option: str, size: int = 0) -> str:
    """Return an option as names show it, a number right-aligned in ``size`` cells; empty for the default."""
    value = _value(config, option)
    if option == "repeat":
        return AGAIN if value else ""
    if option == "name":
        return str(value)
    if option not in (*ALWAYS, "sequence_length") and value == BY_NAME[option].default:
        return ""
    text = COMPILED if (option, value) == ("compile", "default") else str(value)
    return PREFIXES.get(option, "") + (text.rjust(size) if BY_NAME[option].numeric else text)
