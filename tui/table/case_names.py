"""Case names on the screen: one spelling for the table, headings, the editor, charts and comparisons.

Files and commands use ``Config.name`` and labels of the report: in the same order, one word per option, such as
``bs=64``.
"""

from collections.abc import Collection, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Config
from benchtui.sessions.sweep.options import AXES, BY_NAME, IN_NAMES, OPTIONS

ALWAYS = ("device", "precision", "batch_size")
"""Options that every name has."""
CLEAR = ("quantization", "attention", "compile", "optimizer")
"""Options whose values explain themselves, such as ``sdpa``."""
PREFIXES = {
    option.name: option.prefix.rstrip("=") + " "
    for option in OPTIONS
    if option.prefix and option.name not in CLEAR
} | {"sequence_length": "seq "}
"""Words in front of all other values."""
MODES = {"default": "compiled"}
"""Words for compile modes whose own name is unclear."""
SHORT_PREFIXES = {
    "threads": "thr ",
    "tokenizer_threads": "tok ",
    "audio_seconds": "a",
    "sequence_length": "s",
    "batch_size": "b",
}
SHORT_MODES = {"default": "comp", "reduce-overhead": "reduce", "max-autotune": "autotune"}
"""Prefixes and compile modes in a table without room for the whole words."""
AGAIN = "again"
"""Last word of the second case of an A/A pair."""


def case_name(case: CaseState) -> str:
    """Return the name of a case's options; a rerun also names the number of the original case, from 1."""
    return config_name(case.config) + case.rerun_note


def config_name(config: Config, shown: Collection[str] = AXES) -> str:
    """Return a configuration's name, with the options in ``shown`` and those that every name has."""
    if config.label:
        return config.name
    named = (option for option in IN_NAMES if config.names(option) and (option in shown or option in ALWAYS))
    words = (_word(option, getattr(config, option)) for option in named)
    return " ".join(word for word in (*words, AGAIN if config.repeat else "") if word)


def option_name(option: str, value: str | int) -> str:
    """Return one option as in case names, such as ``seq 512``; a default is spelled out (``compile off``)."""
    return _word(option, value) or f"{BY_NAME[option].prefix.replace('=', ' ')}{value}"


def differing(configs: Sequence[Config], *axes: str) -> list[str]:
    """Return the options that differ between configurations, except the axes; else device and precision."""
    others = [option for option in IN_NAMES if option not in axes]
    varying = [option for option in others if len({getattr(config, option) for config in configs}) > 1]
    return varying or ["device", "precision"]


def short_name(config: Config, options: Collection[str]) -> str:
    """Return a configuration's values of some options; defaults only if there is nothing else."""
    values = [(option, getattr(config, option)) for option in IN_NAMES if option in options]
    words = [word for option, value in values if (word := _word(option, value))]
    return " ".join(words or (option_name(option, value) for option, value in values if value != ""))


def short_names(configs: Sequence[Config], *axes: str) -> list[str]:
    """Name each configuration by the options that differ, except the axes; an imported case by its label."""
    shown = differing(configs, *axes)
    return [config.name if config.label and not axes else short_name(config, shown) for config in configs]


def matches(name: str, filter_text: str) -> bool:
    """Return whether a name contains all words of a filter; ``bs=4``, as in files, matches ``bs 4``."""
    text = name.lower()
    return all(word in text or word.replace("=", " ") in text for word in filter_text.lower().split())


class NamePart(msgspec.Struct, frozen=True):
    """Format of one option in aligned names."""

    option: str
    digits: int
    """Width of the widest value; numbers are right-aligned in it."""
    width: int
    short_width: int
    """Width in cells, in whole words and in short ones."""
    differs: bool
    short: bool = False


class CaseNames(msgspec.Struct, frozen=True):
    """Format of aligned case names: the options that differ, each as wide as its widest value."""

    parts: tuple[NamePart, ...]
    cut: bool = False
    """Whether the first options are replaced by an ellipsis."""

    @classmethod
    def of(cls, plan: Sequence[Config]) -> "CaseNames":
        """Select a plan's options: always device, precision and batch size; labels replace all options."""
        labeled = any(config.label for config in plan)
        parts = []
        for option in ("name",) if labeled else (*IN_NAMES, "repeat"):
            values = {_value(config, option) for config in plan}
            always = option in ALWAYS and any(config.names(option) for config in plan)
            if len(values) > 1 or always or option == "name":
                digits = max((len(str(value)) for value in values), default=0)
                whole, short = (
                    max((len(_word(option, value, digits, short)) for value in values), default=0)
                    for short in (False, True)
                )
                parts.append(NamePart(option, digits, whole, short, len(values) > 1))
        return cls(tuple(parts))

    @property
    def width(self) -> int:
        """Width of a case name in cells."""
        return max(sum(part.width + 1 for part in self.parts) - 1, 0) + 2 * self.cut

    def fitted(self, width: int) -> "CaseNames":
        """Shorten the names to a width in cells, one option at a time and no more than needed.

        Options that all cases share are left out, then words are shortened, then the first options left out.
        """
        names = self
        for names in self._shortened():
            if names.width <= width:
                break
        return names

    def without_shared(self) -> "CaseNames":
        """Leave out the options that all cases share, unless they share all of them."""
        return CaseNames(tuple(part for part in self.parts if part.differs) or self.parts)

    def shared_text(self, config: Config | None, fitted: "CaseNames | None") -> str:
        """Name the options that all cases share and that fitted names leave out."""
        shown = {part.option for part in fitted.parts} if fitted else set()
        absent = [part for part in self.parts if not part.differs and part.option not in shown]
        words = (_word(part.option, _value(config, part.option)) for part in absent) if config else ()
        return ", ".join(word for word in words if word)

    def text(self, config: Config, ellipsis: str = "") -> str:
        """Format a case's options, aligned: names left, numbers right."""
        words = (
            _word(part.option, _value(config, part.option), part.digits, part.short).ljust(part.width)
            for part in self.parts
        )
        return " ".join((*([ellipsis] if self.cut else []), *words))

    def _shortened(self) -> Iterator["CaseNames"]:
        """Yield the names in progressively shorter forms."""
        parts = self.parts
        yield self
        for part in parts:
            if not part.differs and len(parts) > 1:
                parts = tuple(other for other in parts if other is not part)
                yield CaseNames(parts)
        for place, part in enumerate(parts):
            if part.short_width < part.width:
                short = replace(part, width=part.short_width, short=True)
                parts = (*parts[:place], short, *parts[place + 1 :])
                yield CaseNames(parts)
        for first in range(1, len(parts)):
            yield CaseNames(parts[first:], cut=True)


def _value(config: Config, option: str) -> str | int:
    value: str | int = config_name(config) if option == "name" else getattr(config, option)
    return value


def _word(option: str, value: str | int, digits: int = 0, short: bool = False) -> str:
    """Return an option as in case names, a number right-aligned in ``digits`` cells; empty for the default."""
    if option == "repeat":
        return AGAIN if value else ""
    if option == "name":
        return str(value)
    if option not in (*ALWAYS, "sequence_length") and value == BY_NAME[option].default:
        return ""
    if option == "sequence_length" and not value:
        return ""
    text = (SHORT_MODES if short else MODES).get(str(value), str(value)) if option == "compile" else str(value)
    prefix = (SHORT_PREFIXES if short else PREFIXES).get(option, "")
    return prefix + (text.rjust(digits) if BY_NAME[option].numeric else text)
