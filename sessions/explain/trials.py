"""Trials: remedies of findings as cases, measured next to the case, and their gain next to the bound.

A remedy counts as tried once the session has measured a case with its options, however that case was added.
The gain is the ratio that every other page shows for these two cases.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from benchtui.sessions.advice.deciding_sweep import sweep_over
from benchtui.sessions.advice.open_questions import Remedy as Rules
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.explain.cases import ExplainedCase, explained_cases
from benchtui.sessions.explain.finding import Finding, Remedy
from benchtui.sessions.explain.findings import findings
from benchtui.sessions.state.case import CaseState, outcome
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.evidence import LEAST_ALTERNATING
from benchtui.sessions.stats.ratios import comparison
from benchtui.sessions.stats.results import Result, measured
from benchtui.sessions.stats.verdicts import Ratio
from benchtui.sessions.sweep import Config, Sweep
from benchtui.sessions.text.formatting import ratio_span, ratio_text

SUFFIX = "try"


class Trial(msgspec.Struct, frozen=True):
    """A finding's remedy, and what it gains."""

    case: CaseState
    finding: Finding
    config: Config
    """Options of the case with the remedy."""
    bound: float | None
    """Most that the speed can be multiplied by; None if the finding has no bound."""
    predicted: float | None
    """What the remedy is expected to multiply the speed by; None if the profile doesn't say."""
    tried: CaseState | None = None
    """Case with these options that has ended; None if there is none."""
    ratio: Ratio | None = None
    """Measured gain; None unless both cases were measured."""

    @property
    def options(self) -> str:
        """The remedy as text, such as ``threads=2``."""
        return " ".join(f"{name}={value}" for name, value in (self.finding.remedy or {}).items())


def trials(session: Session, explained: ExplainedCase, results: Sequence[Result] = ()) -> tuple[Trial, ...]:
    """Return the remedies of a case's findings, each with its measured gain if it was tried.

    ``results`` are the session's, if they are already computed.
    """
    remedies = [finding for finding in findings(explained) if finding.remedy]
    if not remedies:
        return ()
    ended = {_key(session, case.config): case for case in session.cases if case.finished}
    by_index = {result.case.index: result for result in results or measured(session)}
    return tuple(_trial(session, explained, finding, remedies, ended, by_index) for finding in remedies)


def all_trials(session: Session) -> tuple[Trial, ...]:
    """Return the tried remedies of all explained cases, in plan order."""
    explained = explained_cases(session)
    results = measured(session) if explained else ()
    return tuple(trial for case in explained for trial in trials(session, case, results) if trial.tried)


def _trial(
    session: Session,
    explained: ExplainedCase,
    finding: Finding,
    remedies: Sequence[Finding],
    ended: dict[Config, CaseState],
    by_index: dict[int, Result],
) -> Trial:
    case = explained.case
    config = _with(case.config, finding.remedy or {})
    tried = ended.get(_key(session, config))
    base, new = by_index.get(case.index), by_index.get(tried.index) if tried else None
    ratio = comparison(base, new).ratio if base and new else None
    alike = [other for other in remedies if other.remedy == finding.remedy]
    return Trial(case, finding, config, *_gains(explained, finding, alike), tried, ratio)


def _with(config: Config, remedy: Remedy) -> Config:
    return replace(config, repeat=0, **remedy)


def _key(session: Session, config: Config) -> Config:
    """Return a configuration in a form that is equal for equal options."""
    return replace(session.start.sweep.resolve(config), repeat=0, unset=())


def _gains(
    explained: ExplainedCase, finding: Finding, alike: Iterable[Finding]
) -> tuple[float | None, float | None]:
    """Return the bound of the speedup and the expected one: the step over what remains of it.

    The bound covers all findings with this remedy, ``alike``, because trying it removes all their causes.
    """
    bound_s = None if finding.bound_s is None else sum(other.bound_s or 0.0 for other in alike)
    step_s = (explained.profile.plain_ms if explained.measured_ms is None else explained.measured_ms) / 1000
    most, expected = (
        None if saved_s is None or not 0 <= saved_s < step_s else step_s / (step_s - saved_s)
        for saved_s in (bound_s, finding.expected_s)
    )
    return most, expected


def chosen(session: Session, explained: Iterable[ExplainedCase], rules: Collection[str] = ()) -> list[Trial]:
    """Return the remedies that haven't been tried, of these rules or of all.

    Raises:
        BenchtuiError: If a rule has no finding with a remedy.
    """
    explained = list(explained)
    remedies = [trial for case in explained for trial in trials(session, case)]
    names = dict.fromkeys(trial.finding.rule for trial in remedies)
    if unknown := [rule for rule in rules if rule not in names]:
        rules_here = {finding.rule for case in explained for finding in findings(case)}
        own = "its finding says what to change, which no option does"
        why = own if unknown[0] in rules_here else "found nothing here"
        allowed = f"can be tried: {', '.join(names)}" if names else "no finding here can be tried"
        raise BenchtuiError(f"rule {unknown[0]!r}: {why}; {allowed}")
    return [trial for trial in remedies if not trial.tried and (not rules or trial.finding.rule in rules)]


def trial_sweep(session: Session, wanted: Iterable[Trial]) -> Sweep:
    """Return the sweep that measures these remedies and their cases in alternating rounds."""
    configs = {config for trial in wanted for config in (replace(trial.case.config, repeat=0), trial.config)}
    return sweep_over(session, configs, SUFFIX, [Rules(rounds=LEAST_ALTERNATING)])


def trial_sentence(trial: Trial) -> str | None:
    """Describe a tried remedy: ``tried threads=2: 1.31x (1.27 to 1.36), predicted 1.35x, at most 1.4x``."""
    if trial.tried is None:
        return None
    return ", ".join(_parts(trial))


def _parts(trial: Trial) -> Iterator[str]:
    ratio, before = trial.ratio, f"tried {trial.options}: "
    if ratio is None:
        ended = outcome(trial.tried) if trial.tried else ""
        reason = trial.tried.finished.reason if trial.tried and trial.tried.finished else None
        yield f"{before}{ended}{f' ({reason})' if reason else ''}"
    else:
        interval = ratio_span(ratio.low, ratio.high, ratio.value)
        yield f"{before}{ratio_text(ratio.value)}x{f' ({interval})' if interval else ''} {ratio.verdict.name}"
    predicted = "predicted "
    if trial.predicted is not None:
        yield f"predicted {ratio_text(trial.predicted)}x"
        predicted = ""
    if trial.bound is not None:
        yield f"{predicted}at most {ratio_text(trial.bound)}x"
