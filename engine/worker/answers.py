"""Answers: the output of a case for the probe, stored in the scratch folder and compared with its baseline's.

Runs after the case's outcome has been reported, so it can neither change a metric nor fail the case. An error
here becomes the reason why the answer or its comparison is absent.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec
import numpy

from benchtui.engine.devices.failure import failure_reason
from benchtui.engine.job import AnsweredCase, Job
from benchtui.engine.workloads.base import MOST_VALUES, Workload
from benchtui.sessions.analysis.answers import Values, can_share, comparison, is_acceptable, numerics, tolerance
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Answered
from benchtui.sessions.payloads import Answer, AnswerComparison, AnswerKind, AnswerVerdict
from benchtui.sessions.stats.baseline import answer_baseline
from benchtui.sessions.sweep import Config

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
    """None if it has no answer of its own."""
    compared: AnswerComparison | None = None
    """Its comparison with its baseline. None for a baseline, and until the baseline has answered."""
    shared_with: int | None = None
    """Case whose comparison it shares."""


def answer(job: Job, workload: Workload, step_s: float, clock: Callable[[], float]) -> Answered | None:
    """Answer the probe and compare the answer; None if the case has done so in an earlier round.

    A case shares the comparison of one that differs only in size, unless it is a baseline or the spot check.

    ``step_s`` is the mean time of a step; ``clock`` returns the session time.
    """
    folder = Path(job.scratch).parent / FOLDER
    own = KeptAnswer(index=job.case, config=job.config)
    if _entry(folder, own.index).exists():
        return None
    if shared := _shared(folder, job):
        _note(folder, msgspec.structs.replace(own, shared_with=shared.case))
        # at another size, the last bits may differ
        verdict: AnswerVerdict | None = "close" if shared.verdict == "identical" else shared.verdict
        own_share = msgspec.structs.replace(shared, case=own.index, verdict=verdict)
        return Answered(t=clock(), case=own.index, shared_with=shared.case, comparisons=(own_share,))
    try:
        output = workload.answer(step_s)
        values = output.values.numpy().astype(_DTYPES[output.kind], copy=False)
        if not 0 < values.size <= MOST_VALUES:
            raise BenchtuiError(f"the answer has {values.size:,} values; 1 to {MOST_VALUES:,} can be compared")
        own = msgspec.structs.replace(own, kind=output.kind)
        folder.mkdir(parents=True, exist_ok=True)
        numpy.save(_values(folder, own.index), values)
        _note(folder, own)
        shape = f"{values.dtype} {values.shape} ".encode()
        own_answer = Answer(
            kind=output.kind,
            amount=_amount(output.kind, values),
            digest=sha256(shape + numpy.ascontiguousarray(values).tobytes()).hexdigest()[:DIGEST_LENGTH],
            shortened=output.shortened,
            probe=output.probe,
        )
        comparisons = tuple(_comparisons(folder, job, own, values))
        return Answered(t=clock(), case=job.case, answer=own_answer, comparisons=comparisons)
    except Exception as error:  # noqa: BLE001  (the workload is model or user code, and its case has succeeded)
        with suppress(OSError):  # perhaps the disk is full
            _note(folder, msgspec.structs.replace(own, kind=None))
        return Answered(t=clock(), case=job.case, absent=failure_reason(job.config.device, error))


def _amount(kind: AnswerKind, values: Values) -> int:
    if kind == "losses":
        return int(values.shape[1])
    return len(values) if kind in ("logits", "embeddings") else values.size


def _shared(folder: Path, job: Job) -> AnswerComparison | None:
    """Return the comparison that the case shares; None if it has to answer itself."""
    if job.spot_check or not can_share(job.sweep.task):
        return None
    own, entries = AnsweredCase(index=job.case, config=job.config), list(_entries(folder))
    baseline = _baseline(job, own.config, (own, *entries))
    if baseline is None or baseline.index == own.index:
        return None
    compared = [entry.compared for entry in _alike(entries, own) if _has_verdict(entry)]
    agree = len({is_acceptable(comparison) for comparison in compared if comparison}) == 1
    return compared[0] if agree else None


def _has_verdict(entry: KeptAnswer) -> bool:
    return entry.compared is not None and entry.compared.verdict is not None


def _alike(entries: Iterable[KeptAnswer], own: AnsweredCase) -> Iterator[KeptAnswer]:
    """Yield the other cases that differ from this one only in size."""
    wanted = numerics(own.config)
    return (entry for entry in entries if entry.index != own.index and numerics(entry.config) == wanted)


def _baseline(job: Job, config: Config, answered: Iterable[AnsweredCase]) -> AnsweredCase | None:
    """Return the case that one with these options is compared with: possibly itself."""
    by_index = {case.index: case for case in (*([job.baseline] if job.baseline else []), *answered)}
    ordered = [by_index[index] for index in sorted(by_index)]
    return answer_baseline(config, ordered, job.sweep.measure.baseline, job.sweep.task)


def _comparisons(folder: Path, job: Job, own: KeptAnswer, values: Values) -> Iterator[AnswerComparison]:
    """Compare the case with its baseline; if it is the baseline, compare the cases that waited for it."""
    entries = list(_entries(folder))
    baseline = _baseline(job, own.config, entries)
    if baseline is None:
        return
    if baseline.index != own.index:
        compared = _compare(folder, own, values, baseline)
        yield compared
        yield from _withdrawn(folder, entries, _compared(folder, own, compared))
        return
    for other in entries:
        waits = _baseline(job, other.config, entries)
        if other.index != own.index and waits and waits.index == own.index:
            yield from _compare_waiting(folder, other, own, values)


def _compared(folder: Path, own: KeptAnswer, compared: AnswerComparison) -> KeptAnswer:
    """Replace the values of a case by their comparison."""
    own = msgspec.structs.replace(own, compared=compared)
    _note(folder, own)
    _values(folder, own.index).unlink(missing_ok=True)
    return own


def _withdrawn(folder: Path, entries: Iterable[KeptAnswer], own: KeptAnswer) -> Iterator[AnswerComparison]:
    """Withdraw the shared comparisons that this one contradicts. Cases with further rounds answer in those."""
    alike = list(_alike(entries, own))
    compared = [entry.compared for entry in (own, *alike) if _has_verdict(entry)]
    if own.compared is None or len({is_acceptable(comparison) for comparison in compared if comparison}) < 2:
        return
    for entry in alike:
        if entry.shared_with is not None:
            _entry(folder, entry.index).unlink(missing_ok=True)
            why = (
                f"it was to share the answer of case {entry.shared_with + 1}, but case {own.index + 1}, which"
                " differs only in size, answers differently"
            )
            yield AnswerComparison(case=entry.index, baseline=own.compared.baseline, absent=why)


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
    compared = comparison(other.index, own.index, own.kind, values, theirs, limits)
    yield compared
    _compared(folder, other, compared)


def _note(folder: Path, own: KeptAnswer) -> None:
    """Write the entry atomically, because a case on another GPU may read it at any moment."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = _entry(folder, own.index)
    whole.with_suffix(".new").write_bytes(msgspec.json.encode(own))
    whole.with_suffix(".new").replace(whole)


def _entries(folder: Path) -> Iterator[KeptAnswer]:
    for path in sorted(folder.glob("*.json")):
        yield msgspec.json.decode(path.read_bytes(), type=KeptAnswer)


def _entry(folder: Path, case: int) -> Path:
    return folder / f"case-{case}.json"


def _values(folder: Path, case: int) -> Path:
    return folder / f"case-{case}.npy"
