"""Tried remedies of findings: the predicted bound beside the measured gain."""

from collections.abc import Collection

from benchtui.sessions.explain.trials import Trial, all_trials
from benchtui.sessions.state.case import outcome
from benchtui.sessions.state.session import Session
from benchtui.sessions.text.formatting import ratio_span, ratio_text
from benchtui.sessions.text.labels import case_label
from benchtui.sessions.text.tables import Column, Table, table


def tried_table(session: Session, varying: Collection[str]) -> Table | None:
    """Return a row for each remedy that was measured; None if there is none."""
    columns = (
        Column[Trial]("Case", lambda trial: case_label(trial.case.config, varying), right=False),
        Column[Trial]("Finding", lambda trial: trial.finding.rule, right=False),
        Column[Trial]("Remedy", lambda trial: trial.options, right=False),
        Column[Trial]("Predicted at most (×)", lambda trial: trial.predicted and ratio_text(trial.predicted)),
        Column[Trial]("Measured (×)", lambda trial: trial.ratio and ratio_text(trial.ratio.value)),
        Column[Trial]("95% interval (×)", _interval),
        Column[Trial]("Verdict", _verdict, right=False),
    )
    return table(columns, all_trials(session))


def _interval(trial: Trial) -> str | None:
    return ratio_span(trial.ratio.low, trial.ratio.high, trial.ratio.value) if trial.ratio else None


def _verdict(trial: Trial) -> str | None:
    """Return the verdict; how the remedied case ended if it wasn't measured."""
    if trial.ratio:
        return trial.ratio.verdict.name
    return outcome(trial.tried) if trial.tried else None
