import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.library import operations, paths
from benchtui.tui.cli import app


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


def test_comparison_is_printed_in_columns(recorded: Any) -> None:
    recorded(2.0)
    done = run("compare", "old", "new")
    assert done.exit_code == 0
    assert done.stdout.startswith("A  base  old  box  Test GPU")
    assert "None of the sessions says which software it ran on" in done.stdout
    assert "ratio above 1: the new session is faster" in done.stdout
    row = next(line for line in done.stdout.splitlines() if line.startswith("  cuda:0 fp32 bs=1"))
    assert row.split()[3:6] == ["10.02", "20.02", "0.50"]
    assert "SLOWER" in row
    assert "2 cases compared, 2 SLOWER." in done.stdout


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
        "old and new: no case was measured in both (old: 1 of 1 cases measured; new: 1 of 1 cases measured)"
    )


def test_markdown_and_json_are_written_to_a_file(recorded: Any, tmp_path: Path) -> None:
    recorded(2.0)
    assert run("compare", "old", "new", "--format", "json", "-o", str(tmp_path / "c.json")).stdout == ""
    assert json.loads((tmp_path / "c.json").read_text())["against"][0]["counts"]["SLOWER"] == 2
    shown = run("compare", "old", "new", "--format", "md").stdout
    assert shown.startswith("# Comparison: old and new")
    assert run("export", "old", "new").stdout == shown


def test_comparing_a_single_session_fails(recorded: Any) -> None:
    recorded()
    assert "2 to 26 sessions can be compared, not 1" in str(run("compare", "old").exception)


def test_session_list_has_fixed_columns_followed_by_details(recorded: Any) -> None:
    recorded()
    run("sessions", "note", "new", "after the update")
    first = run("sessions").stdout.splitlines()[0]
    name, state, created, count, cases = first.split()[:5]
    assert (name, state, created, count, cases) == ("old", "finished", "2026-11-21T10:00:00Z", "2", "cases")
    assert "  tiny-bert  on box  completed, 2 measured  best 99.9 samples/s: cuda:0" in first
    assert run("sessions").stdout.splitlines()[1].endswith("note: after the update")


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


def test_session_file_from_another_folder_is_added(home: Path, make_story: Any) -> None:
    make_story(home / "mine.json").begin().case(0).end().close()
    assert run("sessions", "add", str(home / "mine.json")).stderr == "mine\n"
    assert operations.note_of(paths.resolve("mine")) == ""


def test_empty_library_suggests_a_first_command(home: Path) -> None:
    done = run("sessions")
    assert done.stdout == ""
    assert "record one with `benchtui run quick`" in done.stderr


def test_list_shows_the_resume_command_of_an_unfinished_session(home: Path, make_story: Any) -> None:
    make_story(paths.folder() / "cut.json").begin(batch_sizes=(1, 2, 3)).case(0).start(1).close()
    make_story(paths.folder() / "whole.json").begin(batch_sizes=(1,)).case(0).end().close()
    lines = {line.split()[0]: line for line in run("sessions").stdout.splitlines()}
    assert "cut off" in lines["cut"] and "2 of 3 left: benchtui run --resume cut" in lines["cut"]
    assert "--resume" not in lines["whole"]


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


@pytest.mark.parametrize("option", ["--retry-failed", "--anyway"])
def test_resume_options_require_resume(home: Path, option: str) -> None:
    assert "--retry-failed and --anyway require --resume SESSION" in str(run("run", "quick", option).exception)
