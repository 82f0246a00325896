"""The simulated demo: written by its script from a seed, complete, and with something of everything to show."""

from pathlib import Path

import pytest
from simulated.make_demo import write_demo

from benchtui.sessions.library.paths import DEMO, demo_path, resolve
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.disturbance import mark_kind

MOST_BYTES = 1_500_000


@pytest.fixture(scope="module")
def demo() -> Session:
    return Session.load(demo_path())


def test_bundled_demo_is_what_its_script_writes(tmp_path: Path) -> None:
    write_demo(tmp_path / "demo.json")
    assert (tmp_path / "demo.json").read_bytes() == demo_path().read_bytes(), (
        "write it again: PYTHONPATH=tests/bench python -m simulated.make_demo"
    )
    assert resolve(DEMO) == demo_path() and demo_path().stat().st_size < MOST_BYTES


def test_demo_is_complete_and_simulated(demo: Session) -> None:
    assert demo.finished is not None and demo.finished.outcome == "completed" and not demo.torn
    assert demo.start.simulated is not None and demo.left == 0
    assert [case.state for case in demo.cases].count("ok") == 30
    assert [case.state for case in demo.cases].count("oom") == 2
    assert all(len(case.ends) == 2 for case in demo.cases if case.state == "ok")
    assert 300 < demo.now_s < 900


def test_demo_has_a_case_of_every_kind_of_trouble(demo: Session) -> None:
    kinds = {mark_kind(mark) for case in demo.cases for mark in case.marks}
    assert {"throttled", "disturbed", "shared GPU"} <= kinds
    assert (
        sum(
            any(mark_kind(mark) in kinds - {"SIMULATED", "random weights"} for mark in case.marks)
            for case in demo.cases
        )
        == 3
    )
    healed = [case for case in demo.cases if case.repeated and len(case.marks) == 2]
    assert len(healed) == 1, "one disturbance is gone when measured again"
    hot = [span for span in demo.machine.throttle_spans[0] if "sw_thermal" in span.reasons]
    assert sum(span.end_s - span.start_s for span in hot) > 3
