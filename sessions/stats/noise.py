"""Noise model: process-to-process variation of a case, and how much of it a session can measure.

Each process starts with a different memory layout, different clocks and different autotuning choices, so its
typical step differs from the previous process's by more than the variation within a process suggests. Its
spread is pooled over the repeats and the A/A pair of the session, and over earlier sessions on the machine if
there are too few repeats. If both have too few, it is assumed, and allows for processes at two paces.

Three rounds of two cases know a variance by four degrees of freedom, which makes an interval twice as wide as
a known variance does. The cases of a session vary alike, so each takes most of its variance from all of them.
This is the moderated variance of limma (Smyth, Statistical Applications in Genetics and Molecular Biology
3(1), 2004) with a fixed weight. Limma's estimated weight, and residuals pooled over all cases, call equal
cases different in 2 to 17 of 100 sessions whose cases don't vary alike. ``tests/bench/verdicts`` simulates
this.

Of two cases whose processes took turns, what slows the machine down for longer than a turn affects both alike
and cancels out in their ratio. Each pair of rounds has one ratio, the median over the turns of that of their
median steps. Fresh processes still differ, so several pairs are needed, and their spread is that of the ratios.
"""

from collections.abc import Iterable, Sequence
from math import cbrt, exp, log, pi, sqrt
from statistics import median, stdev

import msgspec

from benchtui.sessions.payloads import ProcessSpread
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.judging import SAME_WITHIN
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.disturbance import undisturbed
from benchtui.sessions.stats.sampling import LEAST_ROUNDS, Sample, Slices, Statistic, log_mean_of_rounds
from benchtui.sessions.sweep import Config

ASSUMED = 0.12
"""Relative standard deviation assumed between processes if too little was measured. Fresh processes of one
case ran at either of two paces, 33% apart, on virtual and other machines. A 95% interval of two rounds spans
that."""
ASSUMED_GPU_BOUND = 0.03
"""The same where a GPU sets the pace, which hides that of the host: processes of GPT-2 on an H100 were 0.2%
apart, those with a mostly idle GPU ran at two paces, 70% apart."""
GPU_BOUND_SHARE = 0.9
"""Share of a step in which the GPU is busy, from which it sets the pace. The gaps between the kernels of a long
step were 4 to 5% of it."""
ASSUMED_FREEDOM = 4.0
"""Degrees of freedom of these assumptions."""
BETWEEN_SESSIONS = 0.003
"""Relative standard deviation assumed between two sessions on one machine, on top of that between processes."""
BETWEEN_SESSIONS_VIRTUAL = 0.02
"""The same on a virtual machine, where a GPU doesn't set the pace. In seven default sweeps over 12 hours, the
typical steps of a case deviated by 4.8%, of which its rounds explained 4.2%."""
MAX_NOISE_MARGIN = 0.05
"""Maximum to which the noise floor can raise the margin, so that a difference of 10% is never the same."""


LEAST_KNOWN = 12.0
"""Degrees of freedom from which a spread is known, such as those of six cases with three rounds."""
SHARE = 0.55
"""Weight of the session in a case's variance. With three rounds, a case then has 4.4 degrees of freedom."""
PACES = 0.05
"""Spread above which processes run at distinct paces, so that their times aren't normal. It is then the minimum
of a case's own spread, not a part of it."""
PACES_BY_TURNS = 0.07
"""The same for ratios of cases that take turns, which few turns of long steps make less exact."""
OWN_ROUNDS = 4
"""Rounds from which a case's own spread suffices if nothing else is known. In 3 of 100 sessions, three rounds
of one case all run at one pace and those of an equal one at another."""
LEAST_REPEATS = 6.0
"""Degrees of freedom of a session with which three rounds suffice as well: other cases show the paces. Ratios
by turns share their spread from there on, since the pace of the machine isn't in it."""
MEDIAN_ERROR = sqrt(pi / 2)
"""Standard error of a median relative to that of a mean, for normal values."""
TURNS_SHARE = 0.5
"""Part of the variance by its turns that the mean of ratios has at least. That is an upper estimate, since the
logarithms have wide tails, and the spread between pairs of processes contains it."""
NOISIER = 1.645
"""Normal quantile of the test for a case that is noisier than the others: 5%, one-sided."""


GPU_BOUND = "cuda, GPU-bound"
KINDS = ("cpu", "cuda", GPU_BOUND)
"""Kinds of cases; each has its own noise. ``cuda`` are those that the host may slow down."""


class Spread(msgspec.Struct, frozen=True, gc=False):
    """A variance of log times between processes, with its degrees of freedom."""

    variance: float = 0.0
    freedom: float = 0.0

    @classmethod
    def of(cls, figures: Sequence[Statistic]) -> "Spread":
        """Return the spread between the rounds of one case; no degrees of freedom for fewer than two."""
        if len(figures) < 2:
            return cls()
        _, variance, freedom = log_mean_of_rounds(figures)
        return cls(variance * len(figures), freedom)

    def plus(self, other: "Spread") -> "Spread":
        """Return the pool of two spreads."""
        return self._combined(other, 1)

    def minus(self, other: "Spread") -> "Spread":
        """Return what remains of a pool without one of its parts."""
        return self._combined(other, -1)

    def of_mean(self, rounds: int) -> "Spread":
        """Return the variance of the mean of several rounds."""
        return Spread(self.variance / rounds, self.freedom)

    def shared_with(self, pool: "Spread") -> "Spread":
        """Return the moderated spread: partly its own variance, partly a session's."""
        variance = SHARE * pool.variance + (1 - SHARE) * self.variance
        return Spread(variance, min(self.freedom / (1 - SHARE), pool.freedom))

    @property
    def known(self) -> bool:
        """Whether there were enough repeats to rely on it."""
        return self.freedom >= LEAST_KNOWN

    @property
    def has_paces(self) -> bool:
        """Whether it is too large for processes that vary normally around one pace."""
        return self.variance > PACES**2

    def _combined(self, other: "Spread", sign: int) -> "Spread":
        freedom = self.freedom + sign * other.freedom
        if freedom <= 0:
            return Spread()
        total = self.variance * self.freedom + sign * other.variance * other.freedom
        return Spread(max(total, 0.0) / freedom, freedom)


class Noise(msgspec.Struct, frozen=True):
    """Noise of a session on one kind of device."""

    pool: Spread = Spread()
    """Spread between fresh processes of one case, as measured in this session or on the machine."""
    floor: float | None = None
    """Absolute log ratio of the A/A pair's medians; None without such a pair."""
    same_within: float = SAME_WITHIN
    """Requested margin of equivalence."""
    by_turns: Spread = Spread()
    """Spread of the ratio of two cases that take turns, between pairs of fresh processes."""
    assumed: float = ASSUMED
    """Relative standard deviation between processes that is assumed if too little was measured."""
    between_sessions: float = BETWEEN_SESSIONS
    """Relative standard deviation between sessions that is assumed."""

    @property
    def known(self) -> bool:
        """Whether the spread between processes was measured. A round can't show one of several paces."""
        return self.pool.known and not self.pool.has_paces

    @property
    def between(self) -> float:
        """Relative standard deviation between fresh processes of one case, measured or assumed."""
        return sqrt(self.pool.variance) if self.known else max(self.assumed, sqrt(self.pool.variance))

    def freedom(self, rounds: int) -> float:
        """Return the degrees of freedom of ``between`` for a case whose few rounds don't show its own spread.

        It may vary several times as much as the cases that do. ``moderated`` gives three rounds 4.4 degrees.
        """
        return min(self.pool.freedom, rounds + 2) if self.known else ASSUMED_FREEDOM

    @property
    def margin(self) -> float:
        """Margin of equivalence: at least twice the difference of the A/A pair, up to ``MAX_NOISE_MARGIN``."""
        return max(self.same_within, min(2 * (self.floor or 0.0), MAX_NOISE_MARGIN))


class Evidence(msgspec.Struct, frozen=True):
    """A successful case with the data that comparisons use."""

    case: CaseState
    rounds: tuple[Sample, ...]
    """Summary of each round's steps, or of each repeat of a source that kept none."""
    noise: Noise = Noise()
    """Noise of the session on the case's kind of device."""
    session: Session | None = None
    """Session that measured the case."""

    @property
    def config(self) -> Config:
        """Options of the case."""
        return self.case.config


def noise_by_kind(
    cases: Iterable[tuple[CaseState, Sequence[Statistic]]],
    aa: tuple[Evidence, Evidence] | None,
    earlier: dict[str, ProcessSpread],
    same_within: float = SAME_WITHIN,
    virtual: bool | None = None,
) -> dict[str, Noise]:
    """Estimate the noise of a session per kind of device, from the medians of each case's rounds.

    It comes from the cases, the A/A pair and earlier sessions. Only cases with several rounds contribute;
    others may be left out. So are disturbed rounds: a disturbance isn't process-to-process variation.
    ``virtual`` says whether the machine is a virtual one.
    """
    repeats: dict[str, list[Sequence[Statistic]]] = {kind: [] for kind in KINDS}
    for case, medians in cases:
        of_kind = repeats.setdefault(kind_of(case, medians), [])
        clean = undisturbed(case, medians)
        if clean is not None:
            of_kind.append(clean)
    return {
        kind: _noise(kind, of_kind, _pair(aa, kind), earlier.get(kind), same_within, virtual=bool(virtual))
        for kind, of_kind in repeats.items()
    }


def kind_of(case: CaseState, medians: Iterable[Statistic]) -> str:
    """Return the kind of a case by which noise is grouped, given the median step of each round."""
    share = gpu_busy_share(case, max((median.ms for median in medians), default=None))
    if share is None and case.finished and (exported := case.finished.exported.get("gpu_busy_percent")):
        share = float(str(exported)) / 100
    return GPU_BOUND if share and share >= GPU_BOUND_SHARE else case.config.device.partition(":")[0]


def gpu_busy_share(case: CaseState, step_ms: float | None) -> float | None:
    """Return the share of a step of this length in which the GPU was busy; None if unknown."""
    costs = (end.work for end in reversed(case.ends) if end.work and end.work.is_typical)
    busy_ms = next((work.busy_ms for work in costs if work.busy_ms is not None), None)
    return min(busy_ms / step_ms, 1.0) if busy_ms is not None and step_ms else None


def kind_of_result(result: Evidence) -> str:
    """Return the kind of a summarized case."""
    return kind_of(result.case, [round_.median for round_ in result.rounds])


def spread_between(repeats: Iterable[Sequence[Statistic]]) -> Spread:
    """Return the pooled spread between the rounds of each case, given their medians."""
    pool = Spread()
    for medians in repeats:
        if medians and min(median.ms for median in medians) > 0:
            pool = pool.plus(Spread.of(medians))
    return pool


def _noise(
    kind: str,
    repeats: Sequence[Sequence[Statistic]],
    pair: tuple[Statistic, Statistic] | None,
    earlier: ProcessSpread | None,
    same_within: float,
    virtual: bool,
) -> Noise:
    pool = spread_between(repeats)
    if pair and all(len(medians) == 1 for medians in repeats):
        pool = pool.plus(Spread.of(pair))  # As two rounds of one case
    if earlier is not None and not pool.known:
        pool = pool.plus(Spread(earlier.between**2, earlier.freedom))
    floor = abs(log(pair[1].ms / pair[0].ms)) if pair else None
    on_gpu = kind == GPU_BOUND
    return Noise(
        pool,
        floor,
        same_within,
        assumed=ASSUMED_GPU_BOUND if on_gpu else ASSUMED,
        between_sessions=BETWEEN_SESSIONS_VIRTUAL if virtual and not on_gpu else BETWEEN_SESSIONS,
    )


def _pair(aa: tuple[Evidence, Evidence] | None, kind: str) -> tuple[Statistic, Statistic] | None:
    """Return the typical steps of the A/A pair, or None if it ran on another kind of device."""
    if aa is None or kind_of_result(aa[0]) != kind or not all(result.rounds for result in aa):
        return None
    one, other = (_typical([round_.median for round_ in result.rounds]) for result in aa)
    return (one, other) if one.ms > 0 and other.ms > 0 else None


def _typical(figures: Sequence[Statistic]) -> Statistic:
    """Reduce the medians of the rounds to one value, their geometric mean."""
    if len(figures) == 1 or min(figure.ms for figure in figures) <= 0:
        return min(figures, key=lambda figure: figure.ms)
    center, variance, _ = log_mean_of_rounds(figures)
    return Statistic(exp(center), sqrt(variance))


def is_noisier(own: Spread, others: Spread) -> bool:
    """Return whether a case varies more than the others, by an F test at 5%.

    Uses Paulson's normal approximation (Annals of Mathematical Statistics 13(2), 1942).
    """
    if not own.freedom or not others.freedom or own.variance <= others.variance:
        return False
    if not others.variance:
        return True
    root, one, other = cbrt(own.variance / others.variance), 2 / (9 * own.freedom), 2 / (9 * others.freedom)
    return (1 - other) * root - (1 - one) > NOISIER * sqrt(other * root**2 + one)


def moderated(
    own: Spread, pool: Spread, others: Spread, *, least_known: float = LEAST_KNOWN, paces: float = PACES
) -> Spread | None:
    """Return the spread by which a case of several rounds is judged; None if too little is known.

    ``pool`` is that of the session or of the machine, ``others`` the same without the compared cases. It is
    shared from ``least_known`` degrees of freedom on, up to the spread ``paces``.
    """
    if own.freedom < LEAST_ROUNDS - 1:
        return None
    if pool.freedom >= least_known and pool.variance <= paces**2:
        return own if is_noisier(own, others) else own.shared_with(pool)
    if own.freedom >= OWN_ROUNDS - 1 or pool.freedom >= LEAST_REPEATS:
        return Spread(max(own.variance, pool.variance), own.freedom)
    return None


def pairs_by_turns(base: Evidence, new: Evidence) -> list[tuple[Sample, Sample]]:
    """Return the rounds in which two cases of a session took turns, without disturbed ones."""
    others = {slices.round: sample for sample, slices in _with(base, new)}
    pairs = []
    for sample, slices in _with(new, base):
        other = others.get(slices.turns.partners[new.case.index])
        if other and other.slices and other.slices.turns.partners[base.case.index] == slices.round:
            pairs.append((sample, other))
    return pairs


def _with(partner: Evidence, result: Evidence) -> list[tuple[Sample, Slices]]:
    """Return the rounds of a case that took turns with a partner."""
    index = partner.case.index
    if not any(round_.slices and index in round_.slices.turns.partners for round_ in result.rounds):
        return []
    rounds = undisturbed(result.case, result.rounds) or ()
    return [
        (round_, round_.slices) for round_ in rounds if round_.slices and index in round_.slices.turns.partners
    ]


def ratios_by_turns(pairs: Iterable[tuple[Sample, Sample]]) -> list[Statistic]:
    """Return the ratio of the steps of two cases in each pair of rounds, with its error by the turns.

    The error is that of a median of normal logarithms. By the ranks of six to twelve turns it was 2.6 times as
    much as 34 ratios varied between pairs of processes, which contain it; like this, 1.3 times.
    """
    ratios = []
    for one, other in pairs:
        times = zip(_medians_ms(one), _medians_ms(other), strict=False)
        if logs := [log(first / second) for first, second in times if first > 0 and second > 0]:
            error = MEDIAN_ERROR * stdev(logs) / sqrt(len(logs)) if len(logs) > 1 else None
            ratios.append(Statistic(exp(median(logs)), error))
    return ratios


def _medians_ms(sample: Sample) -> Sequence[float]:
    return sample.slices.medians_ms if sample.slices else ()


def between(ratios: Iterable[Statistic]) -> Spread:
    """Return the spread of ratios between pairs of processes, whatever the errors of each are."""
    return Spread.of([Statistic(ratio.ms) for ratio in ratios])


def spread_of_pairs(ratios: Sequence[Statistic], pairs: Sequence[tuple[Sample, Sample]]) -> Spread:
    """Return the spread of the ratio of two cases, as a part of that of a session.

    Of n cases that take turns, n (n - 1) / 2 pairs have a ratio, but only n - 1 ratios are independent. The
    errors by the turns are no lower limit here: agreement by chance averages out over the pairs of a session.
    """
    spread = between(ratios)
    most = max((len(one.slices.turns.partners) for one, _ in pairs if one.slices), default=1)
    return Spread(spread.variance, spread.freedom * 2 / (most + 1))


def spread_by_turns(results: Iterable[Evidence]) -> dict[str, Spread]:
    """Return the spread of such ratios between pairs of fresh processes, by kind of device."""
    by_case = {
        result.case.index: result for result in results if any(round_.slices for round_ in result.rounds)
    }
    spreads: dict[str, Spread] = {}
    for index, one in by_case.items():
        partners = {case for round_ in one.rounds if round_.slices for case in round_.slices.turns.partners}
        for other in (by_case[partner] for partner in partners if partner > index and partner in by_case):
            pairs, kind = pairs_by_turns(one, other), kind_of_result(one)
            own = spread_of_pairs(ratios_by_turns(pairs), pairs)
            spreads[kind] = spreads.get(kind, Spread()).plus(own)
    return spreads
