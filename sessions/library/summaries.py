"""Session summaries for the list of sessions, cached so that no file is read twice."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from math import sqrt
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

import msgspec
import platformdirs
from msgspec import structs

from benchtui.sessions.errors import AbandonedError, BenchtuiError
from benchtui.sessions.events import CaseFinished, Telemetry
from benchtui.sessions.files.input_file import read_plain
from benchtui.sessions.files.output_file import output_file
from benchtui.sessions.journal.reader import AnyRecord
from benchtui.sessions.journal.session_file import SessionFile
from benchtui.sessions.payloads import ProcessSpread
from benchtui.sessions.state.case import UNFINISHED_STATES, CaseState
from benchtui.sessions.state.session import Session, Summarize
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.stats.disturbance import mark_kind, undisturbed
from benchtui.sessions.stats.evidence import medians_of
from benchtui.sessions.stats.noise import KINDS, kind_of, spread_between
from benchtui.sessions.stats.sampling import Statistic
from benchtui.sessions.sweep import Config, Record

VERSION = 6
"""Version of the cache file. A file of another one is discarded and rebuilt."""
NEWEST = 12
"""Number of earlier sessions used to estimate process-to-process variation."""
MOST_BYTES = 16_000_000
"""Maximum size of a session that is read for that estimate before a sweep starts, if it isn't cached."""
MOST_CACHE_BYTES = 16_000_000
"""Maximum size of the cache file, enough for 20,000 sessions."""


class Best(Record, frozen=True, kw_only=True):
    """Case to run, as the session's conclusions name it; the fastest of those of several works."""

    config: Config
    samples_per_s: float | None
    rate: float
    unit: str
    """The rate that describes its task, as in reports, and its unit; the step time if it has no rate."""
    decided: bool = True
    """Whether it surely is the best."""


class Summary(Record, frozen=True, kw_only=True):
    """Summary of a whole session file."""

    outcome: str
    """``Session.ending``, or ``unreadable``."""
    reason: str | None = None
    counts: dict[str, int] = {}  # noqa: RUF012  (msgspec copies a mutable default)
    """Number of cases in each state, in the order of the plan."""
    best: Best | None = None
    duration_s: float | None = None
    marks: tuple[str, ...] = ()
    """Kinds of marks that any case has."""
    torch: str | None = None
    process_spread: dict[str, ProcessSpread] = {}  # noqa: RUF012  (msgspec copies a mutable default)
    """Process-to-process variation by device kind; empty if nothing was repeated."""

    @property
    def cases(self) -> int:
        """Number of all cases, including those added during the run."""
        return sum(self.counts.values())

    @property
    def left(self) -> int:
        """Number of cases left to run."""
        return sum(self.counts.get(state, 0) for state in UNFINISHED_STATES)

    @property
    def measured(self) -> int:
        """Number of successful cases."""
        return self.counts.get("ok", 0)


class CachedSummary(Record, frozen=True, kw_only=True):
    """Summary, with size and modification time of the summarized file."""

    size: int
    mtime_ns: int
    summary: Summary


class CacheFile(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Contents of the cache file: summaries by session path."""

    version: int
    files: dict[str, CachedSummary]


class SummaryCache:
    """Cache of session summaries in the user's cache folder, which can be lost without harm."""

    def __init__(self, path: Path | None = None) -> None:
        """Load the cached summaries; an unreadable file counts as empty."""
        self._path = path or Path(platformdirs.user_cache_dir("benchtui")) / "sessions.json"
        self._files = _read(self._path)
        self._changed = False

    def known(self, session: Path) -> Summary | None:
        """Return the cached summary of a file that hasn't changed since; otherwise None."""
        cached, now = self._files.get(_key(session)), fingerprint(session)
        return cached.summary if cached and now == (cached.size, cached.mtime_ns) else None

    def read(self, session: Path, wanted: Callable[[], bool] = lambda: True) -> Summary:
        """Return the summary of a file, reading all of it if it isn't cached.

        Raises AbandonedError once ``wanted`` returns False.
        """
        stored = self.known(session)
        if stored is None:
            before = fingerprint(session)  # taken first: it changes if the file grows meanwhile
            stored = summary(session, wanted)
            if before is not None:
                size, mtime_ns = before
                self._files[_key(session)] = CachedSummary(size=size, mtime_ns=mtime_ns, summary=stored)
                self._changed = True
        return stored

    def save(self) -> None:
        """Write the summaries of files that still exist; write errors are ignored."""
        if not self._changed:
            return
        files = {key: cached for key, cached in self._files.items() if fingerprint(_path(key))}
        with suppress(OSError, BenchtuiError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with output_file(self._path, private=True) as cache:
                cache.write(msgspec.json.encode(CacheFile(version=VERSION, files=files)))
        self._changed = False


def summary(path: Path, wanted: Callable[[], bool] = lambda: True) -> Summary:
    """Summarize a session file, with at most one case's steps in memory at a time.

    Raises AbandonedError once ``wanted`` returns False.
    """
    try:
        session = SummarizedSession.load(path, wanted=wanted)
    except AbandonedError:
        raise
    except BenchtuiError as error:
        return Summary(outcome="unreadable", reason=str(error).removeprefix(str(path)).lstrip(",: "))
    return structs.replace(_summary_of(session), process_spread=_spreads(session.repeats))


def earlier_process_spread(entries: Iterable[SessionFile], hostname: str | None) -> dict[str, ProcessSpread]:
    """Pool the process-to-process variation of a machine's newest sessions with several rounds."""
    repeated = (
        entry
        for entry in entries
        if entry.finished and entry.started.host.hostname == hostname and entry.started.source is None
        if entry.started.sweep.measure.repeats and entry.started.simulated is None
    )
    cache = SummaryCache()
    earlier = [
        spreads for entry in islice(repeated, NEWEST) if (spreads := _process_spread_of(cache, entry.path))
    ]
    cache.save()
    return {
        kind: pooled for kind in KINDS if (pooled := _pooled([of_session.get(kind) for of_session in earlier]))
    }


def _process_spread_of(cache: SummaryCache, path: Path) -> dict[str, ProcessSpread] | None:
    """Return the variations in a session; a session that isn't cached is read only if it is small."""
    stored = cache.known(path)
    size_and_time = fingerprint(path)
    if stored is None and size_and_time and size_and_time[0] <= MOST_BYTES:
        stored = cache.read(path)
    return stored.process_spread if stored else None


def _pooled(spreads: Iterable[ProcessSpread | None]) -> ProcessSpread | None:
    """Pool several variations, weighted by their degrees of freedom."""
    measured = list(filter(None, spreads))
    freedom = sum(spread.freedom for spread in measured)
    if not freedom:
        return None
    variance = sum(spread.between**2 * spread.freedom for spread in measured) / freedom
    return ProcessSpread(between=sqrt(variance), freedom=freedom)


def _spreads(repeats: dict[str, list[Sequence[Statistic]]]) -> dict[str, ProcessSpread]:
    estimates = {kind: spread_between(figures) for kind, figures in repeats.items()}
    return {
        kind: ProcessSpread(between=sqrt(spread.variance), freedom=spread.freedom)
        for kind, spread in estimates.items()
        if spread.freedom
    }


class SummarizedSession(Session):
    """Session without readings that replaces the steps of an ended case by its metrics."""

    def __init__(self, summarize_case: Summarize | None = None) -> None:
        super().__init__(summarize_case or metrics)
        self.repeats: dict[str, list[Sequence[Statistic]]] = {}
        """Medians of the rounds of each case with several, by device kind."""

    def apply(self, event: AnyRecord) -> None:
        """Apply an event other than readings."""
        if isinstance(event, Telemetry):
            return
        super().apply(event)
        if isinstance(event, CaseFinished):
            self._learn(self.cases[event.case])

    def _learn(self, case: CaseState) -> None:
        if case.state != "ok":  # it may restart, with its finished rounds
            return
        medians = undisturbed(case, medians_of(case)) or ()
        if len(medians) > 1:
            self.repeats.setdefault(kind_of(case, medians), []).append(medians)


def _best(session: Session) -> Best | None:
    from benchtui.sessions.advice.conclusion import conclude_anyway  # not needed for the first paint

    works = conclude_anyway(session).works if session.started else ()
    best = max(works, key=lambda work: work.best.metrics.samples_per_s or 0.0, default=None)
    if best is None:
        return None
    samples_per_s, (rate, unit) = best.best.metrics.samples_per_s, best.best.headline_rate
    if samples_per_s is None:
        rate, unit = best.best.typical_ms, "ms per step"
    return Best(
        config=best.best.config,
        samples_per_s=samples_per_s,
        rate=rate or samples_per_s or 0.0,
        unit=unit,
        decided=best.decided,
    )


def _summary_of(session: Session) -> Summary:
    finished, marks = session.finished, (mark_kind(mark) for case in session.cases for mark in case.marks)
    return Summary(
        outcome=session.ending,
        reason=finished.reason if finished else None,
        counts=dict(Counter(case.state for case in session.cases)),
        best=_best(session),
        duration_s=session.now_s,
        marks=tuple(dict.fromkeys(marks)),
        torch=session.runtime.torch if session.runtime else None,
    )


def _read(path: Path) -> dict[str, CachedSummary]:
    try:
        cache = msgspec.json.decode(read_plain(path, MOST_CACHE_BYTES), type=CacheFile)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    return cache.files if cache.version == VERSION else {}


def _key(path: Path) -> str:
    """Encode a path as text, since its bytes may not be valid text."""
    return quote_from_bytes(os.fsencode(path), safe="/ ")


def _path(key: str) -> Path:
    return Path(os.fsdecode(unquote_to_bytes(key)))


def fingerprint(path: Path) -> tuple[int, int] | None:
    """Return size and modification time of a file; None if it doesn't exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
