"""Custom task: a step defined in the user's Python file, ``task = "my_step.py:make_step"``.

The function is called once with an ``OwnCase`` and returns an object with ``step()`` and ``samples``, the
number of samples per step. An optional ``tokens`` is read after each step: the number of tokens it processed.
An optional ``answer()`` is called once after the measured steps; its values are compared with the baseline's.
"""

import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from benchtui.engine.devices.base import Device, Lap, no_lap
from benchtui.engine.models import compilation
from benchtui.engine.workloads.base import Output, StepCounts
from benchtui.engine.workloads.inputs.own_case import OwnCase
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.payloads import Data, Effective, Model
from benchtui.sessions.sweep import Config, Sweep, custom_task, named_values
from benchtui.sessions.sweep.named_values import Scalar

FORKED_STEP_REASON = (
    "the step forked and returned in both processes, which would both measure the case;"
    " end the forked process with os._exit"
)


class ParametersRead(Mapping[str, Scalar]):
    """Parameters of a case, and which of them were read."""

    def __init__(self, line: str) -> None:
        self._values = named_values.scalars(line)
        self._texts = named_values.texts(line)
        self._read: set[str] = set()

    def __getitem__(self, name: str) -> Scalar:
        if name not in self._values:
            known = ", ".join(self._values) or "none"
            raise BenchtuiError(f"axes.parameters has no {name!r}; parameters of this sweep: {known}")
        self._read.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    @property
    def text(self) -> str:
        """Parameters that were read, with their values, as one line."""
        return named_values.text_of({name: text for name, text in self._texts.items() if name in self._read})


class CustomTask:
    """The user's step as a workload."""

    accumulated = 1
    new_tokens: int | None = None
    data: Data | None = None
    kv_cache_mb: float | None = None

    def __init__(self, sweep: Sweep, config: Config, device: Device) -> None:
        """Call the user's function, which may raise. Raises BenchtuiError if it returns no valid step."""
        self._task = sweep.task
        self._config = config = sweep.resolve(config)
        self._parameters = ParametersRead(config.parameters)
        self._lap: Lap = no_lap
        self._parts: tuple[str, ...] | None = None
        self._pid = os.getpid()
        function = _function(sweep.task)
        self._step = function(self._case(sweep, device))
        self.samples = self._whole_number("samples", least=1)
        self.model = Model(name=config.model)
        self.marks: tuple[str, ...] = (f"step of {sweep.task}",)
        self.effective = self.read_back()

    def begin_warmup(self) -> None:
        """Do nothing: there is nothing to prepare."""

    def begin_measuring(self) -> None:
        """Do nothing: the user's step chooses its own data."""

    def end_measuring(self) -> None:
        """Do nothing: the marks are complete."""

    def step(self, lap: Lap) -> None:
        """Run the user's step. Time after its last part is part ``rest``; without parts, all is ``step``."""
        parts: list[str] = []

        def pass_on(part: str) -> None:
            parts.append(part)
            lap(part)

        self._lap = pass_on
        self._step.step()
        self._lap = no_lap
        if os.getpid() != self._pid:
            raise BenchtuiError(FORKED_STEP_REASON)
        pass_on("rest" if parts else "step")
        self._check_parts(tuple(parts))

    def count(self, done: None) -> StepCounts:
        """Count the tokens of a step, if the user's object has ``tokens``."""
        if getattr(self._step, "tokens", None) is None:
            return StepCounts()
        return StepCounts(tokens=self._whole_number("tokens", least=0))

    def partial_step(self, lap: Lap, batches: int) -> None:
        """Raise AssertionError: whether the user's step accumulates batches is unknown."""
        raise AssertionError("a custom step has no known batches")

    def repeat_step(self, padded_tokens: int, *, one_batch: bool = False) -> int | None:
        """Return None: the user's step chooses its own batches."""
        return None

    def read_back(self) -> Effective:
        """Return threads and compilation, as reported by torch, and the parameters that the step has read."""
        others: dict[str, str | int] = {"parameters": self._parameters.text} if self._parameters else {}
        return Effective(threads=torch.get_num_threads(), compiled=self._compiled(), others=others)

    def answer(self, step_s: float) -> Output:
        """Return the result of the user's ``answer()``: a tensor, or numbers, nested or not.

        Raises BenchtuiError if there is no such method, or if it returns anything else.
        """
        function = getattr(self._step, "answer", None)
        if function is None:
            raise BenchtuiError("the step has no method answer()")
        returned = function()
        try:
            values = torch.as_tensor(returned).detach().cpu()
        except (TypeError, ValueError, RuntimeError) as error:
            kind = type(returned).__name__
            raise BenchtuiError(f"answer() returned {kind}; it must be a tensor or numbers") from error
        if values.is_complex():
            values = torch.view_as_real(values)
        return Output("values", values.to(torch.float64))

    def _compiled(self) -> bool | None:
        if compilation.graphs():
            return True
        return False if self._config.compile == "off" or self._parts is not None else None

    def _case(self, sweep: Sweep, device: Device) -> OwnCase:
        config = self._config
        return OwnCase(
            device=config.device,
            torch_device=device.torch_device,
            precision=config.precision,
            attention=config.attention,
            compile=config.compile,
            threads=config.threads,
            tokenizer_threads=config.tokenizer_threads,
            padding=config.padding,
            parameters=self._parameters,
            batch_size=config.batch_size,
            sequence_length=config.sequence_length,
            model=config.model,
            weights=sweep.weights,
            dataset=sweep.dataset,
            lap=lambda part: self._lap(part),
        )

    def _check_parts(self, parts: tuple[str, ...]) -> None:
        self._parts = self._parts or parts
        if set(parts) != set(self._parts):
            raise BenchtuiError(
                f"{self._task}: a step has the parts {', '.join(parts)}, an earlier one"
                f" {', '.join(self._parts)}; all steps must have the same parts"
            )

    def _whole_number(self, name: str, least: int) -> int:
        value = getattr(self._step, name, None)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise BenchtuiError(
                f"{self._task}: {name} of the step is {value!r}; it must be an integer of at least {least}"
            )
        return value


def error_location(error: BaseException, task: str) -> str:
    """Location of an error in the user's file, as ``my_step.py:12: ``. Empty if raised elsewhere."""
    own = custom_task(task)
    if own is None:
        return ""
    file, path = own[0], str(Path(own[0]).resolve())
    if isinstance(error, SyntaxError) and error.filename == path:
        return f"{file}:{error.lineno}: "
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if frame.f_code.co_filename == path]
    return f"{file}:{lines[-1]}: " if lines else ""


def _function(task: str) -> Any:  # noqa: ANN401  (a user-defined function)
    file, name = custom_task(task) or (task, "")
    function = getattr(_run_file(Path(file).resolve(), task), name, None)
    if not callable(function):
        raise BenchtuiError(f"task {task!r}: {file} has no function {name}")
    return function


def _run_file(path: Path, task: str) -> ModuleType:
    """Import the file as a module. It may import its neighbors, which can't shadow a library."""
    spec = importlib.util.spec_from_file_location("own_step", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise BenchtuiError(f"task {task!r}: no file {path}")
    sys.path.append(str(path.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
