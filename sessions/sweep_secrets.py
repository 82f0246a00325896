"""Secrets of a sweep: it carries masks where its record has them, and the values behind them separately.

A mask stands for the value of one name, such as ``API_KEY=***``. Further values of that name have numbers,
``***2``, so that cases that differ only in a secret remain different cases. Only jobs of workers contain the
values again.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeVar

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.record_texts import replace_texts
from benchtui.sessions.secrets import MASK, KnownSecrets, looks_secret, masked, masked_variable
from benchtui.sessions.sweep import named_values
from benchtui.sessions.sweep.model import Sweep
from benchtui.sessions.sweep.options import BY_NAME, Config

Purpose = Literal["run", "resume", "explain"]
R = TypeVar("R")
_NAME = re.compile(r"(\w+)=")
_NUMBERED = re.compile(r"\*\*\*\d")


class SecretSweep(Sweep, frozen=True, kw_only=True, omit_defaults=False):
    """A sweep with masked values, and the values. It is sent to the engine, and never recorded."""

    secrets: dict[str, str] = {}  # noqa: RUF012  (msgspec copies it)
    """Values by the masked pair that stands for them: ``API_KEY=***2``."""


def with_masks(sweep: Sweep) -> Sweep:
    """Return a sweep with its secrets masked; one with none stays as it is."""
    secrets = Secrets(sweep)
    recorded = secrets.recorded(sweep)
    return SecretSweep(**_fields(recorded), secrets=secrets.values) if secrets.values else recorded


def to_send(sweep: Sweep) -> SecretSweep:
    """Return a sweep as a client sends it to the engine."""
    return sweep if isinstance(sweep, SecretSweep) else SecretSweep(**_fields(sweep))


class MaskedPair(NamedTuple):
    """A masked value with its name, such as ``API_KEY=***``."""

    text: str
    variable: bool = False
    """Whether it is an environment variable."""


class Secrets:
    """Masks of the secrets in a sweep, and the values behind them."""

    def __init__(self, sweep: Sweep | None = None, environment: Mapping[str, str] | None = None) -> None:
        """Start with the values that a sweep carries. ``environment`` has the secrets that texts may quote."""
        self.values: dict[str, str] = dict(sweep.secrets) if isinstance(sweep, SecretSweep) else {}
        self._masks = {(_name_of(pair), value): _mask_of(pair) for pair, value in self.values.items()}
        self._recorded: set[str] = set()
        """Masked pairs of the record that is continued. New values get other masks."""
        self._environment = environment or {}
        self._known: KnownSecrets | None = None

    def recorded(self, sweep: Sweep) -> Sweep:
        """Return the sweep to record, without values."""
        plain = Sweep(**_fields(sweep)) if isinstance(sweep, SecretSweep) else sweep
        return self.masked_record(plain)

    def masked_record(self, record: R) -> R:
        """Return a sweep, a case or an event with its secrets masked, unlike values by unlike masks."""
        return replace_texts(record, self._mask)

    def revealed(self, record: R) -> R:
        """Return a sweep, case or table of variables with the values in place of their masks."""
        return replace_texts(record, self._reveal) if self.values else record

    def cleaned(self, name: str, text: str) -> str:
        """Mask secrets in a text from elsewhere: an exception, a reason, or options as read back."""
        if _is_line(name):
            return self._mask(name, text)
        self._known = self._known or KnownSecrets(self._environment, self.values.values())
        return self._known.masked(text)

    def restore(self, sweep: Sweep, configs: Iterable[Config], purpose: Purpose) -> None:
        """Take values that the record doesn't have from the environment variables of the same names.

        Raises BenchtuiError if one isn't set there, or couldn't be told from others. The message names it.
        """
        unknown = [pair for pair in dict.fromkeys(_needed(sweep, configs)) if pair.text not in self.values]
        lines = (*sweep.axes.env, *sweep.axes.parameters)
        self._recorded = {text for line in lines for text in _pairs_in(line)}
        for pair in unknown:
            name = _name_of(pair.text)
            second = f"{name}={_numbered(_mask_of(pair.text), 2)}"
            several = second in self._recorded or _NUMBERED.search(pair.text) is not None
            self.values[pair.text] = value = self._from_environment(pair, several, purpose)
            self._masks[name, value] = _mask_of(pair.text)
        self._known = None

    def require(self, configs: Iterable[Config]) -> None:
        """Raise BenchtuiError if a case has a masked value that is unknown."""
        for config in configs:
            for pair in _masked_pairs(config):
                if pair.text not in self.values:
                    name = _name_of(pair.text)
                    raise BenchtuiError(f"{name} is masked in the session, and its value is unknown")

    def _from_environment(self, masked_pair: MaskedPair, several: bool, purpose: Purpose) -> str:
        name, mask = _name_of(masked_pair.text), _mask_of(masked_pair.text)
        where = "sweep" if purpose == "run" else "session"
        if not masked_pair.variable:
            raise BenchtuiError(f"{name} is masked in the {where} ({mask}): start a sweep with its value")
        if several:
            raise BenchtuiError(f"{name} has several values, masked in the {where}: start a sweep with them")
        value = self._environment.get(name)
        if value is None or masked_variable(name, value) != mask:
            as_mask = "" if mask == MASK else f" to {mask}"
            raise BenchtuiError(
                f"{name} is masked in the {where}: set it{as_mask} in the environment to {purpose}"
            )
        return value

    def _mask(self, name: str, text: str) -> str:
        if not _is_line(name):
            return self._mask_value(name, text)
        if not (masked(text) != text or any(map(looks_secret, _NAME.findall(text)))):
            return text
        try:
            values = named_values.texts(text)
        except ValueError:  # a line of another source
            return masked(text)
        return named_values.text_of(
            {variable: self._mask_value(variable, value) for variable, value in values.items()}
        )

    def _mask_value(self, name: str, value: str) -> str:
        mask = masked_variable(name, value)
        if mask == value:
            return value
        if (name, value) not in self._masks:
            number = 1
            while (pair := f"{name}={_numbered(mask, number)}") in self.values or pair in self._recorded:
                number += 1
            self._masks[name, value] = numbered = _numbered(mask, number)
            self.values[f"{name}={numbered}"] = value
            self._known = None
        return self._masks[name, value]

    def _reveal(self, name: str, text: str) -> str:
        if MASK not in text:
            return text
        if not _is_line(name):
            return self.values.get(f"{name}={text}", text)
        try:
            values = named_values.texts(text)
        except ValueError:
            return text
        return named_values.text_of(
            {variable: self.values.get(f"{variable}={value}", value) for variable, value in values.items()}
        )


def _is_line(name: str) -> bool:
    """Return whether a field contains ``name=value`` pairs."""
    return name in BY_NAME and BY_NAME[name].named_values


def _fields(sweep: Sweep) -> dict[str, Any]:
    return {field: getattr(sweep, field) for field in Sweep.__struct_fields__}


def _name_of(pair: str) -> str:
    return pair.partition("=")[0]


def _mask_of(pair: str) -> str:
    return pair.partition("=")[2]


def _numbered(mask: str, number: int) -> str:
    return mask if number == 1 else mask.replace(MASK, f"{MASK}{number}", 1)


def _needed(sweep: Sweep, configs: Iterable[Config]) -> Iterator[MaskedPair]:
    """Yield the masked pairs that running these cases needs."""
    yield from (MaskedPair(f"{name}={value}", True) for name, value in sweep.env.items() if MASK in value)
    texts = {"model": sweep.model, "task": sweep.task, "dataset": sweep.dataset, "address": sweep.run.address}
    yield from (MaskedPair(f"{name}={text}") for name, text in texts.items() if MASK in text)
    for config in configs:
        yield from _masked_pairs(config)


def _masked_pairs(config: Config) -> Iterator[MaskedPair]:
    for name in Config.__struct_fields__:
        value = getattr(config, name)
        if isinstance(value, str) and MASK in value:
            pairs = _pairs_in(value) if _is_line(name) else [f"{name}={value}"]
            yield from (MaskedPair(pair, name == "env") for pair in pairs)


def _pairs_in(line: str) -> list[str]:
    if MASK not in line:
        return []
    return [f"{name}={value}" for name, value in named_values.texts(line).items() if MASK in value]
