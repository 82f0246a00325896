"""Case of a user-defined step: its options, as the user's function receives them. Imports no torch."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from benchtui.sessions.errors import BenchtuiError

if TYPE_CHECKING:  # annotations only: every command imports this module, and torch takes seconds
    import torch

    from benchtui.engine.devices.base import Lap
    from benchtui.sessions.sweep import Config
    from benchtui.sessions.sweep.named_values import Scalar

T = TypeVar("T")


class NamesRead:
    """Names that were read, in this process or in one forked from it.

    A forked loader of data may be the only reader, so the flags are in shared memory. A spawned process gets a
    copy whose flags can't be seen here, so all names count as read once there is one.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._places = {name: place for place, name in enumerate(names)}
        self._flags = mmap.mmap(-1, len(self._places) + 1)  # a map can't be empty

    def add(self, name: str) -> None:
        """Record that a name was read."""
        self._flags[self._places[name]] = 1

    def __contains__(self, name: str) -> bool:
        return name in self._places and self._flags[self._places[name]] == 1

    def __reduce__(self) -> tuple[type[NamesRead], tuple[tuple[str, ...]]]:
        for name in self._places:
            self.add(name)
        return NamesRead, (tuple(self._places),)


class ParametersRead(Mapping[str, "Scalar"]):
    """Parameters of a case, and which of them were read."""

    def __init__(self, line: str) -> None:
        from benchtui.sessions.sweep import named_values  # as above

        self._values = named_values.scalars(line)
        self._texts = named_values.texts(line)
        self._read = NamesRead(self._values)

    def __getitem__(self, name: str) -> Scalar:
        if name not in self._values:
            names = ", ".join(self._values) or "none"
            raise BenchtuiError(f"axes.parameters has no {name!r}; parameters of this sweep: {names}")
        self._read.add(name)
        return self._values[name]

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401  (as in Mapping)
        """Return a parameter, or a default if the sweep doesn't have it."""
        if name not in self._values:
            return default
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    @property
    def text(self) -> str:
        """Parameters that were read, with their values, as one line."""
        from benchtui.sessions.sweep import named_values  # as above

        return named_values.text_of({name: text for name, text in self._texts.items() if name in self._read})


class _Option(Generic[T]):
    """Option of the case. Reading it is recorded."""

    def __init__(self, description: str) -> None:
        self.__doc__ = description

    def __set_name__(self, owner: type[Case], name: str) -> None:
        self._name = name

    def __get__(self, case: Case | None, owner: type[Case]) -> T:
        if case is None:
            raise AttributeError(f"{self._name} is an option of a case; the class has no value of it")
        case.options_read.add(self._name)
        value: T = getattr(case.config, self._name)
        return value

    def __set__(self, case: Case, value: T) -> None:
        raise AttributeError(f"{self._name} is an option of the case; set axes.{self._name} in the sweep")


class Case:
    """Options of a case, passed to your function. Your step applies them itself, except threads.

    ``parameters`` has the values of ``axes.parameters`` by name; one that is never read is marked as not
    applied. ``weights`` and ``dataset`` are names in the sweep; nothing is loaded. ``torch_device`` is the
    device as torch's object. ``lap("data")`` ends a part of the step.
    """

    device = _Option[str]("``cpu`` or ``cuda:N``.")
    precision = _Option[str]("``fp32``, ``bf16`` or another precision of the sweep.")
    attention = _Option[str]("Attention implementation, or ``auto``.")
    compile = _Option[str]("``off``, or a mode of ``torch.compile``.")
    threads = _Option[int]("Threads of torch, already applied; 0 is torch's default.")
    tokenizer_threads = _Option[int]("Threads of tokenizers, already applied; 0 is as many as ``threads``.")
    padding = _Option[str]("How rows of a batch are padded.")
    batch_size = _Option[int]("Samples per batch.")
    sequence_length = _Option[int]("Tokens per sample.")
    model = _Option[str]("Name or folder of the model; nothing is loaded.")

    def __init__(
        self, config: Config, *, weights: str, dataset: str, torch_device: torch.device, lap: Lap
    ) -> None:
        self.config = config
        self.options_read = NamesRead(config.__struct_fields__)
        self.parameters = ParametersRead(config.parameters)
        self.weights, self.dataset = weights, dataset
        self.torch_device = torch_device
        self.lap = lap

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy in another process has. Parts are timed in the measured process only."""
        return self.__dict__ | {"lap": _no_lap}


def _no_lap(part: str) -> None:
    """Ignore the end of a part."""
