import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import AnyEvent, CaseRepeated, SessionFinished, Steps
from benchtui.sessions.export import parquet, step_export
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import RequestTimes
from benchtui.sessions.state.session import Session


def steps_of(case: int, wall_ms: list[float], **more: Any) -> Steps:
    return Steps(**{"t": 1.0, "case": case, "phase": "measure", "wall_ms": wall_ms} | more)


@pytest.fixture
def recorded(bench: Any, tmp_path: Path) -> Any:
    """Write a session of two empty cases with these events."""

    def write(*events: AnyEvent) -> Path:
        journal = Journal(tmp_path / "s.json")
        start = bench.events(bench.case(1, outcome=None), bench.case(2, outcome=None), finished=None)
        for event in (*start, *events, SessionFinished(t=9.0, outcome="completed")):
            journal.append(event)
        journal.close()
        return tmp_path / "s.json"

    return write


def as_csv(path: Path) -> list[dict[str, str]]:
    out = io.BytesIO()
    step_export.write_csv(Session.load(path), out)
    return list(csv.DictReader(out.getvalue().decode().splitlines()))


def as_json(path: Path) -> Any:
    out = io.BytesIO()
    step_export.write_json(Session.load(path), out)
    return json.loads(out.getvalue())["steps"]


def two_parts(recorded: Any) -> Path:
    found: Path = recorded(
        steps_of(0, [50.0], phase="warmup", parts_ms={"forward": [40.0]}),
        steps_of(0, [10.0, 11.5], parts_ms={"forward": [8.0, 9.0]}, tokens=[5, 6], loss=[0.5, 0.25]),
        steps_of(0, [12.0], parts_ms={"forward": [8.5]}, tokens=[7], loss=[None]),
        steps_of(1, [1.0], round=1, parts_ms={"100%, \n": [0.5]}, device_ms=[0.25], host_ms=[0.125]),
    )
    return found


def test_steps_are_numbered_within_case_round_and_phase(recorded: Any) -> None:
    found = as_csv(two_parts(recorded))
    places = [tuple(row[name] for name in ("case", "round", "phase", "step", "wall_ms")) for row in found]
    assert places == [
        ("0", "0", "warmup", "0", "50.0"),
        ("0", "0", "measure", "0", "10.0"),
        ("0", "0", "measure", "1", "11.5"),
        ("0", "0", "measure", "2", "12.0"),
        ("1", "1", "measure", "0", "1.0"),
    ]
    assert [row["part_forward_ms"] for row in found] == ["40.0", "8.0", "9.0", "8.5", ""]
    assert [row["part_100%,_ms"] for row in found] == ["", "", "", "", "0.5"]
    assert [row["tokens"] for row in found] == ["", "5", "6", "7", ""]


def test_parquet_has_the_rows_of_the_csv(recorded: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow.parquet")
    step_export.write_parquet(Session.load(two_parts(recorded)), tmp_path / "s.parquet", ())
    table = parquet.import_pyarrow().parquet.read_table(tmp_path / "s.parquet")
    assert table.column("wall_ms").to_pylist() == [50.0, 10.0, 11.5, 12.0, 1.0]
    assert table.column("part_forward_ms").to_pylist() == [40.0, 8.0, 9.0, 8.5, None]


def test_steps_that_were_measured_again_are_omitted(recorded: Any) -> None:
    path = recorded(
        steps_of(0, [1.0, 1.0]),
        steps_of(0, [2.0], round=1),
        steps_of(1, [7.0], round=1),
        CaseRepeated(t=2.0, case=0, round=1, reason="throttled", pause_s=0.0),
        steps_of(0, [3.0, 4.0], round=1, t=3.0),
    )
    found = [(row["case"], row["round"], row["step"], row["wall_ms"]) for row in as_csv(path)]
    assert found == [
        ("0", "0", "0", "1.0"),
        ("0", "0", "1", "1.0"),
        ("1", "1", "0", "7.0"),
        ("0", "1", "0", "3.0"),
        ("0", "1", "1", "4.0"),
    ]


def test_session_without_steps_gives_a_header_or_an_empty_array(recorded: Any) -> None:
    path = recorded()
    assert as_csv(path) == []
    assert as_json(path) == []


def test_reformatted_or_cut_off_file_gives_the_same_steps(recorded: Any, tmp_path: Path) -> None:
    path = two_parts(recorded)
    wanted = as_csv(path)
    text = path.read_text()
    for name, other in {
        "pretty": json.dumps(json.loads(text), indent=2),
        "one line": json.dumps(json.loads(text)),
        "no last line end": text.rstrip(),
        "torn": text[: text.index('{"event":"session_finished"') + 20],
    }.items():
        (tmp_path / name).write_text(other)
        assert as_csv(tmp_path / name) == wanted, name


@pytest.mark.parametrize(
    "column",
    [
        {"parts_ms": {"forward": [1.0]}},
        {"requests": [RequestTimes(first_token_ms=[1.0], between_tokens_ms=[], request_ms=[2.0])]},
    ],
)
def test_columns_of_different_lengths_are_rejected(recorded: Any, column: dict[str, Any]) -> None:
    path = recorded(steps_of(0, [1.0, 2.0], **column))
    with pytest.raises(BenchtuiError, match=r"s\.json: case 0, steps at 1 s: columns differ in length"):
        Session.load(path)


def test_non_finite_loss_is_missing(recorded: Any) -> None:
    path = recorded(steps_of(0, [1.0, 2.0], loss=[None, 0.5]))
    assert [row["loss"] for row in as_json(path)] == [None, 0.5]
    assert [row["loss"] for row in as_csv(path)] == ["", "0.5"]
