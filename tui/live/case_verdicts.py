"""The word for each case of a session against its baseline, while cases still end; the words of the report."""

from msgspec import structs

from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.judging import Judging
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baseline_of, why_none
from benchtui.sessions.stats.evidence import Evidence, aa_pair, rounds_of
from benchtui.sessions.stats.noise import Noise, kind_of, noise_of
from benchtui.sessions.stats.ratios import Ratio, latency_ratio, throughput_ratio
from benchtui.sessions.stats.sampling import Sample
from benchtui.sessions.sweep import Baseline
from benchtui.tui.live.step_cache import MANY


class Judge:
    """Compares the cases of a session that ended well with their baseline."""

    def __init__(self, session: Session, judging: Judging) -> None:
        self._session = session
        self._judging = judging
        self._measured: dict[int, CaseState] = {}
        """Cases that ended well, by their number."""
        self._bases: dict[int, CaseState | None] = {}
        """The baseline of each sequence length, as far as it was asked for since a case ended."""
        self._rounds: dict[int, tuple[Sample, ...]] = {}
        """The rounds of cases that ended well, summed up when they are first compared."""
        self._noise: tuple[int, dict[str, Noise]] = (-1, {})
        """What is known of the noise, and of how many cases the rounds were summed up then."""

    def take_in(self, case: CaseState) -> None:
        """Take in a case that has ended; another may be the baseline from now on."""
        if case.state == "ok":
            self._measured[case.index] = case
            self._rounds.pop(case.index, None)
            self._bases, self._noise = {}, (-1, {})

    def verdict(self, case: CaseState) -> Ratio | None:
        """How many times as fast a case is as its baseline, with the word for it; None where nothing says.

        Of a case that hasn't ended there is no word yet, and of the baseline itself none is needed.
        """
        base = self.base_of(case)
        if base is None or base is case or case.state != "ok":
            return None
        one, other = self._evidence(base), self._evidence(case)
        return throughput_ratio(one, other) or latency_ratio(one, other) if one and other else None

    def base_of(self, case: CaseState) -> CaseState | None:
        """The measured case to hold one against, by the rule of the report (``sessions.baseline``)."""
        length = case.config.sequence_length
        if length not in self._bases:
            measured = (self._measured[index] for index in sorted(self._measured))
            self._bases[length] = baseline_of(case.config, measured, self._named)
        return self._bases[length]

    def is_base(self, case: CaseState) -> bool:
        """Whether others are held against this case."""
        return self.base_of(case) is case

    def why_no_base(self, case: CaseState) -> str:
        """Why a case that ended well has no ratio; empty where it has one."""
        if case.state != "ok" or case.config.repeat or self.base_of(case) is not None:
            return ""
        return f"no ratio: {why_none(case.config, self._session.cases, self._named)}"

    def rounds(self, case: CaseState) -> tuple[Sample, ...]:
        """The rounds of a case that ended well, summed up; none while its steps are left to a thread."""
        if case.index not in self._rounds and (case.figures or len(case.measured) <= MANY):
            self._rounds[case.index] = rounds_of(case)
        return self._rounds.get(case.index, ())

    def _evidence(self, case: CaseState) -> Evidence | None:
        rounds = self.rounds(case)
        noise = self._known_noise().get(kind_of(case), Noise(same_within=self._margin))
        return Evidence(case, rounds, noise, self._session) if rounds else None

    def _known_noise(self) -> dict[str, Noise]:
        """The noise of the session, as far as its cases have ended; only what was repeated says anything."""
        if self._noise[0] != len(self._rounds):
            start, measured = self._session.start, list(self._measured.values())
            repeated = start.sweep.measure.rounds > 1 or start.source is not None
            found = [Evidence(case, self.rounds(case)) for case in measured] if repeated else []
            virtual = bool(start.host.virtual)
            known = noise_of(found, self._pair(), start.process_spread, self._margin, virtual)
            self._noise = len(self._rounds), known
        return self._noise[1]

    def _pair(self) -> tuple[Evidence, Evidence] | None:
        """The A/A pair, where the session has one."""
        measured = self._measured.values()
        twins = {structs.replace(case.config, repeat=0) for case in measured if case.config.repeat}
        both = (case for case in measured if structs.replace(case.config, repeat=0) in twins) if twins else ()
        return aa_pair([Evidence(case, self.rounds(case)) for case in both])

    @property
    def _named(self) -> Baseline | None:
        return self._judging.baseline or self._session.start.sweep.measure.baseline

    @property
    def _margin(self) -> float:
        wanted = self._judging.same_within
        return self._session.same_within if wanted is None else wanted
