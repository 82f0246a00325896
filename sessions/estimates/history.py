"""History: expected time and memory of a sweep's cases, from earlier sessions on this machine."""

from __future__ import annotations  # array[float] can't be evaluated before Python 3.12

import os
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

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
from benchtui.sessions.events import CasePrepared
from benchtui.sessions.journal.reader import Tail
from benchtui.sessions.journal.session_file import SessionFile
from benchtui.sessions.state.file_names import WEIGHTS
from benchtui.sessions.state.session import Session
from benchtui.sessions.stored_models.file_digests import file_digest, weights_digest
from benchtui.sessions.stored_models.hub_cache import CONFIG, model_place, stored_folder
from benchtui.sessions.stored_models.stored_model import ModelShape, read_model
from benchtui.sessions.stored_models.stored_weights import stored_parameters
from benchtui.sessions.sweep import Config, Sweep, custom_task, task_named

NEWEST = 12
"""Number of earlier sessions to read."""
MOST_BYTES = 64_000_000
"""Sessions larger than this are skipped."""
MOST_HEADS, HEAD_BYTES = 20, 2**17
"""Number of sessions of models with other names whose first bytes are read, since they may be copies."""

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
        self._peaks_mb: dict[Group, list[tuple[int, float]]] = {}
        """By group and by device: work per step and peak memory, sorted by work."""
        self._ran_out: dict[Group, int] = {}
        """By group: the least work that ran out of memory."""

    def learn(self, session: Session, names: Mapping[str, str] | None = None) -> None:
        """Learn from the cases that a session measured.

        ``names`` has the models to learn about by their names in the session; None for all of them.
        """
        default = session.start.sweep.model
        cases = [case for case in session.cases if names is None or (case.config.model or default) in names]
        self.sessions += any(case.state in ("ok", "oom") for case in cases)
        for case in cases:
            model = case.config.model or default
            case.config = replace(case.config, model=names[model] if names else model)
            if case.prepared is not None:
                self.parameters = case.prepared.model.parameters or self.parameters
            if case.state == "oom":
                least = self._ran_out.get(same_options(case.config), case.config.size)
                self._ran_out[same_options(case.config)] = min(least, case.config.size)
            elif case.state == "ok":
                self._step_times.learn(case)
                self._measured.add((same_options(case.config), case.config.size))
                if (memory_mb := case.peak_memory_mb) is not None:
                    for key in (same_options(case.config), _device(case.config)):
                        insort(self._peaks_mb.setdefault(key, []), (case.config.size, memory_mb))

    def learn_files(self, model: str) -> None:
        """Learn the sizes of a model from its files, if they are on this machine."""
        if folder := stored_folder(model):
            self.shape = read_model(folder).shape
            self.parameters = self.parameters or stored_parameters(folder)

    def predict(self, config: Config, sweep: Sweep) -> Prediction:
        """Predict time and memory of a case."""
        config = replace(config, model=config.model or sweep.model)
        seconds, time_basis = self._round_time(config, sweep)
        memory_mb, memory_basis = self._memory_mb(config, sweep)
        ran_out = config.size >= self._ran_out.get(same_options(config), config.size + 1)
        total_s = None if seconds is None else seconds * sweep.measure.rounds
        return Prediction(total_s, time_basis, memory_mb, memory_basis, ran_out)

    def _round_time(self, config: Config, sweep: Sweep) -> tuple[float | None, Basis]:
        known = self._step_times.case(config, sweep.measure) if self._step_times.knows(config) else None
        if known is None:
            return _guess_s(config, sweep, self.parameters or ASSUMED_PARAMETERS), "guess"
        return known.seconds, "measured" if (same_options(config), config.size) in self._measured else "near"

    def _memory_mb(self, config: Config, sweep: Sweep) -> tuple[float | None, Basis]:
        own = self._peaks_mb.get(same_options(config))
        peaks_mb = own or self._peaks_mb.get(_device(config))
        if not peaks_mb:
            return guess_mb(config, sweep, self.parameters or ASSUMED_PARAMETERS, self.shape), "guess"
        exact = own is not None and any(size == config.size for size, _ in own)
        return _interpolated_mb(peaks_mb, config.size), "measured" if exact else "near"


def load_history(entries: Iterable[SessionFile], sweep: Sweep, hostname: str) -> HistoryEstimator:
    """Learn from the newest sessions of the same models and task on this machine, under whatever names.

    Simulated sessions and broken files are skipped.
    """
    here = (entry for entry in entries if entry.started.host.hostname == hostname)
    measured = [entry for entry in here if entry.started.simulated is None]
    same_models, task = _of_models(measured, sweep), _task_key(sweep)
    history = HistoryEstimator()
    for entry, names in [pair for pair in same_models if _task_of(pair[0]) == task][:NEWEST]:
        if (session := read_session(entry.path)) is not None:
            history.learn(session, names)
    if history.parameters is None and same_models:
        history.parameters = _parameters(read_session(same_models[0][0].path))
    history.learn_files(sweep.model)
    return history


def _of_models(entries: Iterable[SessionFile], sweep: Sweep) -> list[tuple[SessionFile, dict[str, str]]]:
    """Return the sessions that measured a sweep's models, whose names there lead to those in the sweep."""
    wanted, task, digest = _places(sweep), _task_key(sweep), cache(_digest)
    of_models, heads = [], 0
    for entry in entries:
        places = _places(entry.started.sweep, entry.started.folder)
        names = {name: wanted[place] for place, name in places.items() if place in wanted}
        if not names and heads < MOST_HEADS and _task_of(entry) == task:
            heads += 1
            names = _copies(entry.path, wanted.values(), digest)
        if names:
            of_models.append((entry, names))
    return of_models


def _places(sweep: Sweep, folder: str | None = None) -> dict[str, str]:
    """Return the names of a sweep's models by what their other names share. An own step loads any, or none."""
    models = [model for model in sweep.axes.model if model] or [sweep.model]
    if custom_task(sweep.task):
        return {"" if model == sweep.task else model: model for model in models}
    return {model_place(model, folder): model for model in models}


def workload_key(sweep: Sweep) -> tuple[object, ...]:
    """Return the properties that two sweeps must share for one to predict the other."""
    return (sweep.model, *_task_key(sweep))


def _task_key(sweep: Sweep, folder: str | None = None) -> tuple[object, ...]:
    """Return these properties without the model. The file of an own step may have other names."""
    own, entries = custom_task(sweep.task), task_named(sweep.task).entries
    task = (os.path.realpath(os.path.join(folder or "", own[0])), own[1]) if own else sweep.task
    return (task, getattr(sweep, entries) if entries else None, sweep.run.executor)


def _task_of(entry: SessionFile) -> tuple[object, ...]:
    return _task_key(entry.started.sweep, entry.started.folder)


def _copies(path: Path, models: Iterable[str], digest: Callable[[Path, str], str | None]) -> dict[str, str]:
    """Return the model that a session loaded first, if it has the files of one of these; otherwise nothing."""
    try:
        tail = Tail(path)
        events = tail.read(HEAD_BYTES)
        tail.close()
    except BenchtuiError:
        return {}
    first = next((event for event in events if isinstance(event, CasePrepared)), None)
    recorded = {name: first.files[name] for name in (CONFIG, WEIGHTS) if name in first.files} if first else {}
    if first is None or CONFIG not in recorded:
        return {}
    folders = {model: folder for model in models if (folder := stored_folder(model))}
    same = [
        model
        for model, folder in folders.items()
        if all(recorded_digest == digest(folder, name) for name, recorded_digest in recorded.items())
    ]
    return {first.model.name: same[0]} if same else {}


def _digest(folder: Path, name: str) -> str | None:
    return weights_digest(folder) if name == WEIGHTS else file_digest(folder / name)


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
    steps = steps_left(nothing_measured, rules).steps
    return min(overhead_s + warmup_s(rules, step_s) + measuring_s(steps, step_s, rules), rules.timeout_s)
