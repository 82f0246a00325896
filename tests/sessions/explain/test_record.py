"""Profiles in the record: after the end of a session, in a replay, and in a file that others read."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from journals import write_journal

from benchtui.sessions.events import Explained, Peaks
from benchtui.sessions.explain.as_json import case_json, explained_json
from benchtui.sessions.explain.cases import explained_case, explained_cases
from benchtui.sessions.explain.difference import difference
from benchtui.sessions.explain.findings import findings
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.profiles import KernelTime
from benchtui.sessions.replay.timeline import ReplayCursor, Timeline
from benchtui.sessions.state.session import Session


def explained(make_profile: Any, case: int, ms: float = 10.0, **fields: Any) -> Explained:
    profile = make_profile({"matmul": ms}, **fields)
    return Explained(t=99.0, case=case, created="2026-11-23T10:00:00Z", profile=profile)


def append(path: Path, *events: Explained) -> None:
    journal = Journal(path, resumed=True)
    for event in events:
        journal.append(event)
    journal.complete()
    journal.close()


def test_profiles_are_appended_after_the_end(bench: Any, make_profile: Any, tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    write_journal(path, bench.events(bench.case(1, 10.0), bench.case(2, 12.0)))
    amount = len(json.loads(path.read_text()))
    append(path, explained(make_profile, 1), explained(make_profile, 0))
    append(path, explained(make_profile, 1, 20.0))
    assert len(json.loads(path.read_text())) == amount + 3
    session = Session.load(path)
    assert session.finished is not None and session.now_s == 99.0
    assert [each.profile.step_ms for each in explained_cases(session)] == [10.0, 20.0]


def test_replay_has_a_profile_from_its_moment_on(bench: Any, make_profile: Any, tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    write_journal(path, bench.events(bench.case(1, 10.0), bench.case(2, 12.0)))
    append(path, explained(make_profile, 0))
    timeline = Timeline(path)
    while not timeline.complete:
        timeline.read()
    cursor = ReplayCursor(timeline)
    for moment, known in ((0.5, False), (99.0, True), (0.5, False)):
        cursor.seek(moment)
        while not cursor.move(moment):
            pass
        assert (cursor.session.cases[0].explained is not None) is known
    assert timeline.whole.cases[0].explained is not None
    timeline.close()


def test_json_has_findings_and_the_difference(bench: Any, make_profile: Any) -> None:
    more = [explained(make_profile, 0), explained(make_profile, 1, 12.0)]
    session = bench.session(bench.case(1, 10.0), bench.case(2, 12.0), more=more)
    cases = explained_cases(session)
    found = json.loads(msgspec.json.encode(explained_json(map(case_json, cases), difference(*cases))))
    assert [each["case"] for each in found["cases"]] == [0, 1]
    assert found["cases"][0]["profile"]["families"] == [{"family": "matmul", "ms": 10.0, "launches": 10.0}]
    parts = [part["new_ms"] - part["base_ms"] for part in found["difference"]["families"]]
    assert abs(sum(parts) + found["difference"]["remainder_ms"] - found["difference"]["measured_gap_ms"]) < 1e-9


def test_profile_is_compared_with_the_peaks_of_its_time(bench: Any, make_profile: Any, tmp_path: Path) -> None:
    """Trial rounds measured the peaks again, next to a neighbor; the case ended after them."""
    path = tmp_path / "session.json"
    write_journal(path, bench.events(bench.case(1, 10.0), bench.case(2, 12.0)))
    session = Session.load(path)
    case = session.cases[1]
    case.explained = msgspec.structs.replace(explained(make_profile, 1), t=0.6)
    before, later = (
        Peaks(t=t, device=case.config.device, precision=case.config.precision, flops_per_s=flops_per_s)
        for t, flops_per_s in ((0.5, 3e11), (0.8, 1e11))
    )
    of_profile = explained_case(session, case, (before, later))
    assert of_profile is not None and of_profile.peaks == before
    of_later = explained_case(session, case, (later,))
    assert of_later is not None and of_later.peaks == later


@pytest.mark.parametrize(("share", "found"), [(0.9, ["near the peak"]), (1.35, [])])
def test_peak_that_an_operator_exceeded_gives_no_advice(
    bench: Any, make_profile: Any, share: float, found: list[str]
) -> None:
    case = bench.case(1, 10.0)
    peaks = Peaks(t=0.5, device=case.config.device, precision=case.config.precision, flops_per_s=1e12)
    product = KernelTime(name="aten::mm", family="matmul", ms=10.0, count=1.0, flops=share * 1e10)
    session = bench.session(case, more=[peaks, explained(make_profile, 0, kernels=(product,))])
    (one,) = explained_cases(session)
    assert [finding.rule for finding in findings(one)] == found
