"""Answers: the output of a case for the probe, stored in the scratch folder and compared with its baseline's.

Runs after the case's outcome has been reported, so it can neither change a metric nor fail the case. An error
here becomes the reason why the answer or its comparison is absent.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec
import numpy

from benchtui.engine.job import AnsweredCase, Job
from benchtui.engine.worker.failure import failure_reason
from benchtui.engine.workloads.base import MOST_VALUES, Workload
from benchtui.sessions.analysis.answers import Values, comparison, tolerance
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Answered
from benchtui.sessions.payloads import Answer, AnswerComparison, AnswerKind
from benchtui.sessions.stats.baseline import answer_baseline

FOLDER = "answers"
"""Name of the folder of stored answers, next to the scratch folders of the cases."""
DIGEST_LENGTH = 16

_DTYPES = {
    "logits": numpy.float32,
    "tokens": numpy.int64,
    "losses": numpy.float64,
    "embeddings": numpy.float32,
    "values": numpy.float64,
}


class KeptAnswer(AnsweredCase, frozen=True, kw_only=True):
    """Entry of the folder: a case that has answered under this engine, or has failed to answer."""

    kind: AnswerKind | None = None
    """None if it has no answer."""


def answer(job: Job, workload: Workload, step_s: float, clock: Callable[[], float]) -> Answered | None:
    """Answer the probe and compare the answer; None if the case has done so in an earlier round.

    ``step_s`` is the mean time of a step; ``clock`` returns the session time.
    """
    folder = Path(job.scratch).parent / FOLDER
    own = KeptAnswer(index=job.case, config=job.config)
    if _entry(folder, own.index).exists():
        return None
    try:
        output = workload.answer(step_s)
        values = output.values.numpy().astype(_DTYPES[output.kind], copy=False)
        if not 0 < values.size <= MOST_VALUES:
            raise BenchtuiError(f"the answer has {values.size:,} values; 1 to {MOST_VALUES:,} can be compared")
        own = msgspec.structs.replace(own, kind=output.kind)
        _keep(folder, own, values)
        own_answer = Answer(kind=output.kind, amount=_amount(output.kind, values), digest=_digest(values))
        comparisons = tuple(_comparisons(folder, job, own, values))
        return Answered(t=clock(), case=job.case, answer=own_answer, comparisons=comparisons)
    except Exception as error:  # noqa: BLE001  (the workload is model or user code, and its case has succeeded)
        with suppress(OSError):  # perhaps the disk is full
            _note(folder, msgspec.structs.replace(own, kind=None))
        return Answered(t=clock(), case=job.case, absent=failure_reason(job.config.device, error))


def _amount(kind: AnswerKind, values: Values) -> int:
    return len(values) if kind in ("logits", "embeddings") else values.size


def _digest(values: Values) -> str:
    shape = f"{values.dtype} {values.shape} ".encode()
    return sha256(shape + numpy.ascontiguousarray(values).tobytes()).hexdigest()[:DIGEST_LENGTH]


def _comparisons(folder: Path, job: Job, own: KeptAnswer, values: Values) -> Iterator[AnswerComparison]:
    """Compare the case with its baseline; if it is the baseline, compare the cases that waited for it."""
    entries = {entry.index: entry for entry in _entries(folder)}
    answered = dict[int, AnsweredCase](entries)
    if job.baseline:
        answered.setdefault(job.baseline.index, job.baseline)
    ordered = [answered[index] for index in sorted(answered)]
    named, task = job.sweep.measure.baseline, job.sweep.task
    baseline = answer_baseline(own.config, ordered, named, task)
    if baseline is None:
        return
    if baseline.index != own.index:
        yield _compare(folder, own, values, baseline)
        _values(folder, own.index).unlink(missing_ok=True)
        return
    for other in entries.values():
        if other is not answered[own.index] and answer_baseline(other.config, ordered, named, task) is baseline:
            yield from _compare_waiting(folder, other, own, values)


def _compare(folder: Path, own: KeptAnswer, values: Values, baseline: AnsweredCase) -> AnswerComparison:
    """Compare a case with a baseline that has answered before."""
    kind = baseline.kind if isinstance(baseline, KeptAnswer) else None
    if kind is None or own.kind is None:
        lost = f"the answer of case {baseline.index + 1}, its baseline, is not (or no longer) on this machine"
        none = f"case {baseline.index + 1}, its baseline, has no answer"
        why = none if isinstance(baseline, KeptAnswer) else lost
        return AnswerComparison(case=own.index, baseline=baseline.index, absent=why)
    base = numpy.load(_values(folder, baseline.index))
    limits = tolerance(baseline.config, own.config)
    return comparison(own.index, baseline.index, own.kind, base, values, limits)


def _compare_waiting(
    folder: Path, other: KeptAnswer, own: KeptAnswer, values: Values
) -> Iterator[AnswerComparison]:
    """Compare a case that answered before its baseline, unless it has already been compared."""
    path = _values(folder, other.index)
    if other.kind is None or own.kind is None or not path.exists():
        return
    theirs, limits = numpy.load(path), tolerance(own.config, other.config)
    yield comparison(other.index, own.index, own.kind, values, theirs, limits)
    path.unlink(missing_ok=True)


def _keep(folder: Path, own: KeptAnswer, values: Values) -> None:
    """Write the values before the entry, so that a reader of the entry finds the values."""
    folder.mkdir(parents=True, exist_ok=True)
    numpy.save(_values(folder, own.index), values)
    _note(folder, own)


def _note(folder: Path, own: KeptAnswer) -> None:
    """Write the entry atomically, because a case on another GPU may read it at any moment."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = _entry(folder, own.index)
    whole.with_suffix(".new").write_bytes(msgspec.json.encode(own))
    whole.with_suffix(".new").replace(whole)


def _entries(folder: Path) -> Iterator[KeptAnswer]:
    for path in folder.glob("*.json"):
        yield msgspec.json.decode(path.read_bytes(), type=KeptAnswer)


def _entry(folder: Path, case: int) -> Path:
    return folder / f"case-{case}.json"


def _values(folder: Path, case: int) -> Path:
    return folder / f"case-{case}.npy"
