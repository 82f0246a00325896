"""Failures within a measured case: a field of its end, and the mark of older sessions."""

import json
from pathlib import Path

import msgspec
from journals import import_results

from benchtui.sessions.events import AnyEvent
from benchtui.sessions.importers import registry, session_writer
from benchtui.sessions.payloads import Failures
from benchtui.sessions.state.case import failures
from benchtui.sessions.state.session import Session

RESULTS = {"results": [{"command": "a", "mean": 1.0, "times": [1.0, 0.1, 1.2], "exit_codes": [0, 1, 0]}]}


def written(folder: Path) -> Path:
    (folder / "h.json").write_text(json.dumps(RESULTS))
    session_writer.write(registry.read(folder / "h.json"), folder / "s.json")
    return folder / "s.json"


def test_failures_are_a_field_of_the_end(tmp_path: Path) -> None:
    (case,) = Session.load(written(tmp_path)).cases
    assert case.finished is not None
    assert case.finished.failures == Failures(failed=1, total=3, of="runs")
    assert failures(case) == "1 of 3 runs failed"


def test_older_session_has_only_the_mark_and_the_same_meaning(tmp_path: Path) -> None:
    path = written(tmp_path)
    events = json.loads(path.read_text())
    for event in events:
        event.pop("failures", None)
    path.write_text("[\n" + ",\n".join(map(json.dumps, events)) + "\n]\n")
    msgspec.json.decode(path.read_bytes(), type=list[AnyEvent])
    (case,) = Session.load(path).cases
    assert case.finished is not None and case.finished.failures is None
    assert failures(case) == "1 of 3 runs failed"


def test_case_without_failures_has_none(tmp_path: Path) -> None:
    (tmp_path / "h.json").write_text('{"results": [{"command": "a", "mean": 1.0, "times": [1.0, 1.1]}]}')
    (case,) = import_results(tmp_path / "h.json", tmp_path / "s.json").cases
    assert failures(case) is None
