"""Every output gives a case the same name and number, and spells its verdict in one way."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

from benchtui.sessions.library import paths
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.stats.verdicts import VerdictName
from benchtui.tui.cli import app

FIXTURES = Path(__file__).parents[1] / "fixtures"
SESSIONS = (
    paths.demo_path(),
    paths.demo_path(paths.GPU_DEMO),
    paths.demo_path(paths.CPU_DEMO),
    FIXTURES / "quick-cpu.json",
    FIXTURES / "comprehensive-report.json",
    *(FIXTURES / "recorded" / f"{task}.json" for task in ("classify", "generate", "lm-forward", "lm-train")),
)
VERDICTS = set(get_args(VerdictName))


@pytest.fixture(params=SESSIONS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


def printed(*arguments: object) -> Any:
    done = CliRunner().invoke(app, [*map(str, arguments), "--json"], catch_exceptions=False)
    return json.loads(done.stdout)


def documents(path: Path, folder: Path) -> Iterator[Any]:
    """Yield what commands print about the cases of a session."""
    yield printed("optimal", path)
    yield printed("optimal", path, "--objective", "latency")
    yield printed("next", path)
    copy = shutil.copy(path, folder / "copy.json")
    yield printed("compare", path, copy)


def objects(document: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in a JSON document."""
    if isinstance(document, dict):
        yield document
    for value in document.values() if isinstance(document, dict) else document:
        if isinstance(value, dict | list):
            yield from objects(value)


def names_of(path: Path) -> dict[int, str]:
    return {case.index + 1: case.name for case in Session.load(path, metrics).cases}


def test_documents_name_and_number_cases_alike(path: Path, tmp_path: Path) -> None:
    names = names_of(path)
    made = [each for document in documents(path, tmp_path) for each in objects(document)]
    found = [each for each in made if {"case", "name"} <= {*each}]
    assert found
    assert {(each["number"], each["name"]) for each in found} <= names.items()
    assert all(each["number"] == each["case"] + 1 for each in found)
    assert not [each for each in made if each.get("text", "").startswith(("Cpu", "Cuda"))]


def test_verdicts_are_spelled_in_one_way_and_have_their_reason(path: Path, tmp_path: Path) -> None:
    found = [each for document in documents(path, tmp_path) for each in objects(document)]
    verdicts = [each["verdict"] for each in found if each.get("verdict") is not None]
    assert {*verdicts} <= VERDICTS
    for ratio in (each for each in found if {"verdict", "reason", "doubt"} <= {*each}):
        assert bool(ratio["reason"]) == (ratio["verdict"] in ("UNSURE", "REPORTED"))
    for decision in (each for each in found if "runner_up" in each):
        assert bool(decision["best"]) == bool(decision["confidence"])
        reasons = (decision[name] for name in ("ties", "unsure", "tail", "reason"))
        assert decision["clear"] or decision["runner_up"] is None or any(reasons)
        assert all(rival["reason"] for rival in decision["unsure"])


def tables(report: str) -> Iterator[list[dict[str, str]]]:
    """Yield the rows of each table by its titles."""
    rows: list[list[str]] = []
    for token in MarkdownIt("commonmark").enable("table").parse(report):
        if token.type == "table_open":
            rows = []
        elif token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            rows[-1].append("".join(child.content for child in token.children or ()))
        elif token.type == "table_close":
            yield [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
            rows = []


def test_report_names_cases_as_other_outputs_do(path: Path) -> None:
    names = names_of(path)
    shown = list(tables(markdown(Session.load(path, metrics), full=True)))
    numbered = [row for table in shown for row in table if {"No.", "Case"} <= {*row}]
    assert {(int(row["No."]), row["Case"]) for row in numbered} == names.items()
    shown += tables(markdown(Session.load(path, metrics)))
    labels = {row[title] for table in shown for row in table for title in ("Case", "Run") if title in row}
    assert labels
    assert labels <= {*names.values()}


def test_commands_accept_the_number_of_a_case(path: Path) -> None:
    session = Session.load(path, metrics)
    measured = [case for case in session.cases if case.state == "ok" and not case.config.repeat]
    number = measured[-1].index + 1
    decisions = printed("optimal", path, "--baseline", number)["decisions"]
    ratios = [each for each in decisions if each["best"] and each["best"]["number"] != number]
    assert all(each["against_baseline"] for each in ratios if each["best"]["baseline"] == number - 1)
    assert any(each["best"] and each["best"]["baseline"] == number - 1 for each in decisions)
