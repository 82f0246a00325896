"""History: expected time and memory of a sweep's cases, from earlier sessions on this machine."""

from __future__ import annotations  # array[float] can't be evaluated before Python 3.12

from bisect import bisect_left, insort
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import Literal

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.estimates.eta import (
    RoundSoFar,
    StepTimeModel,
    measuring_s,
    same_options,
    steps_left,
    warmup_s,
)
from benchtui.sessions.estimates.memory import guess_mb
from benchtui.sessions.journal.session_file import SessionFile
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stored_models.hub_cache import stored_folder
from benchtui.sessions.stored_models.stored_model import ModelShape, read_model
from benchtui.sessions.stored_models.stored_weights import stored_parameters
from benchtui.sessions.sweep import Config, Measure, Sweep, custom_task, task_named

NEWEST = 12
"""Number of earlier sessions to read."""
MOST_BYTES = 64_000_000
"""Sessions larger than this are skipped."""

ASSUMED_PARAMETERS = 100_000_000
"""Assumed size of a model that no session has loaded and whose weights aren't on this machine."""
FLOP_PER_S = {"cpu": 100e9, "cuda": 10e12}
"""Assumed speed of a device."""
ASSUMED_OVERHEAD_S = 5.0
"""Assumed time to start the worker and load the model."""
COMPILING_S = 20.0
FLOP_PER_TOKEN = 2
"""Per parameter, for a forward pass. Training takes three times that (Kaplan et al. 2020, table 1)."""

Basis = Literal["measured", "near", "guess"]
"""Basis of a prediction: the same case, cases with other options on the same device, or assumptions."""
Group = tuple[object, ...]


class Prediction(msgspec.Struct, frozen=True):
    """Expected time and memory of a case. Without history, both are None for a user-defined step."""

    seconds: float | None
    """For all rounds, including worker start, loading and warm-up."""
    time_basis: Basis
    memory_mb: float | None
    """Peak on the device; for a case on the CPU, the worker's resident memory."""
    memory_basis: Basis
    ran_out: bool = False
    """Whether a case with the same options and at most this size ran out of memory."""


class HistoryEstimator:
    """Time and memory learned for one model and task on one machine."""

    def __init__(self) -> None:
        self.sessions = 0
        """Number of sessions learned from."""
        self.parameters: int | None = None
        """Parameters of the model, if a session has loaded it or its weights are on this machine."""
        self.shape: ModelShape | None = None
        """Sizes of the model, if its configuration is on this machine."""
        self._step_times = StepTimeModel()
        self._measured: set[tuple[Group, int]] = set()
        self._overhead_s: dict[Group, list[float]] = {}
        """By group (``same_options``) and by device: time of a round outside its steady steps and compiling."""
        self._peaks_mb: dict[Group, list[tuple[int, float]]] = {}
        """By group and by device: work per step and peak memory, sorted by work."""
        self._ran_out: dict[Group, int] = {}
        """By group: the least work that ran out of memory."""

    def learn(self, session: Session) -> None:
        """Learn from the cases that a session measured."""
        self.sessions += any(case.state in ("ok", "oom") for case in session.cases)
        for case in session.cases:
            if case.prepared is not None:
                self.parameters = case.prepared.model.parameters or self.parameters
            if case.state == "oom":
                least = self._ran_out.get(same_options(case.config), case.config.size)
                self._ran_out[same_options(case.config)] = min(least, case.config.size)
            elif case.state == "ok":
                self._learn(case)

    def learn_files(self, model: str) -> None:
        """Learn the sizes of a model from its files, if they are on this machine."""
        if folder := stored_folder(model):
            self.shape = read_model(folder).shape
            self.parameters = self.parameters or stored_parameters(folder)

    def predict(self, config: Config, sweep: Sweep) -> Prediction:
        """Predict time and memory of a case."""
        seconds, time_basis = self._round_time(config, sweep)
        memory_mb, memory_basis = self._memory_mb(config, sweep)
        ran_out = config.size >= self._ran_out.get(same_options(config), config.size + 1)
        total_s = None if seconds is None else seconds * sweep.measure.rounds
        return Prediction(total_s, time_basis, memory_mb, memory_basis, ran_out)

    def _learn(self, case: CaseState) -> None:
        self._step_times.learn(case)
        own, device = same_options(case.config), _device(case.config)
        self._measured.add((own, case.config.size))
        overhead_s, memory_mb = _overhead_s(case), case.peak_memory_mb
        for key in (own, device):
            if overhead_s is not None:
                self._overhead_s.setdefault(key, []).append(overhead_s)
            if memory_mb is not None:
                insort(self._peaks_mb.setdefault(key, []), (case.config.size, memory_mb))

    def _round_time(self, config: Config, sweep: Sweep) -> tuple[float | None, Basis]:
        own = same_options(config)
        overhead = self._overhead_s.get(own) or self._overhead_s.get(_device(config))
        step = self._step_times.step(config) if overhead else None
        if step is None or overhead is None:
            return _guess_s(config, sweep, self.parameters or ASSUMED_PARAMETERS), "guess"
        basis: Basis = "measured" if (own, config.size) in self._measured else "near"
        steps = self._step_times.steps_per_round(sweep.measure)
        rules = sweep.measure.for_device(config.device)
        return _round_s(step.seconds, fmean(overhead), rules, steps), basis

    def _memory_mb(self, config: Config, sweep: Sweep) -> tuple[float | None, Basis]:
        own = self._peaks_mb.get(same_options(config))
        peaks_mb = own or self._peaks_mb.get(_device(config))
        if not peaks_mb:
            return guess_mb(config, sweep, self.parameters or ASSUMED_PARAMETERS, self.shape), "guess"
        exact = own is not None and any(size == config.size for size, _ in own)
        return _interpolated_mb(peaks_mb, config.size), "measured" if exact else "near"


def load_history(entries: Iterable[SessionFile], sweep: Sweep, hostname: str) -> HistoryEstimator:
    """Learn from the newest sessions of the same model and task on this machine.

    Simulated sessions and broken files are skipped.
    """
    same_model = [
        entry
        for entry in entries
        if entry.started.host.hostname == hostname and entry.started.sweep.model == sweep.model
        if entry.started.simulated is None
    ]
    history = HistoryEstimator()
    for entry in [entry for entry in same_model if workload_key(entry.started.sweep) == workload_key(sweep)][
        :NEWEST
    ]:
        if (session := read_session(entry.path)) is not None:
            history.learn(session)
    if history.parameters is None and same_model:
        history.parameters = _parameters(read_session(same_model[0].path))
    history.learn_files(sweep.model)
    return history


def workload_key(sweep: Sweep) -> tuple[object, ...]:
    """Return the properties that two sweeps must share for one to predict the other."""
    entries = task_named(sweep.task).entries
    task = getattr(sweep, entries) if entries else None
    return (sweep.model, sweep.task, task, sweep.run.executor)


def read_session(path: Path) -> Session | None:
    """Load a session; None if the file is too large or can't be read."""
    try:
        return Session.load(path) if path.stat().st_size <= MOST_BYTES else None
    except (BenchtuiError, OSError):
        return None


def _parameters(session: Session | None) -> int | None:
    prepared = (case.prepared for case in session.cases if case.prepared) if session else ()
    return next((model_event.model.parameters for model_event in prepared), None)


def _device(config: Config) -> Group:
    """Return the wider group to use if nothing is known in the narrow one."""
    return (config.machine, config.model, config.device)


def _overhead_s(case: CaseState) -> float | None:
    """Return the time of the last round minus the number of its steps times their mean."""
    if case.started is None or case.finished is None or not case.measured.wall_ms:
        return None
    last = case.started.round
    steps = case.warmup.of_round(last) + case.measured.of_round(last)
    return max(0.0, case.finished.t - case.started.t - steps * fmean(case.measured.wall_ms) / 1000)


def _round_s(step_s: float, overhead_s: float, measure: Measure, steps: float) -> float:
    """Return the time of a round: its overhead, warm-up and measuring of this many steps."""
    steps_s = warmup_s(measure, step_s) + measuring_s(steps, step_s, measure)
    return min(overhead_s + steps_s, measure.timeout_s)


def _interpolated_mb(peaks_mb: list[tuple[int, float]], size: int) -> float:
    """Return the memory on the line through the two nearest cases. A single case is used as is."""
    sizes = dict(peaks_mb)
    if size in sizes or len(sizes) == 1:
        return sizes.get(size, peaks_mb[0][1])
    points = sorted(sizes.items())
    place = min(max(bisect_left(points, (size, 0.0)), 1), len(points) - 1)
    (low, low_mb), (high, high_mb) = points[place - 1], points[place]
    slope = max(0.0, (high_mb - low_mb) / (high - low))  # more work never needs less; a negative slope is noise
    return max(low_mb + slope * (size - low), 0.0)


def _guess_s(config: Config, sweep: Sweep, parameters: int) -> float | None:
    if custom_task(sweep.task):
        return None
    task = task_named(sweep.task)
    tokens = float(config.size if task.texts else config.batch_size * task.positions)
    if task.entries == "generate":
        tokens += config.batch_size * sweep.resolve(config).new_tokens
    if sweep.task == "lm-train":
        tokens *= 3 * sweep.resolve(config).accumulation
    step_s = FLOP_PER_TOKEN * parameters * tokens / FLOP_PER_S[config.device.partition(":")[0]]
    overhead_s = ASSUMED_OVERHEAD_S + (0.0 if config.compile == "off" else COMPILING_S)
    nothing_measured = RoundSoFar(0, 0.0, None, on_host=config.device == "cpu")
    rules = sweep.measure.for_device(config.device)
    return _round_s(step_s, overhead_s, rules, steps_left(nothing_measured, rules).steps)
