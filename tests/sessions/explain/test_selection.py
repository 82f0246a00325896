from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.explain.selection import require_explainable, selected
from benchtui.sessions.sweep import Baseline, Measure, Sweep


def test_baseline_and_best_of_each_work(bench: Any) -> None:
    sweep = Sweep(name="s", model="m", measure=Measure(baseline=Baseline(batch_size=2)))
    session = bench.session(
        *(bench.steady(size, ms) for size, ms in ((1, 10.0), (2, 12.0), (8, 20.0))),
        bench.case(16, outcome="oom"),
        sweep=sweep,
    )
    assert selected(session, ("baseline",)) == (1,)
    assert selected(session, ("best", "baseline")) == (1, 2)
    assert selected(session, ("all",)) == (0, 1, 2)
    assert selected(session, ()) == ()


def test_what_cannot_be_explained_says_why(bench: Any) -> None:
    session = bench.session(bench.case(1, 10.0), bench.case(2, outcome="oom"))
    assert require_explainable(session, 0).index == 0
    with pytest.raises(BenchtuiError, match=r"case 2, .+ ran out of memory: nothing to explain"):
        require_explainable(session, 1)
    with pytest.raises(BenchtuiError, match="no case 3; the session has 2 cases, numbered from 1"):
        require_explainable(session, 2)
    session.started = replace(session.start, simulated="a model")
    with pytest.raises(BenchtuiError, match="simulated"):
        require_explainable(session, 0)
    session.started = replace(session.start, simulated=None, source="pyperf")
    with pytest.raises(BenchtuiError, match="imported from pyperf"):
        require_explainable(session, 0)
