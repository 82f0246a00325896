"""Every report and export says of a simulated session that it is one, and nothing is learned from it."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from journals import write_journal

from benchtui.sessions.advice.objectives import Objective
from benchtui.sessions.advice.optimal import Decision, decide
from benchtui.sessions.compare import align
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.estimates.history import load_history
from benchtui.sessions.events import SessionStarted
from benchtui.sessions.export import case_export, step_export
from benchtui.sessions.journal.session_file import SessionFile
from benchtui.sessions.library.paths import CPU_DEMO, demo_path
from benchtui.sessions.library.summaries import earlier_process_spread
from benchtui.sessions.payloads import Gpu, Host
from benchtui.sessions.report import compare, compare_json
from benchtui.sessions.report.document import markdown, report
from benchtui.sessions.report.html import report_page
from benchtui.sessions.state.session import Session
from benchtui.tui.cli.advice.optimal import requested_sweep
from benchtui.tui.cli.text import compare as compare_text
from benchtui.tui.cli.text import optimal, progress

SIMULATED_BY = "a model of a server"


@pytest.fixture
def record(bench: Any, tmp_path: Path) -> Callable[..., Path]:
    """Write a session of two cases, simulated or not."""

    def write(simulated: str | None, name: str = "s", **start: Any) -> Path:
        path = tmp_path / f"{name}.json"
        first, *rest = bench.events(bench.steady(1, 10.0), bench.steady(4, 20.0), bench.case(8, outcome="oom"))
        return write_journal(path, (msgspec.structs.replace(first, simulated=simulated, **start), *rest))

    return write


def step_text(path: Path, write: Callable[..., None]) -> str:
    out = io.BytesIO()
    write(Session.load(path), out)
    return out.getvalue().decode()


def compared(path: Path) -> align.SessionComparison:
    return align.compare_sessions(align.load_sessions([path, path]))


def decisions(path: Path) -> tuple[Session, list[Decision]]:
    session = Session.load(path)
    return session, [decide(session, Objective("throughput"))]


def recommendation(session: Session, found: list[Decision]) -> str:
    return "\n".join(optimal.lines(session, found[0]))


def first_line(session: Session) -> str:
    return str(progress.progress_line(session, session.start))


TEXTS: dict[str, Callable[[Path], str]] = {
    "report as markdown": lambda path: markdown(Session.load(path)),
    "report as HTML": lambda path: "".join(report_page(report(Session.load(path)))),
    "results as CSV": lambda path: case_export.as_csv(Session.load(path)),
    "results as JSON": lambda path: case_export.as_json(Session.load(path)),
    "steps as CSV": lambda path: step_text(path, step_export.write_csv),
    "steps as JSON": lambda path: step_text(path, step_export.write_json),
    "comparison as text": lambda path: compare_text.comparison_text(compared(path)),
    "comparison as markdown": lambda path: compare.markdown(compared(path)),
    "comparison as JSON": lambda path: compare_json.as_json(compared(path)),
    "recommendation as text": lambda path: recommendation(*decisions(path)),
    "recommendation as JSON": lambda path: optimal.json_text(*decisions(path)),
    "first line of a replay": lambda path: first_line(Session.load(path)),
}


@pytest.mark.parametrize("what", TEXTS)
def test_text_says_simulated_of_a_simulated_session_alone(what: str, record: Callable[..., Path]) -> None:
    assert "SIMULATED" in TEXTS[what](record(SIMULATED_BY))
    assert "SIMULATED" not in TEXTS[what](record(None, "measured"))


def test_reports_name_the_model_that_computed_the_session(record: Callable[..., Path]) -> None:
    text = markdown(Session.load(record(SIMULATED_BY)))
    assert text.startswith("# Benchmark report: SIMULATED ")
    assert f"> - **SIMULATED**: computed by {SIMULATED_BY}; nothing was measured." in text
    assert "Simulated on" in text and "Measured on" not in text and "How to reproduce" not in text


def test_every_row_of_an_export_says_simulated(record: Callable[..., Path]) -> None:
    path = record(SIMULATED_BY)
    rows = list(csv.DictReader(io.StringIO(case_export.as_csv(Session.load(path)))))
    assert len(rows) == 3 and all(row["marks"].startswith("SIMULATED") for row in rows)
    results = json.loads(case_export.as_json(Session.load(path)))
    assert results["session"]["simulated"] == f"SIMULATED: computed by {SIMULATED_BY}; nothing was measured"
    steps = list(csv.DictReader(io.StringIO(step_text(path, step_export.write_csv))))
    assert steps and all(row["simulated"] == "SIMULATED" for row in steps)
    assert steps[0]["wall_ms"] == str(Session.load(path).cases[0].measured.wall_ms[0])
    listed = msgspec.json.decode(step_text(path, step_export.write_json), type=step_export.Steps).steps
    assert len(listed) == len(steps) and all(row.simulated == "SIMULATED" for row in listed)


def test_parquet_and_table_say_simulated(record: Callable[..., Path], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = record(SIMULATED_BY)
    step_export.write_parquet(Session.load(path), tmp_path / "steps.parquet", ())
    assert set(parquet.read_table(tmp_path / "steps.parquet")["simulated"].to_pylist()) == {"SIMULATED"}
    case_export.write_parquet(Session.load(path), tmp_path / "cases.parquet", ())
    marks = parquet.read_table(tmp_path / "cases.parquet")["marks"].to_pylist()
    assert all("SIMULATED" in each for each in marks)


def test_plots_say_simulated(record: Callable[..., Path]) -> None:
    from benchtui.sessions.plots.render import render_plots

    found, _ = render_plots(Session.load(record(SIMULATED_BY)))
    assert found and all(each.title.startswith("SIMULATED ") for each in found)
    measured, _ = render_plots(Session.load(record(None, "measured")))
    assert not any("SIMULATED" in each.title for each in measured)


def test_first_event_of_an_older_session_is_of_a_measured_one(record: Callable[..., Path]) -> None:
    line = demo_path(CPU_DEMO).read_bytes().splitlines()[1].removesuffix(b",")
    older = line.replace(b',"simulated":null', b"")
    assert older != line
    assert msgspec.json.decode(older, type=SessionStarted).simulated is None
    assert not any("SIMULATED" in case.marks for case in Session.load(demo_path(CPU_DEMO)).cases)


@pytest.mark.parametrize("simulated", [SIMULATED_BY, None])
def test_estimates_and_noise_learn_from_measured_sessions_alone(
    simulated: str | None, record: Callable[..., Path], home: Path
) -> None:
    path = record(simulated, host=Host(hostname="box"))
    start = Session.load(path).start
    rounds = msgspec.structs.replace(start.sweep.measure, rounds=3)
    repeated = msgspec.structs.replace(start, sweep=msgspec.structs.replace(start.sweep, measure=rounds))
    assert load_history([SessionFile(path, start, True)], start.sweep, "box").sessions == (simulated is None)
    assert bool(earlier_process_spread([SessionFile(path, repeated, True)], "box")) is (simulated is None)


def test_no_data_sheet_applies_to_a_simulated_gpu(bench: Any) -> None:
    gpu = Gpu(index=0, name="NVIDIA H100 80GB HBM3", uuid="GPU-0")
    made = bench.case(1, 10.0, device="cuda:0", prepared={"gpu_uuid": "GPU-0"})
    for simulated in (SIMULATED_BY, None):
        first, *rest = bench.events(made, host=Host(gpus=(gpu,)))
        session = Session()
        session.apply_all([msgspec.structs.replace(first, simulated=simulated), *rest])
        assert session.gpu_name(session.cases[0]) == (None if simulated else gpu.name)


def test_simulated_session_has_nothing_left_to_run(bench: Any) -> None:
    for simulated in (SIMULATED_BY, None):
        first, *rest = bench.events(bench.case(1, 10.0), bench.case(4, outcome=None), finished=None)
        session = Session()
        session.apply_all([msgspec.structs.replace(first, simulated=simulated), *rest])
        assert bool(session.left) is (simulated is None)


def test_best_case_of_a_simulated_session_is_not_run(record: Callable[..., Path]) -> None:
    path = record(SIMULATED_BY)
    with pytest.raises(BenchtuiError, match="a simulated session says nothing about which case is best here"):
        requested_sweep(None, (), str(path), "throughput")
