"""Case verdicts against the baseline, by the report's rules, while cases are still ending."""

from collections.abc import Callable

from msgspec import structs

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.judging import VerdictSettings
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baseline_of, explain_missing_baseline
from benchtui.sessions.stats.evidence import Evidence, aa_pair, rounds_of
from benchtui.sessions.stats.noise import Noise, kind_of, noise_of
from benchtui.sessions.stats.ratios import latency_ratio, throughput_ratio
from benchtui.sessions.stats.sampling import Sample
from benchtui.sessions.stats.verdicts import Ratio
from benchtui.sessions.sweep import Baseline, Work
from benchtui.tui.live.step_cache import THREAD_STEPS


class CaseVerdicts:
    """Compares successfully measured cases with their baseline."""

    def __init__(self, session: Session, judging: VerdictSettings) -> None:
        self._session = session
        self._judging = judging
        self._measured: dict[int, CaseState] = {}
        """Successfully measured cases, by index."""
        self._bases: dict[Work, CaseState | None] = {}
        """Baseline per work; computed on demand, cleared when a case ends."""
        self._rounds: dict[int, tuple[Sample, ...]] = {}
        """Summarized rounds per case, computed when the case is first compared."""
        self._noise: tuple[int, dict[str, Noise]] = (-1, {})
        """Noise estimates, and the number of cases with summarized rounds they were computed from."""

    def add_ended(self, case: CaseState) -> None:
        """Record a case that has ended. The baseline may change as a result."""
        if case.state == "ok":
            self._measured[case.index] = case
            self._rounds.pop(case.index, None)
            self._bases, self._noise = {}, (-1, {})

    def verdict(self, case: CaseState) -> Ratio | None:
        """Return a case's throughput or latency ratio to its baseline, with the verdict.

        Returns None without evidence, for a case that hasn't ended well, and for the baseline itself.
        """
        base = self.base_of(case)
        if base is None or base is case or case.state != "ok":
            return None
        one, other = self._evidence(base), self._evidence(case)
        return throughput_ratio(one, other) or latency_ratio(one, other) if one and other else None

    def throughput_ratio(self, base: CaseState, new: CaseState) -> Ratio | None:
        """Return the throughput ratio of two successful cases; None without evidence."""
        one, other = self._evidence(base), self._evidence(new)
        return throughput_ratio(one, other) if one and other else None

    def base_of(self, case: CaseState) -> CaseState | None:
        """Return the baseline of a case, chosen by the report's rule (``sessions.stats.baseline``)."""
        work = case.config.work
        if work not in self._bases:
            measured = (self._measured[index] for index in sorted(self._measured))
            self._bases[work] = baseline_of(case.config, measured, self._baseline)
        return self._bases[work]

    def is_base(self, case: CaseState) -> bool:
        """Return whether this case is a baseline for others."""
        return self.base_of(case) is case

    def missing_base_reason(self, case: CaseState, name_of: Callable[[CaseState], str]) -> str:
        """Return why a case that ended well has no ratio, with the baseline's name. Empty if it has one."""
        if case.state != "ok" or case.config.repeat or self.base_of(case) is not None:
            return ""
        planned = self._session.cases
        return f"no ratio: {explain_missing_baseline(case.config, planned, self._baseline, name_of)}"

    def rounds(self, case: CaseState) -> tuple[Sample, ...]:
        """Return a case's summarized rounds. Empty while its steps are left to the worker thread."""
        if case.index not in self._rounds and (case.metrics or len(case.measured) <= THREAD_STEPS):
            self._rounds[case.index] = rounds_of(case)
        return self._rounds.get(case.index, ())

    def _evidence(self, case: CaseState) -> Evidence | None:
        rounds = self.rounds(case)
        noise = self._noise_estimates().get(kind_of(case), Noise(same_within=self._margin))
        return Evidence(case, rounds, noise, self._session) if rounds else None

    def _noise_estimates(self) -> dict[str, Noise]:
        """Estimate the noise from the cases that have ended. Only repeated measurements contribute."""
        if self._noise[0] != len(self._rounds):
            start, measured = self._session.start, list(self._measured.values())
            repeated = start.sweep.measure.rounds > 1 or start.source is not None
            found = [Evidence(case, self.rounds(case)) for case in measured] if repeated else []
            virtual = bool(start.host.virtual)
            known = noise_of(found, self._aa_pair(), start.process_spread, self._margin, virtual)
            self._noise = len(self._rounds), known
        return self._noise[1]

    def _aa_pair(self) -> tuple[Evidence, Evidence] | None:
        """Return the A/A pair; None if the session has none."""
        measured = self._measured.values()
        twins = {structs.replace(case.config, repeat=0) for case in measured if case.config.repeat}
        both = (case for case in measured if structs.replace(case.config, repeat=0) in twins) if twins else ()
        return aa_pair([Evidence(case, self.rounds(case)) for case in both])

    @property
    def _baseline(self) -> Baseline | None:
        return self._judging.baseline or self._session.start.sweep.measure.baseline

    @property
    def _margin(self) -> float:
        wanted = self._judging.same_within
        return self._session.same_within if wanted is None else wanted
