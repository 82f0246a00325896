"""Output of every command with ``--json`` against the schema that ``benchtui schema`` prints; exit statuses."""

import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
from click.testing import CliRunner, Result
from explained import explained

import benchtui.tui.cli.run as run_module
from benchtui.engine import client
from benchtui.engine.doctor import Check
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.library import paths
from benchtui.tui.cli import COMMANDS, app, main
from benchtui.tui.cli.advice import find as find_module
from benchtui.tui.cli.exit_status import STATUSES
from benchtui.tui.cli.schema.command import NAMES, document_schema

FIXTURES = Path(__file__).parents[2] / "fixtures"
PROGRAMS = Path(__file__).parents[3] / "docs/programs.md"
NOT_JSON = {"completion", "demo", "init-step", "schema"}
"""Commands that print a shell's script, open the app, write files to edit, or print JSON in any case."""
OF_FILES = {"event", "results", "session", "steps", "sweep"}
LINES = ("attach", "find", "replay", "run")
"""Commands that print a document per line."""

CALLS: dict[str, tuple[str, ...]] = {
    "anonymize": ("anonymize", "old", "-o", os.devnull, "--json"),
    "attach": ("attach", "old", "--json"),
    "cache": ("cache", "--json"),
    "compare": ("compare", "old", "new", "--json"),
    "continue": ("continue", "--json"),
    "doctor": ("doctor", "--json"),
    "explain": ("explain", "new", "1", "2", "--json"),
    "export": ("export", "old", "--json"),
    "find": (
        "find",
        "distilbert-base-uncased-finetuned-sst-2-english",
        "--vary",
        "batch_size",
        "--set",
        "weights=random",
        "--set",
        "batch_size=1",
        "--json",
    ),
    "import": ("import", str(FIXTURES / "hyperfine.json"), "--json"),
    "keys": ("keys", "--json"),
    "next": ("next", "old", "--json"),
    "optimal": ("optimal", "old", "--json"),
    "pause": ("pause", "--json"),
    "plan": ("plan", "quick", "--set", "device=cpu", "--json"),
    "replay": ("replay", "old", "--json"),
    "reproduce": ("reproduce", "old", "--json"),
    "run": ("run", "quick", "--json"),
    "sessions": ("sessions", "--json"),
    "sessions-add": ("sessions", "add", str(FIXTURES / "quick-cpu.json"), "--json"),
    "sessions-rename": ("sessions", "rename", "new", "newer", "--json"),
    "slurm": ("slurm", "quick", "--set", "device=cpu", "--json"),
    "steps": ("export", "old", "--json", "--steps"),
    "stop": ("stop", "--json"),
    "themes": ("themes", "--json"),
}


class EndedEngine:
    """Engine of a sweep that has ended."""

    resumed_s = None

    def __init__(self, path: Path) -> None:
        self.path = path

    def alive(self) -> bool:
        return False

    def last_words(self) -> None:
        return None

    def stop(self) -> None: ...

    def pause(self) -> None: ...

    def go_on(self) -> None: ...


@pytest.fixture
def library(home: Path, make_story: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library of two sessions, one of them with profiles; the engine of the first one has ended."""
    for name in ("old", "new"):
        story = make_story(paths.folder() / f"{name}.json").begin(batch_sizes=(1, 2, 4), name=name)
        story.case(0, 10.0, 30, rounds=3).case(1, 19.0).start(2).finish(2, "oom", reason="out of memory")
        story.end().close()
    journal = Journal(paths.resolve("new"), resumed=True)
    for case in (0, 1):
        journal.append(explained(case, fast=case == 1))
    journal.complete()
    journal.close()
    _ended(make_story, "broken", "failed", "it broke")
    _ended(make_story, "lacking", "skipped", "no cuda:0 on this machine: torch was built without CUDA")
    _ended(make_story, "stopped", "interrupted", "stopped", outcome="interrupted")
    engine = EndedEngine(paths.resolve("old"))
    monkeypatch.setattr(client, "running", lambda: [engine])
    monkeypatch.setattr(client, "find", lambda path: None)
    monkeypatch.setattr(client, "check_machine", lambda: [Check("torch", "missing", "not installed")])
    for module in (run_module, find_module):
        monkeypatch.setattr(module, "start_engine", lambda *_, **options: engine)
    monkeypatch.setattr("signal.signal", lambda *_: None)


def _ended(make_story: Any, name: str, state: str, reason: str, outcome: str = "completed") -> None:
    story = make_story(paths.folder() / f"{name}.json").begin(batch_sizes=(1, 2), name=name).case(0)
    story.start(1).finish(1, state, reason=reason).end(outcome).close()


def invoke(*words: str) -> Result:
    return CliRunner().invoke(app, words, catch_exceptions=False)


def leaves(command: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Iterate over all commands, those of a group after the group itself."""
    if name:
        yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for word in command.list_commands(context):
            child = command.get_command(context, word)
            assert child is not None
            yield from leaves(child, f"{name}-{word}" if name else word)


def test_every_command_that_prints_a_result_has_json_with_a_schema() -> None:
    with_json = {name for name, command in leaves(app) if any("--json" in each.opts for each in command.params)}
    assert {name.partition("-")[0] for name in with_json} == set(COMMANDS) - NOT_JSON
    assert with_json == set(NAMES) - OF_FILES
    assert with_json | {"steps"} == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_output_of_a_command_names_its_schema_and_has_its_shape(
    name: str, library: None, tmp_path: Path
) -> None:
    schema = json.loads(invoke("schema", name).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    done = invoke(*CALLS[name])
    documents = [json.loads(each) for each in (done.stdout.splitlines() if name in LINES else [done.stdout])]
    assert documents
    for document in documents:
        jsonschema.validate(document, schema)
        assert (document["$id"], str(document["schema"])) == (schema["$id"], schema["$id"].rpartition(":")[2])
    (tmp_path / "document.json").write_text(done.stdout)
    checked = invoke("schema", "--check", str(tmp_path / "document.json"))
    assert checked.stdout.endswith(f"matches the schema {schema['$id']}\n")


def test_documents_without_entries_name_their_schema(home: Path, tmp_path: Path) -> None:
    def require_checked(entries: str, *words: str) -> None:
        document = invoke(*words).stdout
        assert json.loads(document)[entries] == []
        (tmp_path / "document.json").write_text(document)
        invoke("schema", "--check", str(tmp_path / "document.json"))

    require_checked("sessions", "sessions", "--json")
    without_steps = str(tmp_path / "imported.json")
    invoke("import", str(FIXTURES / "batch-sweep-batches.csv"), "-o", without_steps)
    require_checked("steps", "export", without_steps, "--steps", "--json")


@pytest.mark.parametrize("name", NAMES)
def test_schema_describes_every_field(name: str) -> None:
    schema = document_schema(name)
    fields = [
        (kind, field, "description" in shape)
        for kind, definition in schema["$defs"].items()
        for field, shape in definition.get("properties", {}).items()
    ]
    assert fields and [field for field in fields if not field[2]] == []
    assert re.fullmatch(r"urn:benchtui:[a-z-]+:\d+", schema["$id"])


VERDICTS = ["FASTER", "REPORTED", "SAME", "SLOWER", "UNSURE"]


def test_verdicts_are_spelled_the_same_in_all_documents(library: None) -> None:
    def verdicts(document: Any) -> Iterator[Any]:
        if isinstance(document, dict):
            yield from (value for key, value in document.items() if key == "verdict" and value is not None)
        if isinstance(document, (dict, list)):
            for part in document.values() if isinstance(document, dict) else document:
                yield from verdicts(part)

    for name in ("optimal", "compare", "export", "next", "run"):
        lines = invoke(*CALLS[name]).stdout.splitlines() if name in LINES else [invoke(*CALLS[name]).stdout]
        assert set(verdicts([json.loads(line) for line in lines])) <= set(VERDICTS), name
        shapes = [
            definition["properties"]["verdict"]
            for kind, definition in document_schema(name)["$defs"].items()
            if "verdict" in definition.get("properties", {})
        ]
        assert all("FASTER" in json.dumps(shape) for shape in shapes), name


def test_best_case_has_the_figures_of_the_results(library: None) -> None:
    (decision,) = json.loads(invoke("optimal", "old", "--json").stdout)["decisions"]
    cases = json.loads(invoke("export", "old", "--json").stdout)["cases"]
    best = decision["best"]
    assert best == {key: cases[best["case"]][key] for key in best}
    assert best["number"] == best["case"] + 1
    if decision["against_baseline"]:
        assert decision["against_baseline"]["value"] == best["speedup"]
        assert decision["against_baseline"]["verdict"] == best["verdict"]
    text = invoke("optimal", "old").stdout
    assert best["name"] in text


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"cases": "two"}, "$.cases is 'two'; allowed: integer"),
        ({"rounds": 1.5}, "$.rounds is 1.5; allowed: integer, null"),
        ({"questions": [{}]}, "$.questions[0].about is missing; required: array"),
        ({"schema": 9}, "$.schema is 9; this version of benchtui knows up to 1"),
    ],
)
def test_check_names_place_value_and_what_is_allowed(
    change: dict[str, Any], problem: str, library: None, tmp_path: Path
) -> None:
    document = json.loads(invoke(*CALLS["next"]).stdout) | change
    (tmp_path / "d.json").write_text(json.dumps(document))
    with pytest.raises(BenchtuiError) as raised:
        invoke("schema", "--check", str(tmp_path / "d.json"))
    assert str(raised.value) == f"{tmp_path / 'd.json'}: {problem}"


def test_check_reads_sessions_finished_or_not_and_lists_the_values_of_an_enum(
    library: None, tmp_path: Path
) -> None:
    session = paths.resolve("old")
    assert invoke("schema", "--check", str(session)).stdout.endswith(":session:3\n")
    torn = tmp_path / "torn.json"
    torn.write_text(session.read_text()[:-40])
    assert invoke("schema", "--check", str(torn)).stdout.endswith(":session:3\n")
    torn.write_text(session.read_text().replace('"outcome":"oom"', '"outcome":"lost"'))
    with pytest.raises(BenchtuiError, match=r"outcome is 'lost'; allowed: .*oom, skipped"):
        invoke("schema", "--check", str(torn))


@pytest.mark.parametrize(
    ("text", "problem"), [("", "empty"), ("{}", "no \\$id"), ("{", "not JSON"), ("[1]", "no \\$id")]
)
def test_check_of_another_file_says_why(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(BenchtuiError, match=problem):
        invoke("schema", "--check", str(tmp_path / "x.json"))


def test_schema_notices_another_shape(library: None) -> None:
    schema = json.loads(invoke("schema", "next").stdout)
    document = json.loads(invoke(*CALLS["next"]).stdout)
    assert document["questions"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document | {"questions": None}, schema)


def test_events_and_session_files_have_the_shape_of_their_schemas(library: None) -> None:
    events = json.loads(paths.resolve("new").read_text("utf-8"))
    jsonschema.validate(events, json.loads(invoke("schema", "session").stdout))
    jsonschema.validate(events[0], json.loads(invoke("schema", "event").stdout))
    line = {"schema": 3, "$id": "urn:benchtui:event:3"}
    printed = [json.loads(line) for line in invoke("replay", "new", "--json").stdout.splitlines()]
    assert printed == [event | line for event in events]


@pytest.mark.parametrize(
    ("status", "words", "ended"),
    [
        (0, ("optimal", "old"), "old"),
        (0, ("run", "quick"), "old"),
        (1, ("optimal", "old", "--max-latency", "1us"), "old"),
        (1, ("compare", "old", "new", "--fail-on-unsure"), "old"),
        (1, ("run", "quick"), "broken"),
        (2, ("optimal", "nothing"), "old"),
        (2, ("plan", "quick", "--set", "rounds=0"), "old"),
        (2, ("optimal", "old", "--frobnicate"), "old"),
        (2, ("next", "old", "--json", "--toml"), "old"),
        (3, ("run", "quick", "--strict"), "lacking"),
        (130, ("run", "quick"), "stopped"),
        (130, ("sessions", "delete", "new"), "old"),
        (0, ("sessions", "delete", "new", "--yes"), "old"),
    ],
)
def test_exit_statuses(
    status: int, words: tuple[str, ...], ended: str, library: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "start_engine", lambda *_, **options: EndedEngine(paths.resolve(ended)))
    monkeypatch.setattr("sys.argv", ["benchtui", *words])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    with pytest.raises(SystemExit) as left:
        main()
    assert (left.value.code or 0) == status
    assert status in STATUSES


def test_page_for_programs_lists_the_exit_statuses() -> None:
    rows = [line.split("|") for line in PROGRAMS.read_text("utf-8").splitlines() if line.startswith("|")]
    shown = {int(row[1]): row[2].strip() for row in rows if row[1].strip().isdigit()}
    assert shown == STATUSES
