"""What an attempt that can't be started leaves of the disturbed one before it, with a case that is played."""

from collections.abc import Callable
from typing import Any

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.payloads import Environment
from benchtui.sessions.sweep import Axes

HOT = {"measured_s": (0.0, 1.0), "environment": Environment(throttle=("sw_thermal",))}


def test_disturbed_measurement_counts_if_it_cannot_be_repeated(
    stage: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = stage(axes=Axes())
    sweep.finish(0, **HOT)

    def refuse(_: object) -> Any:
        raise BenchtuiError("can't start the worker: why")

    (run,) = sweep.scheduler._runs.values()
    monkeypatch.setattr(run, "_launch", refuse)
    now_s = sweep.log.now_s() + 6.0
    monkeypatch.setattr(sweep.log, "now_s", lambda: now_s)
    sweep.scheduler.advance()
    assert sweep.outcomes() == {0: ("ok", None)}
    session = sweep.told()
    assert len(session.cases[0].measured) == 20 and session.cases[0].repeated == ()
    warning = session.messages[-1]
    assert (warning.level, "the disturbed measurement counts" in warning.text) == ("warning", True)
    assert warning.text.endswith("can't start the worker: why")
