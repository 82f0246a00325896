"""Sessions held against each other: cases that correspond, how many times as fast each is, and a gate."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchtui.sessions.analysis.roofline import peak_key, peaks_of
from benchtui.sessions.compare.environment_diff import Difference, differences
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sanitize import visible
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.judging import LEFT_TO_THE_SWEEP, Judging
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.ratios import Comparison, Ratio, Verdict, comparison, widened_for_machine_speed
from benchtui.sessions.stats.results import Result, measured

SAME_WORK = ("task", "batch_size", "sequence_length", "label")
"""What two cases always have in common: with another value a step is other work."""
CHOICES = (
    "model",
    "weights",
    "machine",
    "device",
    "precision",
    "attention",
    "compile",
    "threads",
    "padding",
)
"""What they have in common too, unless sessions share no case that way and each has but one value of it."""
MOST_PACE = 1000.0
"""Peaks that differ by more than this tell of no machine."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class ComparedSession:
    """One of the sessions that are compared, with its figures."""

    name: str
    session: Session
    results: tuple[Result, ...]
    """The cases that ended well."""

    @classmethod
    def of(cls, name: str, session: Session) -> "ComparedSession":
        """A session under a name; its figures are computed here and only once."""
        return cls(name, session, measured(session))


@dataclass(frozen=True, slots=True)
class AlignedCase:
    """A case of the base beside the one that corresponds to it; None where a plan has none."""

    base: CaseState | None
    new: CaseState | None
    pair: Comparison | None
    """Their ratios, where both ended well."""
    pace: tuple[float, float] | None = None
    """How many times as fast the machine itself was for the new case, by its peaks: at the least and the most.
    The ratios are as wide as that asks for; None between machines, and where either case has no peaks."""

    @property
    def case(self) -> CaseState:
        """The base's case, or the new one where the base has none."""
        found = self.base or self.new
        if found is None:
            raise AssertionError("a row has a case on one side at least")
        return found

    @property
    def ratio(self) -> Ratio | None:
        """How many times as fast the new case is."""
        return self.pair.ratio if self.pair else None

    @property
    def verdict(self) -> Verdict | None:
        """The word for the pair, or None where there is no pair."""
        return self.pair.verdict if self.pair else None

    @property
    def lost(self) -> bool:
        """Whether the base's case ended well, and the new session planned it and didn't measure it."""
        return bool(self.base and self.base.state == "ok" and self.new and self.new.state != "ok")


@dataclass(frozen=True, slots=True)
class PairwiseComparison:
    """A session held against the base."""

    base: ComparedSession
    new: ComparedSession
    new_letter: str
    rows: tuple[AlignedCase, ...]
    """In the order of the base's plan, then what the new session alone has."""
    ignored: tuple[str, ...]
    """Options that differ between the sessions and were left aside so that cases correspond."""

    @property
    def compared(self) -> tuple[AlignedCase, ...]:
        """The rows with a ratio."""
        return tuple(row for row in self.rows if row.pair)

    def count(self, verdict: Verdict) -> int:
        """How many rows have this verdict."""
        return sum(row.verdict is verdict for row in self.rows)

    def only(self, side: str) -> tuple[CaseState, ...]:
        """The cases that one session alone has planned; ``side`` is ``base`` or ``new``."""
        mine, other = ("base", "new") if side == "base" else ("new", "base")
        return tuple(getattr(row, mine) for row in self.rows if getattr(row, other) is None)

    @property
    def largest_gain(self) -> AlignedCase | None:
        """The row that became faster by most, among those that surely did."""
        return max(self._of(Verdict.FASTER), key=_value, default=None)

    @property
    def largest_loss(self) -> AlignedCase | None:
        """The row that became slower by most, among those that surely did."""
        return min(self._of(Verdict.SLOWER), key=_value, default=None)

    def regressions(self, threshold: float) -> tuple[AlignedCase, ...]:
        """The rows that surely take longer by more than a share (0.05 is 5%), and those that were lost.

        Sure is what the whole 99% interval says, not its middle.
        """
        return tuple(row for row in self.rows if row.lost or _slower_by(row.ratio) > threshold)

    def _of(self, verdict: Verdict) -> list[AlignedCase]:
        return [row for row in self.rows if row.verdict is verdict]


@dataclass(frozen=True, slots=True)
class SessionComparison:
    """Two or more sessions, the first of which is the base."""

    sides: tuple[ComparedSession, ...]
    differences: tuple[Difference, ...]
    against: tuple[PairwiseComparison, ...]

    @property
    def comparable(self) -> bool:
        """Whether any cases correspond and ended well."""
        return any(each.compared for each in self.against)


def loaded(
    paths: Sequence[Path],
    judging: Judging = LEFT_TO_THE_SWEEP,
    load: Callable[[Path], Session] = Session.load,
) -> tuple[ComparedSession, ...]:
    """Sessions under the names of their files; raises BenchtuiError where one can't be read."""
    found = [load(path) for path in paths]
    for session in found:
        session.judge_by(judging)
    return tuple(
        ComparedSession.of(visible(path.stem), session) for path, session in zip(paths, found, strict=True)
    )


def nothing_in_common(against: "PairwiseComparison") -> str:
    """Why two sessions can't be compared: how far each got."""
    sides = (_progress(side) for side in (against.base, against.new))
    return f"{against.base.name} and {against.new.name}: no case was measured in both ({'; '.join(sides)})"


def _progress(side: ComparedSession) -> str:
    session = side.session
    state = "" if session.finished else ", which is still running or was cut off"
    return f"{side.name}: {len(side.results)} of {len(session.cases)} cases measured{state}"


def compared(sides: Sequence[ComparedSession]) -> SessionComparison:
    """Hold every session against the first.

    Raises:
        BenchtuiError: for fewer than two sessions, or more than there are letters for.
    """
    if not 2 <= len(sides) <= len(LETTERS):
        raise BenchtuiError(f"2 to {len(LETTERS)} sessions can be compared, not {len(sides)}")
    base, *others = sides
    against = tuple(_against(base, new, letter) for letter, new in zip(LETTERS[1:], others, strict=False))
    aside = dict.fromkeys(option for each in against for option in each.ignored)
    found = differences([side.session for side in sides])
    known = {each.what.casefold() for each in found}
    return SessionComparison(
        sides=tuple(sides),
        differences=(*found, *(_option(option, sides) for option in aside if option not in known)),
        against=against,
    )


def _option(option: str, sides: Sequence[ComparedSession]) -> Difference:
    """An option that was left aside to pair the cases, as what differs."""
    values = (sorted(map(str, _values(side, option))) for side in sides)
    return Difference("settings", option, tuple(", ".join(each) for each in values))


def _against(base: ComparedSession, new: ComparedSession, letter: str) -> PairwiseComparison:
    alike = _alike(base.session, new.session)
    exact = _rows(base, new, (), alike)
    if not _correspond(exact):
        ignored = _constant(base, new)
        loose = _rows(base, new, ignored, alike)
        if _correspond(loose):
            return PairwiseComparison(base, new, letter, loose, ignored)
    return PairwiseComparison(base, new, letter, exact, ())


def _correspond(rows: Iterable[AlignedCase]) -> bool:
    return any(row.base and row.new for row in rows)


def _alike(base: Session, new: Session) -> bool:
    """Whether machine and software are the same, so that peaks which differ tell of the machine's state."""
    apart = (each for each in differences([base, new]) if each.group in ("machine", "software"))
    return all(each.what == "benchtui" for each in apart)


def _rows(
    base: ComparedSession, new: ComparedSession, ignored: Sequence[str], alike: bool
) -> tuple[AlignedCase, ...]:
    options = [option for option in (*SAME_WORK, *CHOICES) if option not in ignored]
    mine, theirs = _planned(base, options), _planned(new, options)
    figures, their_figures = _measured(base), _measured(new)
    rows = []
    for key in dict.fromkeys((*mine, *theirs)):
        one, other = mine.get(key), theirs.get(key)
        before = figures.get(one.index) if one else None
        after = their_figures.get(other.index) if other else None
        pair = comparison(before, after) if before and after else None
        pace = _pace(base.session, new.session, pair) if pair and alike else None
        rows.append(
            AlignedCase(one, other, widened_for_machine_speed(pair, pace) if pair and pace else pair, pace)
        )
    return tuple(rows)


def _pace(base: Session, new: Session, pair: Comparison) -> tuple[float, float] | None:
    """The new session's peaks over the base's, the slower growth first."""
    before, after = peaks_of(pair.base.case, base.peaks), peaks_of(pair.new.case, new.peaks)
    if before is None or after is None or peak_key(pair.base.config) != peak_key(pair.new.config):
        return None
    rates = ((after.flops_per_s, before.flops_per_s), (after.bytes_per_s, before.bytes_per_s))
    found = [now / was for now, was in rates if now and was and 1 / MOST_PACE < now / was < MOST_PACE]
    return (min(found), max(found)) if found else None


def _planned(side: ComparedSession, options: Iterable[str]) -> dict[Key, CaseState]:
    """The cases of a plan by what they have to have in common; the second of an A/A pair is left out.

    Of a case that was run again, the newest that ended well.
    """
    found: dict[Key, CaseState] = {}
    for case in side.session.cases:
        key = tuple(_value_of(side, case, option) for option in options)
        if not case.config.repeat and (key not in found or case.state == "ok"):
            found[key] = case
    return found


def _measured(side: ComparedSession) -> dict[int, Result]:
    return {result.case.index: result for result in side.results}


def _constant(base: ComparedSession, new: ComparedSession) -> tuple[str, ...]:
    """The options with one value in each session, and not the same one."""
    values = {option: (_values(base, option), _values(new, option)) for option in CHOICES}
    return tuple(
        option for option, (mine, theirs) in values.items() if len(mine) == len(theirs) == 1 and mine != theirs
    )


def _values(side: ComparedSession, option: str) -> set[object]:
    return {_value_of(side, case, option) for case in side.session.cases}


def _value_of(side: ComparedSession, case: CaseState, option: str) -> object:
    place = side.session.start.sweep if option in ("task", "model", "weights") else case.config
    return getattr(place, option)


def _value(row: AlignedCase) -> float:
    return row.ratio.value if row.ratio else 1.0


def _slower_by(ratio: Ratio | None) -> float:
    """The share by which a step surely takes longer, or 0."""
    if ratio is None or ratio.verdict is not Verdict.SLOWER or ratio.bounds is None:
        return 0.0
    return 1 / ratio.bounds.sure_high - 1 if ratio.bounds.sure_high > 0 else float("inf")
