import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from benchtui.engine import client
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.library import operations, paths
from benchtui.sessions.library.summaries import SummaryCache
from benchtui.themes.symbols import UNICODE
from benchtui.tui.cli import app, usage_error_text, watch
from benchtui.tui.cli.options import complete_session
from benchtui.tui.cli.sessions import SessionRow, _table
from benchtui.tui.cli.watch import session_to_watch
from benchtui.tui.drawing.format import compact
from benchtui.tui.library.rows import Item
from benchtui.tui.library.rows import row as library_row

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.fixture
def recorded(home: Path, make_story: Any) -> Any:
    """Return a function that records two sessions, the second slower by a factor."""

    def write(by: float = 1.0, sizes: tuple[int, ...] = (1, 2)) -> None:
        for name, factor in (("old", 1.0), ("new", by)):
            story = make_story(paths.folder() / f"{name}.json").begin(batch_sizes=sizes, name=name)
            for case in range(len(sizes)):
                story.case(case, 10.0 * factor * (case + 1), 30)
            story.end().close()

    return write


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, standalone_mode=False)


def test_session_written_elsewhere_is_listed_by_its_path(recorded: Any, tmp_path: Path) -> None:
    recorded()
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text((paths.folder() / "new.json").read_text().replace('"id":"story"', '"id":"other"'))
    (paths.folder() / "new.json").unlink()
    paths.remember(elsewhere)
    assert {row["name"] for row in json.loads(run("sessions", "--json").stdout)["sessions"]} == {
        "old",
        str(elsewhere),
    }
    elsewhere.unlink()
    assert [row["name"] for row in json.loads(run("sessions", "--json").stdout)["sessions"]] == ["old"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# Notes", "neither a session nor a Markdown or HTML report of one"),
        ('```toml\n# session 1a2b\nname = "s"\n```', "session 1a2b isn't on this machine"),
        ("# session 1a2b\n# session 3c4d\n", "of 2 sessions (1a2b, 3c4d); name one of them"),
    ],
)
def test_report_without_its_session_is_not_run_again(
    home: Path, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "report.md").write_text(text)
    assert message in str(run("reproduce", str(tmp_path / "report.md")).exception)


def test_imported_session_is_not_run_again(home: Path) -> None:
    assert "only a session that benchtui ran can be run again" in str(run("reproduce", "demo").exception)


def test_comparison_is_printed_in_columns(recorded: Any) -> None:
    recorded(2.0)
    done = run("compare", "old", "new")
    assert done.exit_code == 0
    assert done.stdout.startswith("A (base): old. Measured on ")
    assert "Neither session says which software it ran on" in done.stdout
    assert "relative to A: above 1, it is faster" in done.stdout
    row = next(line for line in done.stdout.splitlines() if line.startswith("  cuda:0 fp32 compile=off bs=1"))
    assert row.split()[5:8] == ["10.0", "20.0", "0.500"]
    assert "SLOWER" in row
    assert "\nDecision:\nKeep A: B (new) is 0.500 × as fast as A (old) over 2 cases (" in done.stdout


def test_baseline_names_the_session_to_compare_with(recorded: Any) -> None:
    recorded(2.0)
    for sessions in (("old", "new"), ("old",)):
        done = run("compare", *sessions, "--baseline", "new", "--format", "md")
        assert done.stdout.startswith("# Comparison: new and old\n")
        assert "Run B: B (old) is 2.00 × as fast as A (new) over 2 cases (" in done.stdout
    assert "nothing: no such session" in str(run("compare", "old", "new", "--baseline", "nothing").exception)


@pytest.mark.parametrize(
    ("by", "limit", "status"), [(2.0, "5%", 1), (2.0, "150%", 0), (1.0, "0%", 0), (0.5, "5%", 0), (1.2, "5", 1)]
)
def test_gate_fails_if_a_case_is_significantly_slower(
    recorded: Any, by: float, limit: str, status: int
) -> None:
    recorded(by)
    done = run("compare", "old", "new", "--fail-on", limit)
    assert done.exit_code == status
    said = "new: 2 cases significantly more than" if status else "no case is significantly more than"
    assert said in done.stderr


@pytest.mark.parametrize("limit", ["-1%", "much", "", "nan", "1000%"])
def test_gate_rejects_a_threshold_that_is_not_a_percentage(recorded: Any, limit: str) -> None:
    recorded()
    done = run("compare", "old", "new", "--fail-on", limit)
    assert "is not a percentage from 0 to less than 1000, such as 5%" in str(done.exception)


def test_sessions_without_common_cases_fail_with_one_line(home: Path, make_story: Any) -> None:
    for name, size in (("old", 1), ("new", 2)):
        make_story(paths.folder() / f"{name}.json").begin(batch_sizes=(size,)).case(0).end().close()
    done = run("compare", "old", "new")
    assert isinstance(done.exception, BenchtuiError)
    assert str(done.exception) == (
        "old and new: no case was measured in both (old: 1 of 1 cases measured; new: 1 of 1 cases measured);"
        " none has the same batch_size"
    )


def test_table_that_states_no_task_says_why_it_compares_with_nothing(home: Path, tmp_path: Path) -> None:
    exported, table = str(tmp_path / "results.csv"), str(tmp_path / "table.json")
    assert run("export", "demo-cpu", "--format", "csv", "-o", exported).exit_code == 0
    assert run("import", exported, "-o", table).exit_code == 0
    message = str(run("compare", "demo-cpu", table).exception)
    assert message.endswith("8 of 8 cases measured); table doesn't state its task")


def test_running_session_without_measured_cases_is_named(home: Path, make_story: Any) -> None:
    make_story(paths.folder() / "old.json").begin(batch_sizes=(1,)).case(0).end().close()
    make_story(paths.folder() / "new.json").begin(batch_sizes=(1,)).close()
    assert str(run("compare", "old", "new").exception) == (
        "old and new: no case was measured in both (old: 1 of 1 cases measured;"
        " new: still running or crashed, 0 of 1 cases measured)"
    )


def test_session_list_has_a_header_and_aligned_columns(recorded: Any) -> None:
    recorded()
    run("sessions", "note", "new", "after the update")
    header, *rows = run("sessions").stdout.splitlines()
    assert header.split() == [
        *("name", "state", "created", "measured", "left", "best", "rate", "model", "host", "best", "case")
    ]  # fmt: skip
    assert rows[0].split()[:9] == [
        *("old", "completed", "2026-11-21T10:00:00Z", "2/2", "–", "99.8", "samples/s", "tiny-bert", "box")
    ]  # fmt: skip
    assert {row.index("tiny-bert") for row in rows} == {header.index("model")}
    assert rows[1].endswith("note: after the update")


def test_rate_of_the_list_is_that_of_the_library(home: Path) -> None:
    operations.import_session(FIXTURES / "recorded" / "generate.json")
    (entry,) = paths.entries()
    summary = SummaryCache().read(entry.path)
    shown = library_row(Item(entry, "generate", "", summary=summary), "", UNICODE).cells["best"][0]
    (row,) = json.loads(run("sessions", "--json").stdout)["sessions"]
    assert shown.endswith("new tokens/s") and shown in run("sessions").stdout
    assert (row["unit"], row["best_decided"]) == ("new tokens/s", "≈" not in shown)
    assert compact(row["best_rate"]) in shown


def test_unique_beginning_names_a_session_but_deletes_none(recorded: Any) -> None:
    recorded()
    assert paths.resolve("ol") == paths.resolve("old")
    assert "no such session" in str(run("sessions", "delete", "ol", "--yes").exception)
    run("sessions", "rename", "new", "older")
    assert "2 sessions match" in str(run("replay", "o", "--plain").exception)
    assert paths.resolve("old").stem == "old"


def test_unknown_session_suggests_the_nearest_name(recorded: Any) -> None:
    recorded()
    assert "did you mean 'old'?" in str(run("replay", "odl", "--plain").exception)


@pytest.mark.parametrize(("word", "nearest"), [("sesions", "sessions"), ("quikc", "quick"), ("olld", "old")])
def test_unknown_word_suggests_a_command_preset_or_session(recorded: Any, word: str, nearest: str) -> None:
    recorded()
    assert f"did you mean {nearest!r}?" in str(run(word).exception)
    assert f"did you mean {nearest!r}?" in str(run(word, "--help").exception)


def test_session_is_opened_whatever_its_file_is_called(
    recorded: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded()
    file = home / "measured.toml"
    file.write_bytes(paths.resolve("old").read_bytes())
    shown: list[Any] = []
    monkeypatch.setattr(watch, "require_terminal", lambda: None)
    monkeypatch.setattr(watch, "show", lambda engine, path, **options: shown.append(path))
    assert run(str(file)).exception is None
    assert shown == [file]
    assert "is a recorded session" in str(run(str(file), "--set", "batch_size=1").exception)


def test_session_of_the_library_is_opened_by_its_name(recorded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "require_terminal", lambda: None)
    assert "no session in" in str(run("latest").exception)
    recorded()
    shown: list[Any] = []
    monkeypatch.setattr(watch, "show", lambda engine, path, **options: shown.append(path.stem))
    for word in ("old", "latest", "new"):
        assert run(word).exception is None
    assert shown == ["old", paths.resolve("latest").stem, "new"]
    assert "--theme" in run("old", "--help").output
    assert "these begin with it: old" in str(run("ol").exception)
    assert "no such file, preset or command" in str(run("xyzzy").exception)
    assert str(run("version").exception) == "version: not a command; write benchtui --version"
    assert "no such file or folder; a model is a folder with its config.json" in str(run("./nosuch").exception)


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("ls", "sessions"),
        ("report demo", "export"),
        ("diff demo demo-cpu", "compare"),
        ("show demo", "SESSION"),
        ("resume latest", "run --resume SESSION"),
        ("rm demo", "sessions delete"),
        ("best demo --json", "optimal"),
        ("check quick", "doctor"),
        ("tune gpt2", "find"),
        ("bench quick --set device=cpu", "run"),
        ("open plan", "plan"),
        ("help run", "--help"),
    ],
)
def test_word_of_another_tool_is_answered_with_the_command(words: str, written: str) -> None:
    assert str(run(*words.split()).exception).endswith(f"; write benchtui {written}")


def test_extra_words_do_not_hide_that_the_first_is_unknown(home: Path) -> None:
    assert str(run("xyzzy", "more").exception).startswith("xyzzy: no such file, preset or command")


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("run quick --dtype bf16", "Write --set precision=VALUE."),
        ("quick --batch-size 4", "Write --set batch_size=VALUE."),
        ("plan quick --warmup-steps 3", "Write --set warmup=VALUE."),
        ("slurm quick --max_new_tokens 3", "Write --set new_tokens=VALUE."),
        ("run quick --dry-run", "Write benchtui plan, which starts nothing."),
        ("run quick --out x.json", "Write -o FILE."),
        ("export demo --csv", "Write --format."),
        ("optimal demo --metric latency", "Write --objective."),
        ("plan quick --set", "Option '--set' requires an argument."),
        ("optimal demo --jsn", "Did you mean '--json'?"),
    ],
)
def test_option_of_another_tool_is_answered_with_what_to_write(words: str, written: str) -> None:
    error = run(*words.split()).exception
    assert isinstance(error, click.UsageError)
    assert usage_error_text(error).endswith(f"{written}\n")


def test_model_is_opened_on_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(watch, "require_terminal", lambda: None)
    monkeypatch.setattr(watch, "show", lambda engine, path, **options: shown.append(options["model"]))
    folder = home / "mine"
    folder.mkdir()
    assert "mine: no model in this folder: it has no config.json" in str(run(str(folder)).exception)
    (folder / "config.json").write_text("{}")
    words = [str(folder), "org/name", "gpt2", "distilgpt2", "bert-base-uncased"]
    for word in words:
        assert run(word).exception is None
    assert shown == words
    assert "is a model; --set, -o and --trust" in str(run("org/name", "--set", "batch_size=1").exception)


@pytest.mark.parametrize("model", ["distilgpt2", "bert-base-uncased", "t5-small", "org/name"])
@pytest.mark.parametrize("command", ["run", "plan", "find", "slurm", "plan quick", "run quick"])
def test_model_that_is_not_cached_is_refused_without_a_network(
    home: Path, monkeypatch: pytest.MonkeyPatch, command: str, model: str
) -> None:
    monkeypatch.setenv("HF_HOME", str(home))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    words = command.split()
    arguments = [*words, "--set", f"model={model}"] if words[1:] else [*words, model]
    assert str(run(*arguments).exception) == (
        f"model {model}: not in the cache of the hub, and HF_HUB_OFFLINE is set;"
        f" where there is a network, run: hf download {model}"
    )


def test_path_of_a_missing_sweep_is_no_model(home: Path) -> None:
    for word in ("sweeps/mine.toml", "sweeps/mine.yaml", "./mine", "/no/mine", "a/b/c"):
        assert run(word).exception is not None


def test_json_that_is_no_session_is_told_from_a_sweep(home: Path) -> None:
    file = home / "other.json"
    file.write_text('{"a": 1}')
    assert f"{file}: neither a session nor results" in str(run(str(file)).exception)


def test_results_of_another_tool_are_imported_into_the_library(home: Path) -> None:
    source = str(FIXTURES / "optimum-benchmark.json")
    assert f"benchtui import {source}" in str(run(source).exception)
    done = run("import", source)
    assert done.exit_code == 0 and "from optimum-benchmark" in done.stderr
    assert [entry.path.stem for entry in paths.entries()] == ["optimum-benchmark"]


def test_sessions_can_be_renamed_and_deleted_by_name(recorded: Any) -> None:
    recorded()
    assert run("sessions", "rename", "old", "before").exit_code == 0
    assert not run("sessions", "delete", "new", "--yes").exception
    assert [entry.path.stem for entry in paths.entries()] == ["before"]


def test_delete_asks_for_confirmation_once(recorded: Any) -> None:
    recorded()
    refused = CliRunner().invoke(app, ["sessions", "delete", "new"], input="n\n")
    assert refused.exit_code == 1
    assert "delete new and its note?" in refused.stderr
    assert paths.resolve("new").exists()
    CliRunner().invoke(app, ["sessions", "delete", "new"], input="y\n")
    assert [entry.path.stem for entry in paths.entries()] == ["old"]


@pytest.mark.parametrize("answer", ["", "\n", "yes, please\n", "y" * 1000, "\0" * 1000])
def test_anything_but_yes_is_no_even_without_an_end(recorded: Any, answer: str) -> None:
    recorded()
    refused = CliRunner().invoke(app, ["sessions", "delete", "new"], input=answer)
    assert refused.exit_code == 1 and paths.resolve("new").exists()


def test_session_file_from_another_folder_is_added(home: Path, make_story: Any) -> None:
    make_story(home / "mine.json").begin().case(0).end().close()
    assert run("sessions", "add", str(home / "mine.json")).stderr == "mine\n"
    assert operations.note_of(paths.resolve("mine")) == ""


def test_empty_library_suggests_a_first_command(home: Path) -> None:
    done = run("sessions")
    assert done.stdout == ""
    assert "record one with `benchtui run quick`" in done.stderr


def test_list_shows_how_many_cases_of_a_session_are_left(home: Path, make_story: Any) -> None:
    make_story(paths.folder() / "cut.json").begin(batch_sizes=(1, 2, 3)).case(0).start(1).close()
    make_story(paths.folder() / "whole.json").begin(batch_sizes=(1,)).case(0).end().close()
    lines = {line.split()[0]: line for line in run("sessions").stdout.splitlines()}
    assert "crashed" in lines["cut"] and lines["cut"].split()[3:5] == ["1/3", "2"]
    assert lines["whole"].split()[4] == "–"
    assert "benchtui run --resume NAME" in run("sessions").stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--resume", "cut", "quick"),
        ("--resume", "cut", "--set", "batch_size=1"),
        ("--resume", "cut", "-o", "new.json"),
        ("--resume", "cut", "--optimal-from", "cut"),
    ],
)
def test_resume_rejects_options_that_change_the_sweep(home: Path, arguments: tuple[str, ...]) -> None:
    said = str(run("run", *arguments).exception)
    assert said.startswith("--resume uses the sweep and the file of the session; ")


@pytest.mark.parametrize("into", [(), ("--into", "cut")])
@pytest.mark.parametrize("option", ["--retry-failed", "--anyway"])
def test_resume_options_require_resume(home: Path, option: str, into: tuple[str, ...]) -> None:
    refused = run("run", "quick", option, *into)
    assert "--retry-failed and --anyway require --resume SESSION" in str(refused.exception)


def test_simulated_session_is_listed_as_such_and_never_to_resume(home: Path, make_story: Any) -> None:
    for name, simulated in (("modeled", "a model"), ("measured", None)):
        story = make_story(paths.folder() / f"{name}.json").begin(batch_sizes=(1, 2), simulated=simulated)
        story.case(0).close()
    measured, modeled = sorted(run("sessions").stdout.splitlines()[1:])
    assert ", SIMULATED" in modeled and "SIMULATED" not in measured
    rows = {row["name"]: row for row in json.loads(run("sessions", "--json").stdout)["sessions"]}
    assert rows["modeled"]["simulated"] and rows["modeled"]["left"] is None
    assert not rows["measured"]["simulated"] and rows["measured"]["left"] == 1


def test_beginning_of_a_name_stands_for_the_running_session(
    recorded: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded()
    running = [SimpleNamespace(path=paths.folder() / "older.json")]
    monkeypatch.setattr(client, "running", lambda: running)
    assert session_to_watch("ol").stem == "older", "not old, which is recorded"
    assert session_to_watch("old").stem == "old", "a whole name"
    assert session_to_watch("ne").stem == "new"
    running.append(SimpleNamespace(path=paths.folder() / "oldest.json"))
    with pytest.raises(BenchtuiError, match="no such session"):
        session_to_watch("olde")


def test_narrow_terminal_leaves_out_columns() -> None:
    row = SessionRow(
        name="n" * 20, path="p", state="completed", hostname="h" * 20, model="m" * 40, best_case="b" * 30
    )
    wide, *_ = _table([row])
    assert wide.split() == [
        "name",
        "state",
        "created",
        "measured",
        "left",
        "best",
        "rate",
        "model",
        "host",
        "best",
        "case",
    ]
    header, line = _table([row], 110)
    assert header.split()[-3:] == ["rate", "best", "case"]
    assert len(line) <= 110 and line.endswith("b" * 30)
    header, line = _table([row], 80)
    assert "best case" not in header and len(line) <= 80


def test_delete_refuses_a_session_outside_the_library_before_it_asks(recorded: Any, tmp_path: Path) -> None:
    recorded()
    shutil.copy(paths.resolve("new"), tmp_path / "s.json")
    refused = CliRunner().invoke(app, ["sessions", "delete", str(tmp_path / "s.json")], input="y\n")
    assert "not in the library" in str(refused.exception) and "delete" not in refused.stderr
    assert (tmp_path / "s.json").exists()


def test_completion_offers_only_names_that_a_shell_may_insert_unquoted(recorded: Any) -> None:
    recorded()
    library = paths.folder()
    for name in ("new$(touch x)", "new one", "new\x1b[2J", "-new"):
        shutil.copy(library / "new.json", library / f"{name}.json")
    completed = [item.value for item in complete_session(None, None, "")]  # type: ignore[arg-type]
    assert {"new", "old"} <= set(completed) and not [
        name for name in completed if "new" in name and name != "new"
    ]
