"""Case verdicts against the baseline, by the report's rules, while cases and rounds are still ending."""

from collections.abc import Callable, Sequence

from msgspec import structs

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.judging import VerdictSettings
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baseline_of, explain_missing_baseline
from benchtui.sessions.stats.distribution import Distribution
from benchtui.sessions.stats.ended_rounds import with_result
from benchtui.sessions.stats.evidence import (
    aa_pair,
    bounds_ms,
    medians_of,
    rounds_of,
    typical_of_rounds,
    with_turns,
)
from benchtui.sessions.stats.noise import Evidence, Noise, kind_of_result, noise_by_kind
from benchtui.sessions.stats.ratios import latency_ratio, throughput_ratio
from benchtui.sessions.stats.sampling import Bounds, Sample, Statistic
from benchtui.sessions.stats.verdicts import Ratio
from benchtui.sessions.sweep import Baseline, Work
from benchtui.tui.live.step_statistics import THREAD_STEPS

UNSTEADY_PERCENT = 30.0
"""Half-width of a typical step's interval above which its figures are no more than a guess."""
FAR_MEAN = 0.1
"""Distance of the mean from the median, as a share of it, above which a rate isn't that of most steps."""


class CaseVerdicts:
    """Compares measured cases with their baseline."""

    def __init__(self, session: Session, judging: VerdictSettings) -> None:
        self._session = session
        self._judging = judging
        self._measured: dict[int, CaseState] = {}
        """Measured cases by index, as far as their rounds have ended."""
        self._ended_rounds: dict[int, int] = {}
        """Number of ended rounds per case whose rounds haven't all ended."""
        self._seen_rounds = 0
        """Number of ended rounds of all cases when they were last looked for."""
        self._bases: dict[Work, CaseState] = {}
        """Baseline per work, if it has been measured."""
        self._rounds: dict[int, tuple[Sample, ...]] = {}
        """Summarized rounds per case, computed when the case is first compared."""
        self._medians: dict[int, Sequence[Statistic]] = {}
        """Their medians, computed when the noise is first estimated with them."""
        self._noise: dict[str, Noise] | None = None
        """Noise estimates; None if a case has ended since."""
        self._pending: CaseState | None = None
        """A case that they lack, because its steps are left to the worker thread."""
        self._ratios: dict[int, Ratio] = {}
        """Ratios to the baseline by these estimates, because a table sorted by them asks for all at once."""

    def add_ended(self, case: CaseState) -> CaseState | None:
        """Record a case that has ended, or a round of it. The baseline may change as a result.

        Returns the case as far as it has been measured; None if it has no result.
        """
        if case.index in self._measured:  # its former rounds don't count
            self._forget(case)
        result, self._noise = with_result(case, self._session.start.sweep.measure.planned_rounds), None
        if result is not None:
            self._measured[case.index] = result
            self._consider_as_base(result)
        return result

    def _forget(self, case: CaseState) -> None:
        for by_case in (self._measured, self._rounds, self._medians):
            by_case.pop(case.index, None)
        if self.is_base(case):
            del self._bases[case.config.work]
            for other in self._measured.values():
                self._consider_as_base(other)

    def with_new_rounds(self) -> list[CaseState]:
        """Return the cases of which a round has ended since the last call, and another one follows."""
        if self._session.rounds_ended == self._seen_rounds:
            return []
        self._seen_rounds = self._session.rounds_ended
        rounds = {case.index: len(case.rounds) for case in self._session.cases if not case.finished}
        more = [index for index, ended in rounds.items() if ended > self._ended_rounds.get(index, 0)]
        self._ended_rounds = rounds
        return [self._session.cases[index] for index in more]

    def _consider_as_base(self, case: CaseState) -> None:
        """Make a case the baseline of its work if it is the first in the plan that fits."""
        base = self._bases.get(case.config.work)
        earliest = base is None or case.index <= base.index
        if earliest and baseline_of(case.config, (case,), self._baseline) is not None:
            self._bases[case.config.work] = case

    def verdict(self, case: CaseState) -> Ratio | None:
        """Return a case's throughput or latency ratio to its baseline, with the verdict.

        Returns None without evidence, for a case without a result, and for the baseline itself.
        """
        base, result = self.base_of(case), self._measured.get(case.index)
        if base is None or self.is_base(case) or result is None:
            return None
        self._noise_estimates()  # drops the ratios if they change
        if case.index not in self._ratios:
            one, other = self._evidence(base), self._evidence(result)
            ratio = throughput_ratio(one, other) or latency_ratio(one, other) if one and other else None
            if ratio is None:
                return None
            self._ratios[case.index] = ratio
        return self._ratios[case.index]

    def typical_ms(self, case: CaseState) -> float | None:
        """Return a measured case's typical step; None while its steps are left to the worker thread."""
        result = self._measured.get(case.index)
        medians = [round_.median.ms for round_ in self.rounds(result)] if result else []
        return (typical_of_rounds(result, medians) or medians[0]) if result and medians else None

    def step_bounds(self, case: CaseState) -> Bounds | None:
        """Return the bounds of a measured case's typical step in milliseconds; None if nothing bounds it."""
        evidence = self.evidence(case)
        return bounds_ms(evidence, again=True) if evidence else None

    def half_width_percent(self, case: CaseState) -> float | None:
        """Return half of the 95% interval of a measured case's typical step, in percent of it."""
        bounds = self.step_bounds(case)
        return bounds.half_width_percent if bounds else None

    def is_unsteady(self, case: CaseState, stats: Distribution) -> bool:
        """Return whether a rate holds only roughly: a wide interval, or a few steps take much of the time."""
        result = self._measured.get(case.index)
        several = result is not None and len(self.rounds(result)) > 1
        percent = self.half_width_percent(case) if several else stats.interval_percent
        far = bool(stats.median) and abs(stats.mean / (stats.median or 1) - 1) > FAR_MEAN
        return far or (percent is not None and percent > UNSTEADY_PERCENT)

    def evidence(self, case: CaseState) -> Evidence | None:
        """Return what verdicts on a measured case use; None without a result."""
        return self._evidence(self._measured[case.index]) if case.index in self._measured else None

    def base_of(self, case: CaseState) -> CaseState | None:
        """Return the baseline of a case, chosen by the report's rule (``sessions.stats.baseline``)."""
        return self._bases.get(case.config.work)

    def is_base(self, case: CaseState) -> bool:
        """Return whether this case is a baseline, by index: events after its end replace the object."""
        base = self.base_of(case)
        return base is not None and base.index == case.index

    def has_pending_base(self, case: CaseState) -> bool:
        """Return whether the baseline of a case has yet to be measured."""
        planned = baseline_of(case.config, self._session.cases, self._baseline)
        return planned is not None and planned.finished is None and self._session.finished is None

    def missing_base_reason(self, case: CaseState, name_of: Callable[[CaseState], str]) -> str:
        """Return why a measured case has no ratio, with the baseline's name. Empty if it has one."""
        if case.index not in self._measured or case.config.repeat or self.base_of(case) is not None:
            return ""
        planned = self._session.cases
        return f"no ratio: {explain_missing_baseline(case.config, planned, self._baseline, name_of)}"

    def rounds(self, case: CaseState) -> tuple[Sample, ...]:
        """Return a case's summarized rounds. Empty while its steps are left to the worker thread."""
        if case.index not in self._rounds and self._is_summable(case):
            self._rounds[case.index] = rounds_of(case)
        return self._rounds.get(case.index, ())

    def _is_summable(self, case: CaseState) -> bool:
        """Return whether a case can be summarized here rather than in the worker thread."""
        if case.metrics is not None:
            return True
        return case.cut_off_state is not None or len(case.measured) <= THREAD_STEPS

    def _evidence(self, case: CaseState) -> Evidence | None:
        evidence = Evidence(case, self.rounds(case), session=self._session)
        noise = self._noise_estimates().get(kind_of_result(evidence), Noise(same_within=self._margin))
        return structs.replace(evidence, noise=noise) if evidence.rounds else None

    def _noise_estimates(self) -> dict[str, Noise]:
        """Estimate the noise from the cases that have ended. Only repeated measurements contribute."""
        if self._noise is not None and not (self._pending and self._is_summable(self._pending)):
            return self._noise
        self._ratios.clear()
        start = self._session.start
        repeated = start.sweep.measure.repeats or start.source is not None
        medians: list[tuple[CaseState, Sequence[Statistic]]] = []
        self._pending = None
        for case in self._measured.values():
            if not self._is_summable(case):
                self._pending = self._pending or case
                continue
            if not repeated:  # only an A/A pair says how noisy it is
                continue
            if case.index not in self._medians:
                self._medians[case.index] = medians_of(case)
            medians.append((case, self._medians[case.index]))
        noise = noise_by_kind(medians, self._aa_pair(), start.process_spread, self._margin, start.host.virtual)
        by_turns = [case for case in self._measured.values() if any(end.turns for end in case.ends)]
        self._noise = with_turns(noise, [Evidence(case, self.rounds(case)) for case in by_turns])
        return self._noise

    def _aa_pair(self) -> tuple[Evidence, Evidence] | None:
        """Return the A/A pair; None if the session has none."""
        again = next((case for case in self._measured.values() if case.config.repeat), None)
        if again is None:
            return None
        wanted = structs.replace(again.config, repeat=0)
        first = next((case for case in self._measured.values() if case.config == wanted), None)
        return aa_pair([Evidence(case, self.rounds(case)) for case in (first, again) if case])

    @property
    def _baseline(self) -> Baseline | None:
        return self._judging.baseline or self._session.start.sweep.measure.baseline

    @property
    def _margin(self) -> float:
        wanted = self._judging.same_within
        return self._session.same_within if wanted is None else wanted
