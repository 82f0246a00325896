"""Custom task: a step defined in the user's Python file, ``task = "my_step.py:make_step"``.

The function is called once with a ``Case`` and returns an object with ``step()`` and ``samples``, the
number of samples per step. An optional ``tokens`` is read after each step: the number of tokens it processed.
An optional ``answer()`` is called once after the measured steps; its values are compared with the baseline's.
"""

import os
import traceback
from pathlib import Path
from typing import Any

import torch

from benchtui.engine.devices.base import Device, Lap, no_lap
from benchtui.engine.exception_text import child_error
from benchtui.engine.models import compilation
from benchtui.engine.workloads.base import Output, StepCounts, Workload
from benchtui.engine.workloads.own.case import Case
from benchtui.engine.workloads.own.module import import_file
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.payloads import Effective, Model
from benchtui.sessions.sweep import Config, Sweep, custom_task

FORKED_STEP_REASON = (
    "the step forked and returned in both processes, which would both measure the case;"
    " end the forked process with os._exit"
)

_LEFT_TO_THE_STEP = ("precision", "attention", "compile", "padding")
"""Options that only the step itself can apply."""


class CustomTask(Workload):
    """The user's step as a workload, which chooses its own data and batches."""

    def __init__(self, sweep: Sweep, config: Config, device: Device) -> None:
        """Call the user's function, which may raise. Raises BenchtuiError if it returns no valid step."""
        self._task = sweep.task
        self._config = config = sweep.resolve(config)
        self._lap: Lap = no_lap
        self._parts: tuple[str, ...] | None = None
        self._varied = tuple(name for name in _LEFT_TO_THE_STEP if len(getattr(sweep.axes, name)) > 1)
        self._pid = os.getpid()
        self._case = Case(
            config,
            weights=sweep.weights,
            dataset=sweep.dataset,
            torch_device=device.torch_device,
            lap=lambda part: self._lap(part),
        )
        function = _function(sweep.task)
        self._step = function(self._case)
        if not callable(getattr(self._step, "step", None)):
            kind = type(self._step).__name__
            raise BenchtuiError(f"{sweep.task} returned {kind}; it must be an object with step() and samples")
        self.samples = self._whole_number("samples", least=1)
        self.model = Model(name=config.model)
        self.marks = (f"step of {sweep.task}",)
        self.effective = self.read_back()

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

    def read_back(self) -> Effective:
        """Return threads and compilation, as reported by torch, and the parameters that the step has read."""
        parameters = self._case.parameters
        others: dict[str, str | int] = {"parameters": parameters.text} if parameters else {}
        return Effective(
            threads=torch.get_num_threads(), compiled=self._compiled(), others=others, unread=self._unread()
        )

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

    def _unread(self) -> tuple[str, ...]:
        """Return the options that vary and were never read. They may be read as late as in the first step."""
        if self._parts is None:
            return ()
        return tuple(name for name in self._varied if name not in self._case.options_read)

    def _compiled(self) -> bool | None:
        if compilation.graphs():
            return True
        return False if self._config.compile == "off" or self._parts is not None else None

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
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    if child := child_error(error):
        frames += child.frames
    lines = [line for filename, line in frames if filename == path]
    return f"{file}:{lines[-1]}: " if lines else ""


def _function(task: str) -> Any:  # noqa: ANN401  (a user-defined function)
    file, name = custom_task(task) or (task, "")
    function = getattr(import_file(Path(file).resolve(), task), name, None)
    if not callable(function):
        raise BenchtuiError(f"task {task!r}: {file} has no function {name}")
    return function
