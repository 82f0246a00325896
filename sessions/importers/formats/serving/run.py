"""Run of a load generator as a case: one step, with each request timed.

A step is the whole run, as in the task ``serve-batch``, so rates are requests and tokens over the time of the
run. A run is measured once; runs with the same name in a file become rounds of a case.
"""

import msgspec

from benchtui.sessions.importers.imported import Measurement, labeled_case
from benchtui.sessions.payloads import Model, Reported, ReportedTimes
from benchtui.sessions.sanitize import LONGEST_VALUE, visible
from benchtui.sessions.sweep import SERVE

STEP_NOTE = "a step is a whole run; its requests are timed one by one"
PER_REQUEST_NOTE = "time per output token: mean of each request after its first token, not single gaps"


class ServingRun(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a run, as a load generator reports it."""

    name: str
    work: str = ""
    """Name of its work; only runs of the same work are compared. Empty if all runs of the file do the same."""
    model: str
    duration_s: float
    completed: int
    """Requests that succeeded."""
    failed: int = 0
    requests_per_s: float | None = None
    tokens_per_s: float | None = None
    """Tokens of prompts and answers."""
    new_tokens_per_s: float | None = None
    first_token: ReportedTimes | None = None
    per_token: ReportedTimes | None = None
    request: ReportedTimes | None = None


def measurement(run: ServingRun) -> Measurement:
    """Return the measurement of a run. It failed if no request succeeded."""
    total = run.completed + run.failed
    return Measurement(
        config=labeled_case(run.name, group=run.work),
        task=SERVE.name,
        reported=Reported(
            steps=1,
            latency_mean_ms=1000 * run.duration_s,
            samples_per_s=run.requests_per_s,
            tokens_per_s=run.tokens_per_s,
            new_tokens_per_s=run.new_tokens_per_s,
            first_token=run.first_token,
            per_token=run.per_token,
            request=run.request,
        ),
        model=Model(name=visible(run.model, LONGEST_VALUE)),
        samples_per_step=run.completed,
        marks=(f"{run.failed:,} of {total:,} requests failed",) if run.failed and run.completed else (),
        failure=None if run.completed else f"no request of {total:,} succeeded",
    )
