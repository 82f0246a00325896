"""Anomalies: results that noise alone doesn't explain."""

from collections.abc import Callable, Sequence

from benchtui.sessions.analysis.anomalies import COUNTED, Anomaly, Kind, anomalies
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.results import Result
from benchtui.sessions.text.formatting import capitalized, listed, percent, signed_percent, span
from benchtui.sessions.text.tables import Column, Table, table, text_column

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
        text_column("Confidence", _certainty),
    )
    return table(facts, rows)


def _describe(anomaly: Anomaly) -> str:
    """Describe the anomaly, after the disturbance that may explain it."""
    words = _DESCRIPTIONS[anomaly.kind](anomaly)
    cause = capitalized(listed(list(anomaly.causes)))
    return f"{cause}, which may account for this: {words}" if cause else words


def _certainty(anomaly: Anomaly) -> str | None:
    if anomaly.kind == "no effect":
        return "not verified"
    if anomaly.kind in COUNTED:
        return "counted"
    if anomaly.bounds is None:
        return "can't be tested: its source kept no steps"
    return f"{span(signed_percent(anomaly.bounds[0]), signed_percent(anomaly.bounds[1]))} %"


def _off_trend(anomaly: Anomaly) -> str:
    sizes = listed([f"{row.config.batch_size:,}" for row in anomaly.others])
    return f"step is {percent(abs(anomaly.share))} % {_longer(anomaly.share)} than batch sizes {sizes} predict"


def _longer(share: float) -> str:
    return "longer" if share > 0 else "shorter"


def _shorter_step(anomaly: Anomaly) -> str:
    smaller = anomaly.others[0].config.batch_size
    return f"step is {percent(abs(anomaly.share))} % shorter than at batch size {smaller:,}, which is less work"


def _drift(anomaly: Anomaly) -> str:
    return (
        f"steps take {percent(abs(anomaly.share))} % {_longer(anomaly.share)} at the end of a round"
        " than at its start"
    )


def _two_modes(anomaly: Anomaly) -> str:
    return f"step times have two modes, the slower {percent(anomaly.share)} % longer than the faster"


def _tokenizing(anomaly: Anomaly) -> str:
    return f"tokenizing takes {percent(anomaly.share)} % of a step, more than any other part"


def _host_bound(anomaly: Anomaly) -> str:
    return f"host-bound: the device is busy for {percent(anomaly.share)} % of a step"


def _no_effect(anomaly: Anomaly) -> str:
    sizes = listed([f"{row.config.batch_size:,}" for row in (anomaly.result, *anomaly.others)])
    what = "autocast" if anomaly.result.config.precision.startswith("amp-") else anomaly.result.config.precision
    return (
        f"same peak memory as fp32 and times within {percent(anomaly.share)} % at batch sizes {sizes}:"
        f" {what} was probably not applied"
    )


_DESCRIPTIONS: dict[Kind, Callable[[Anomaly], str]] = {
    "off the trend": _off_trend,
    "shorter step": _shorter_step,
    "drift": _drift,
    "two modes": _two_modes,
    "tokenizing": _tokenizing,
    "host-bound": _host_bound,
    "no effect": _no_effect,
}
