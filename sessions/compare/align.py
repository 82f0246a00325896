"""Session comparison: corresponding cases, the speedup of each, and the regression gate."""

from collections.abc import Iterable, Iterator, Sequence
from math import inf, log
from pathlib import Path

import msgspec

from benchtui.sessions.analysis.roofline import peak_key, peaks_of
from benchtui.sessions.compare.environment_diff import Difference, differences
from benchtui.sessions.compare.overall import Overall, overall
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Peaks
from benchtui.sessions.sanitize import visible
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.judging import SWEEP_DEFAULTS, VerdictSettings
from benchtui.sessions.state.session import Session
from benchtui.sessions.state.simulation import labeled
from benchtui.sessions.stats.ratios import Comparison, comparison, widened_for_machine_speed, widened_for_pace
from benchtui.sessions.stats.results import Result, measured
from benchtui.sessions.stats.verdicts import UNTESTED, Ratio, Verdict
from benchtui.sessions.sweep import named_values
from benchtui.sessions.sweep.options import BY_NAME, CHOICES, OPTIONS, UNKNOWN, value_text

SAME_WORK = ("task", *(option.name for option in OPTIONS if option.work and option.name != "model"), "label")
"""Options that corresponding cases always share. A different value is different work."""
MAY_DIFFER = ("model", "weights", *CHOICES)
"""Options that they also share, unless no case would match and each session has a single value."""
MOST_MACHINE_SPEEDUP = 1000.0
"""Largest plausible ratio of peaks, in either direction. Others are ignored."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Key = tuple[object, ...]


class ComparedSession(msgspec.Struct, frozen=True):
    """A session to compare, with its metrics."""

    name: str
    """Name to show, with the label of a simulated session."""
    session: Session
    results: tuple[Result, ...]
    """Successful cases."""
    file: str
    """Name without that label."""

    @classmethod
    def of(cls, name: str, session: Session) -> "ComparedSession":
        """Build from a session and a name, and compute the metrics."""
        return cls(labeled(name, session.start), session, measured(session), name)


class AlignedCase(msgspec.Struct, frozen=True):
    """A case of the base and its counterpart in the new session; None if a plan lacks it."""

    base: CaseState | None
    new: CaseState | None
    pair: Comparison | None
    """Their ratios, if both succeeded."""
    machine_speedup: tuple[float, float] | None = None
    """Smallest and largest factor by which the machine itself was faster for the new case, by its peaks. The
    ratios are widened accordingly. None for different machines, or if either case has no peaks."""

    @property
    def case(self) -> CaseState:
        """The base's case, or the new one if the base has none."""
        present = self.base or self.new
        if present is None:
            raise AssertionError("an aligned case needs a base or a new case")
        return present

    @property
    def ratio(self) -> Ratio | None:
        """Speedup of the new case."""
        return self.pair.ratio if self.pair else None

    @property
    def verdict(self) -> Verdict | None:
        """Verdict on the pair, or None without a pair."""
        return self.pair.verdict if self.pair else None

    @property
    def same_answer(self) -> bool | None:
        """Whether both answers are identical, bit for bit; None if they can't be compared.

        That is so if one is missing, or had other data or other random weights.
        """
        if self.pair is None or self.other_weights:
            return None
        mine, theirs = _answer(self.pair.base), _answer(self.pair.new)
        return None if mine is None or theirs is None or mine[:-1] != theirs[:-1] else mine == theirs

    @property
    def other_weights(self) -> bool:
        """Whether both cases answered, with unlike random weights. Older versions generated others."""
        sides = (self.pair.base, self.pair.new) if self.pair else ()
        answered = [side.case for side in sides if _answer(side)]
        models = [case.prepared.model for case in answered if case.prepared]
        random = {model.random_weights for model in models if model.weights == "random"}
        return len(models) == 2 and len(random) == 2

    @property
    def lost(self) -> bool:
        """Whether the base measured the case, and the new session planned but didn't measure it."""
        return bool(self.base and self.base.has_result and self.new and not self.new.has_result)


class PairwiseComparison(msgspec.Struct, frozen=True):
    """Comparison of one session with the base."""

    base: ComparedSession
    new: ComparedSession
    new_letter: str
    rows: tuple[AlignedCase, ...]
    """In plan order of the base, followed by cases of the new session only."""
    ignored: tuple[str, ...]
    """Options that differ between the sessions and were ignored to match cases."""

    @property
    def compared(self) -> tuple[AlignedCase, ...]:
        """Rows that were measured in both sessions."""
        return tuple(row for row in self.rows if row.pair)

    def count(self, verdict: Verdict) -> int:
        """Count the rows with this verdict."""
        return sum(row.verdict is verdict for row in self.rows)

    def only(self, side: str) -> tuple[CaseState, ...]:
        """Return the cases planned in one session only; ``side`` is ``base`` or ``new``."""
        mine, other = ("base", "new") if side == "base" else ("new", "base")
        return tuple(getattr(row, mine) for row in self.rows if getattr(row, other) is None)

    @property
    def overall(self) -> Overall | None:
        """Geometric mean of all ratios, with a verdict; None if no case has a ratio."""
        rows = self.compared
        return overall([row.pair for row in rows if row.pair], [row.machine_speedup for row in rows])

    @property
    def loss(self) -> float:
        """Share by which all cases together are significantly slower, or 0."""
        return slower_by(self.overall.ratio) if self.overall else 0.0

    def regressions(self, threshold: float) -> tuple[AlignedCase, ...]:
        """Return the lost rows, and the rows that are slower by more than the threshold (0.05 is 5%).

        The whole 99% interval must lie beyond the threshold, not just its center.
        """
        return tuple(row for row in self.rows if row.lost or slower_by(row.ratio) > threshold)

    def unresolved(self, share: float) -> tuple[AlignedCase, ...]:
        """Return the undecided rows in which a difference of this share could have gone unseen, worst first."""
        undecided = (row for row in self.compared if row.verdict in UNTESTED)
        blind = [row for row in undecided if resolution(row) > share]
        return tuple(sorted(blind, key=resolution, reverse=True))


class SessionComparison(msgspec.Struct, frozen=True):
    """Comparison of two or more sessions. The first one is the base."""

    sides: tuple[ComparedSession, ...]
    differences: tuple[Difference, ...]
    against: tuple[PairwiseComparison, ...]

    @property
    def comparable(self) -> bool:
        """Whether any case was measured in both sessions of a pair."""
        return any(pair.compared for pair in self.against)


def by_change(rows: Iterable[AlignedCase]) -> list[AlignedCase]:
    """Sort rows by how far their ratio is from 1, the largest changes first."""

    def change(row: AlignedCase) -> float:
        shown = row.ratio.shown if row.ratio else None
        return abs(log(shown)) if shown and shown > 0 else 0.0

    return sorted(rows, key=change, reverse=True)


def load_sessions(
    paths: Sequence[Path], judging: VerdictSettings = SWEEP_DEFAULTS
) -> tuple[ComparedSession, ...]:
    """Load sessions, named after their files. Raises BenchtuiError if a file can't be read."""
    loaded = [Session.load(path) for path in paths]
    for session in loaded:
        session.judge_by(judging)
    return tuple(
        ComparedSession.of(visible(path.stem), session) for path, session in zip(paths, loaded, strict=True)
    )


def nothing_in_common(against: "PairwiseComparison") -> str:
    """Explain why two sessions can't be compared: the progress of each, and what no case shares."""
    base, new = against.base, against.new
    apart = [option for option in SAME_WORK if not _values(base, option) & _values(new, option)]
    silent = [
        f"{side.name} doesn't state its {option}"
        for side in (base, new)
        for option in apart
        if _values(side, option) == {UNKNOWN}
    ]
    why = "; ".join(("", *silent)) if silent else f"; none has the same {' or '.join(apart)}" if apart else ""
    return (
        f"{base.name} and {new.name}: no case was measured in both ({_progress(base)}; {_progress(new)}){why}"
    )


def _progress(side: ComparedSession) -> str:
    session = side.session
    state = "" if session.finished else "still running or crashed, "
    return f"{side.name}: {state}{len(side.results)} of {len(session.cases)} cases measured"


def compare_sessions(sides: Sequence[ComparedSession]) -> SessionComparison:
    """Compare every session with the first.

    Raises BenchtuiError for fewer than two sessions, or more than there are letters.
    """
    if not 2 <= len(sides) <= len(LETTERS):
        raise BenchtuiError(f"2 to {len(LETTERS)} sessions can be compared, not {len(sides)}")
    base, *others = sides
    against = tuple(
        _compare_with_base(base, new, letter) for letter, new in zip(LETTERS[1:], others, strict=False)
    )
    ignored = dict.fromkeys(option for item in against for option in item.ignored)
    environment = differences([side.session for side in sides])
    listed = {item.what.casefold() for item in environment}
    return SessionComparison(
        sides=tuple(sides),
        differences=(
            *environment,
            *(
                difference
                for option in ignored
                if option not in listed
                for difference in _ignored_option(option, sides)
            ),
        ),
        against=against,
    )


def _ignored_option(option: str, sides: Sequence[ComparedSession]) -> Iterator[Difference]:
    """Yield an option that was ignored to match cases as a difference; of named values, each that differs."""
    values = [sorted(map(value_text, _values(side, option))) for side in sides]
    if option not in BY_NAME or not BY_NAME[option].named_values:
        yield Difference("settings", option, tuple(", ".join(value) for value in values))
        return
    tables = [named_values.axes_of(str(line) for line in _values(side, option)) for side in sides]
    for name in dict.fromkeys(name for table in tables for name in table):
        texts = tuple(", ".join(map(str, table[name])) if name in table else None for table in tables)
        if len(set(texts)) > 1:
            yield Difference("settings", name, texts)


def _compare_with_base(base: ComparedSession, new: ComparedSession, letter: str) -> PairwiseComparison:
    same_environment = _same_environment(base.session, new.session)
    exact = _rows(base, new, (), same_environment)
    if not _any_aligned(exact):
        values = {option: (_values(base, option), _values(new, option)) for option in MAY_DIFFER}
        ignored = tuple(
            option for option, (one, other) in values.items() if len(one) == len(other) == 1 and one != other
        )
        loose = _rows(base, new, ignored, same_environment)
        if _any_aligned(loose):
            return PairwiseComparison(base, new, letter, loose, ignored)
    return PairwiseComparison(base, new, letter, exact, ())


def _any_aligned(rows: Iterable[AlignedCase]) -> bool:
    return any(row.base and row.new for row in rows)


def _same_environment(base: Session, new: Session) -> bool:
    """Return whether machine and software are the same, so that different peaks reflect the machine's state."""
    apart = (
        difference for difference in differences([base, new]) if difference.group in ("machine", "software")
    )
    return all(difference.what == "benchtui" for difference in apart)


def _rows(
    base: ComparedSession, new: ComparedSession, ignored: Sequence[str], same_environment: bool
) -> tuple[AlignedCase, ...]:
    options = [option for option in (*SAME_WORK, *MAY_DIFFER) if option not in ignored]
    mine, theirs = _planned(base, options), _planned(new, options)
    figures, their_figures = _measured(base), _measured(new)
    rows = []
    for key in dict.fromkeys((*mine, *theirs)):
        one, other = mine.get(key), theirs.get(key)
        before = figures.get(one.index) if one else None
        after = their_figures.get(other.index) if other else None
        pair = comparison(before, after) if before and after else None
        machine_speedup = _machine_speedup(before, after) if before and after and same_environment else None
        rows.append(
            AlignedCase(
                before.case if before else one,
                after.case if after else other,
                widened_for_machine_speed(pair, machine_speedup) if pair and machine_speedup else pair,
                machine_speedup,
            )
        )
    return tuple(rows)


def widened_between_sessions(ratio: Ratio, base: Result, new: Result) -> Ratio:
    """Widen the ratio of two cases of different sessions in the same way as those of corresponding cases.

    If machine and software are the same, the ratio is widened by the change in the machine's own peaks.
    """
    if base.session is None or new.session is None or not _same_environment(base.session, new.session):
        return ratio
    pace = _machine_speedup(base, new)
    return widened_for_pace(ratio, pace) if pace else ratio


def _machine_speedup(base: Result, new: Result) -> tuple[float, float] | None:
    """Return the smallest and the largest ratio of the new session's peaks to the base's; None if unknown."""
    if base.session is None or new.session is None or peak_key(base.config) != peak_key(new.config):
        return None
    before, after = peaks_of(base.case, base.session.peaks), peaks_of(new.case, new.session.peaks)
    if before is None or after is None:
        return None
    rates = [(_like(after, before, name), _like(before, after, name)) for name in ("flops", "bytes")]
    speedups = [
        now / was
        for now, was in rates
        if now and was and 1 / MOST_MACHINE_SPEEDUP < now / was < MOST_MACHINE_SPEEDUP
    ]
    return (min(speedups), max(speedups)) if speedups else None


def _like(peaks: Peaks, other: Peaks, name: str) -> float | None:
    """Return the sustained peak rate, or the fastest one if an older session recorded only that."""
    sustained: float | None = getattr(peaks, f"{name}_per_s")
    burst: float | None = getattr(peaks, f"{name}_burst_per_s")
    return sustained if burst is None or getattr(other, f"{name}_burst_per_s") is not None else burst


def _planned(side: ComparedSession, options: Iterable[str]) -> dict[Key, CaseState]:
    """Return the cases of a plan by the options that they must share, without the second of an A/A pair.

    If a case was rerun, the newest successful run is returned.
    """
    planned: dict[Key, CaseState] = {}
    for case in side.session.cases:
        key = tuple(_value_of(side, case, option) for option in options)
        if not case.config.repeat and (key not in planned or case.state == "ok"):
            planned[key] = case
    return planned


def _measured(side: ComparedSession) -> dict[int, Result]:
    return {result.case.index: result for result in side.results}


def _values(side: ComparedSession, option: str) -> set[object]:
    return {_value_of(side, case, option) for case in side.session.cases}


def _value_of(side: ComparedSession, case: CaseState, option: str) -> object:
    sweep = side.session.start.sweep
    return getattr(sweep if option in ("task", "weights") else sweep.resolve(case.config), option)


def _answer(result: Result) -> tuple[object, ...] | None:
    """Return the dataset of an answer, its kind, size and digest; None without an answer."""
    answer = result.case.answered.answer if result.case.answered else None
    if answer is None or result.session is None:
        return None
    return (result.session.start.sweep.dataset, answer.kind, answer.probe, answer.amount, answer.digest)


def resolution(row: AlignedCase) -> float:
    """Return the smallest difference that would have been seen, as a share; infinite if nothing bounds it."""
    seen = row.ratio.resolution if row.ratio else None
    return inf if seen is None else seen


def slower_by(ratio: Ratio | None) -> float:
    """Return the share by which a step is significantly longer, or 0."""
    if ratio is None or ratio.verdict is not Verdict.SLOWER or ratio.bounds is None:
        return 0.0
    return 1 / ratio.bounds.sure_high - 1 if ratio.bounds.sure_high > 0 else inf
