"""Limitations of a session: what its figures can't show."""

from collections.abc import Sequence

from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.quantiles import LEAST_FOR_P99
from benchtui.sessions.stats.results import Result
from benchtui.sessions.stats.sampling import LEAST_ROUNDS
from benchtui.sessions.text.formatting import count, listed

ACCURACY = "Accuracy isn't measured: precisions and models are compared only by time."
MOST_DEVICES = 4
"""Devices to name; more are only counted."""


def limitations(session: Session, results: Sequence[Result]) -> list[str]:
    """Describe what the figures can't show. Empty for a simulated session, or one without results."""
    if session.simulated or not results:
        return []
    texts = (_machine(session, results), _processes(results), _slow_steps(results), _accuracy(results))
    return list(filter(None, texts))


def _machine(session: Session, results: Sequence[Result]) -> str:
    """Name the devices and the software that the figures belong to."""
    devices = list(dict.fromkeys(name for result in results for name in case_devices(session, result) if name))
    torch = f" with PyTorch {session.runtime.torch}" if session.runtime else ""
    if not devices:
        return "The record doesn't say which hardware the figures belong to."
    named = listed(devices) if len(devices) <= MOST_DEVICES else f"{len(devices):,} kinds of devices"
    return f"The figures belong to {named}{torch}: other hardware or versions may rank the cases differently."


def case_devices(session: Session, result: Result) -> tuple[str | None, ...]:
    """Return the GPU of a case, or all kinds of its machine if its own isn't known; else the processor."""
    host = session.host_of(result.case)
    if result.config.device == "cpu" or not host.gpus:
        return (host.processor,)
    own = session.gpu_name(result.case)
    return (own,) if own else tuple(gpu.name for gpu in host.gpus)


def _processes(results: Sequence[Result]) -> str:
    """Say that the spread between processes is estimated, where cases have too few rounds to measure it."""
    few = [
        result
        for result in results
        if len(result.metrics.rounds_ms) < LEAST_ROUNDS and result.case.steps_measured
    ]
    if not few:
        return ""
    which = "Each case" if len(few) == len(results) else count(len(few), "case")
    return (
        f"{which} ran in fewer than {LEAST_ROUNDS} processes, so the spread between processes is estimated;"
        f" rounds = {LEAST_ROUNDS} measures it."
    )


def _slow_steps(results: Sequence[Result]) -> str:
    """Say that rare slow steps can't be seen, with the number of steps; or nothing but means, without steps."""
    if not any(result.case.steps_measured for result in results):
        return "The source kept no single steps, so drift and slow steps can't be seen."
    most = max(result.metrics.latency_ms.n for result in results)
    if most >= LEAST_FOR_P99:
        return ""
    return f"There is no p99: it needs {LEAST_FOR_P99} steps of a case, and none has more than {most:,}."


def _accuracy(results: Sequence[Result]) -> str:
    """Say that precisions are compared only by time, unless the cases' answers were compared."""
    answered = any(result.case.comparison and result.case.comparison.verdict for result in results)
    return ACCURACY if len({result.config.precision for result in results}) > 1 and not answered else ""
