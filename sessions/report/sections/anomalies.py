"""Anomalies: results that neither their neighbors nor their own steps would suggest."""

from collections.abc import Sequence

from benchtui.sessions.analysis.anomalies import COUNTED, Anomaly, Kind, anomalies
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import Result
from benchtui.sessions.text.formatting import capitalized, listed, percent, signed_percent, span
from benchtui.sessions.text.tables import Column, Table, table, text_column
from benchtui.sessions.text.wording import Phrase

MOST_ANOMALIES = 10
"""Maximum number of anomalies in a short report."""


def anomaly_table(session: Session, results: Sequence[Result], *, full: bool) -> Table | None:
    """Return a row for each anomaly. A short report has the first ones of those that aren't only counted."""
    rows = list(anomalies(results, session.peaks))
    if not full:
        rows = [anomaly for anomaly in rows if anomaly.kind not in COUNTED][:MOST_ANOMALIES]
    facts: tuple[Column[Anomaly], ...] = (
        text_column("Case", lambda anomaly: anomaly.result.name),
        text_column("What", _describe),
        text_column("Evidence", _evidence),
    )
    return table(facts, rows)


def _describe(anomaly: Anomaly) -> str:
    """Describe the anomaly, after the disturbance that may explain it."""
    precision, others = anomaly.result.config.precision, [_size(row) for row in anomaly.others]
    words = _DESCRIPTIONS[anomaly.kind].format(
        share=percent(abs(anomaly.share)),
        longer="longer" if anomaly.share > 0 else "shorter",
        others=listed(others),
        sizes=listed([_size(anomaly.result), *others]),
        precision="autocast" if precision.startswith("amp-") else precision,
    )
    cause = capitalized(listed(list(anomaly.causes)))
    return f"{cause}, which may account for this: {words}" if cause else words


def _size(row: Result) -> str:
    return f"{row.config.batch_size:,}"


_DESCRIPTIONS: dict[Kind, str] = {
    "off the trend": "step is {share} % {longer} than batch sizes {others} predict",
    "shorter step": "step is {share} % shorter than at batch size {others}, which is less work",
    "drift": "steps take {share} % {longer} at the end of a round than at its start",
    "two modes": "step times have two modes, the slower {share} % longer than the faster",
    "tokenizing": "tokenizing takes {share} % of a step, more than any other part",
    "host-bound": "host-bound: the device is busy for {share} % of a step",
    "no effect": "same peak memory as fp32 and times within {share} % at batch sizes {sizes}: {precision} was"
    " probably not applied",
}


def _evidence(anomaly: Anomaly) -> str:
    """Say what an anomaly rests on: an interval, or why there is none."""
    if anomaly.kind == "no effect":
        return Phrase.NOT_VERIFIED
    if anomaly.kind in COUNTED:
        return "a share of measured times"
    if anomaly.bounds is None:
        return "can't be tested: its source kept no steps"
    return f"95% interval {span(signed_percent(anomaly.bounds[0]), signed_percent(anomaly.bounds[1]))} %"
