"""Exports of every kind of session come back with the same figures, names, marks and outcomes."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import random_sessions
from journals import import_results
from msgspec import structs

from benchtui.sessions.compare.align import ComparedSession, compare_sessions
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.export import case_export, dataframe, step_export
from benchtui.sessions.export.case_rows import rows
from benchtui.sessions.export.case_schema import CaseRow
from benchtui.sessions.importers import registry
from benchtui.sessions.library.paths import demo_paths
from benchtui.sessions.state.session import Session

FIXTURES = Path(__file__).parents[2] / "fixtures"
RECORDED = sorted((FIXTURES / "recorded").glob("*.json"))
LARGE = (FIXTURES / "quick-cpu.json", *demo_paths())
IMPORTED = [
    *("gpt2-optimizers.csv", "vllm-bench.jsonl", "guidellm.json", "hyperfine.json", "llama-bench.json"),
    *("optimum-benchmark-generate.json", "nvbench.json", "pyperf.json", "public/gateway.json", "aiperf.json"),
]
JUDGED_AGAIN = [name for name in CaseRow.__struct_fields__ if name.startswith(("speedup_", "verdict"))]
"""What judges a case against its baseline. Like a ratio by turns, it needs steps, which results lack."""
UNDECIDED = ("REPORTED", "UNSURE")


def csv(session: Session, path: Path) -> None:
    path.write_text(case_export.as_csv(session))


def json_document(session: Session, path: Path) -> None:
    path.write_text(case_export.as_json(session))


def parquet(session: Session, path: Path) -> None:
    case_export.write_parquet(session, path, ())


def frame_csv(session: Session, path: Path) -> None:
    dataframe.frame(session).to_csv(path)


def frame_lines(session: Session, path: Path) -> None:
    dataframe.frame(session).to_json(path, orient="records", lines=True, double_precision=15)


def frame_parquet(session: Session, path: Path) -> None:
    dataframe.frame(session).to_parquet(path)


FORMS = (csv, json_document, parquet, frame_csv, frame_lines, frame_parquet)


def again(session: Session, write: Callable[[Session, Path], None], folder: Path) -> Session:
    """Export a session, import the export, and load what it became."""
    exported, path = folder / "export", folder / "again.json"
    write(session, exported)
    return import_results(exported, path)


def differing(before: Session, after: Session) -> dict[str, tuple[object, object]]:
    """Return the columns that came back differently, with both values of the first case."""
    pairs = list(zip((row for row, _ in rows(before)), (row for row, _ in rows(after)), strict=True))
    assert all(new.verdict in (*UNDECIDED, old.verdict) for old, new in pairs), "no other verdict than before"
    judged_again = {
        *JUDGED_AGAIN,
        *(["speedup"] if any(end.turns for case in before.cases for end in case.ends) else []),
    }
    return {
        name: (old, new)
        for one, other in pairs
        for name in CaseRow.__struct_fields__
        if name not in judged_again and not same(old := getattr(one, name), new := getattr(other, name))
    }


def same(old: object, new: object) -> bool:
    is_number = isinstance(old, float) and isinstance(new, float)
    return old == pytest.approx(new, rel=1e-12) if is_number else old == new


@pytest.mark.parametrize(
    ("path", "write"),
    [*product(RECORDED, FORMS), *product(LARGE, (csv, json_document))],
    ids=lambda value: value.stem if isinstance(value, Path) else value.__name__,
)
def test_recorded_session_comes_back(path: Path, write: Any, tmp_path: Path) -> None:
    session = Session.load(path)
    assert differing(session, again(session, write, tmp_path)) == {}


@pytest.mark.parametrize("file", IMPORTED)
def test_imported_session_comes_back(imported: Any, file: str, tmp_path: Path) -> None:
    session = imported(FIXTURES / file)
    for write in (csv, json_document, frame_lines):
        folder = tmp_path / write.__name__
        folder.mkdir()
        assert differing(session, again(session, write, folder)) == {}


@pytest.mark.parametrize("write", [csv, json_document, frame_lines])
def test_cases_of_several_models_come_back_with_their_baselines(
    imported: Any, write: Any, tmp_path: Path
) -> None:
    session = imported("model,batch,latency_ms\na,1,5\na,2,9\nb,1,7\nb,2,12\n")
    assert [row.baseline for row, _ in rows(session)] == [0, 0, 2, 2]
    come_back = again(session, write, tmp_path)
    assert differing(session, come_back) == {}
    works = [str(case.config.work) for case in session.cases]
    assert works == ["a", "a", "b", "b"], "no length that the file doesn't state"
    assert works == [str(case.config.work) for case in come_back.cases]


# Without cut-off sessions: a case that was running when it was exported comes back as interrupted.
@pytest.mark.parametrize("seed", [seed for seed in range(18) if seed % 9 != 4])
def test_random_session_comes_back(seed: int, tmp_path: Path) -> None:
    session = Session()
    session.apply_all(random_sessions.random_events(seed))
    write = FORMS[seed % len(FORMS)]
    assert differing(session, again(session, write, tmp_path)) == {}


def steps_csv(session: Session, path: Path) -> None:
    with path.open("wb") as file:
        step_export.write_csv(session, file)


def steps_json(session: Session, path: Path) -> None:
    with path.open("wb") as file:
        step_export.write_json(session, file)


def steps_parquet(session: Session, path: Path) -> None:
    step_export.write_parquet(session, path, ())


@pytest.mark.parametrize("write", [steps_csv, steps_json, steps_parquet], ids=lambda write: write.__name__)
@pytest.mark.parametrize("name", ["generate", "lm-train", "demo-cpu"])
def test_exported_steps_come_back_as_steps(write: Any, name: str, tmp_path: Path) -> None:
    session = Session.load(next(path for path in (*RECORDED, *LARGE) if path.stem == name))
    imported = again(session, write, tmp_path)
    measured = [case for case in session.cases if len(case.measured)]
    assert [case.name for case in imported.cases] == [case.name for case in measured]
    for one, other in zip(measured, imported.cases, strict=True):
        assert list(other.warmup.wall_ms) == list(one.warmup.wall_ms)
        assert [list(times) for times in other.measured.by_round()] == [
            list(times) for times in one.measured.by_round()
        ]
        assert {part: list(times) for part, times in other.measured.parts_ms.items()} == {
            part: list(times) for part, times in one.measured.parts_ms.items()
        }
        assert list(other.measured.tokens) == list(one.measured.tokens)
        assert list(other.measured.loss) == list(one.measured.loss)


def test_unfinished_case_comes_back_as_interrupted(tmp_path: Path) -> None:
    """An imported session doesn't run."""
    session = Session()
    session.apply_all(random_sessions.random_events(4))
    before, after = ([case.state for case in one.cases] for one in (session, again(session, csv, tmp_path)))
    assert "queued" in before
    assert after == [{"queued": "interrupted"}.get(state, state) for state in before]


@pytest.mark.parametrize("column", ["batch_size", "n", "latency_mean_ms", "rounds_p50_ms", "samples_per_step"])
def test_damaged_export_is_refused_with_the_cell(column: str, tmp_path: Path) -> None:
    session = Session.load(RECORDED[0])
    frame = dataframe.frame(session).astype(object)
    frame.loc[0, column] = "many"
    frame.to_csv(tmp_path / "export")
    with pytest.raises(BenchtuiError, match="damaged export"):
        registry.read(tmp_path / "export")


def test_other_table_is_no_export(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("batch,latency_ms\n1,5.5\n2,7.5\n")
    with pytest.raises(BenchtuiError, match="not an export of benchtui"):
        registry.read(tmp_path / "t.csv", "benchtui-export")


def test_a_case_with_steps_has_their_figures_and_no_others(tmp_path: Path) -> None:
    """A file may state columns of an export next to steps that say something else."""
    session = Session.load(FIXTURES / "quick-cpu.json")
    before = [row.latency_p50_ms for row, _ in rows(session)]
    for case in session.cases:
        if case.finished and case.steps_measured:
            case.finished = structs.replace(
                case.finished, exported={"latency_p50_ms": 0.5, "samples_per_s": 9e9}
            )
    assert [row.latency_p50_ms for row, _ in rows(session)] == before


def test_table_without_a_length_keeps_its_options(tmp_path: Path) -> None:
    table, path = tmp_path / "runs.csv", tmp_path / "runs.json"
    table.write_text("model,batch,precision,latency_ms\nbert,1,fp32,10.2\nbert,8,bf16,18.1\n")
    first = import_results(table, path)
    sessions = [first, again(first, csv, tmp_path)]
    options = [[(row.precision, row.batch_size) for row, _ in rows(session)] for session in sessions]
    assert options == [[("fp32", 1), ("bf16", 8)]] * 2
    (pair,) = compare_sessions([ComparedSession.of("session", session) for session in sessions]).against
    assert (len(pair.compared), pair.ignored) == (2, ("model",))
