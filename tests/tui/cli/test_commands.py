"""The list of commands, which must not import any of them."""

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.stats.evidence import summarize
from benchtui.tui.cli import COMMANDS, app
from benchtui.tui.cli.exit_status import exit_status_of
from benchtui.tui.cli.options import complete_entry, complete_theme
from benchtui.tui.cli.text.progress import apply_events, best_lines
from benchtui.tui.cli.text.run_progress import RunProgress

MISSING = "no cuda:0 on this machine: torch 2.9 was built without CUDA"


@pytest.mark.parametrize("name", COMMANDS)
def test_command_summary_is_the_first_sentence_of_its_help(name: str) -> None:
    command = app.get_command(click.Context(app), name)
    assert command is not None and command.name == name
    assert command.get_short_help_str(1000) == COMMANDS[name][2]


def test_listing_commands_imports_none_of_them() -> None:
    script = (
        "import sys\nfrom benchtui.tui.cli import app\napp(['--help'], standalone_mode=False)\n"
        "print(*sorted(name for name in sys.modules if name.startswith('benchtui.')), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    face = ("engine.workloads.own.case", "sessions.errors", "sessions.version", "tui.api")
    loaded = ran.stderr.split()
    assert [
        name for name in loaded if name.count(".") > 1 and not name[len("benchtui.") :].startswith(face)
    ] == [
        "benchtui.engine.workloads",
        "benchtui.engine.workloads.own",
        "benchtui.tui.cli",
        "benchtui.tui.cli.commands",
        "benchtui.tui.cli.exit_status",
        "benchtui.tui.cli.options",
        "benchtui.tui.cli.text",
        "benchtui.tui.cli.text.streams",
    ]


def test_command_completion_imports_no_command() -> None:
    found = app.shell_complete(click.Context(app), "re")
    assert [(item.value, item.help) for item in found if item.help] == [
        ("replay", "Replay a recorded session.")
    ]


@pytest.mark.parametrize(
    ("complete", "word", "wanted"),
    [
        (complete_entry, "batch", {"batch_size="}),
        (complete_entry, "precision=fp", {"precision=fp32", "precision=fp16"}),
        (complete_theme, "okabe", {"okabe-ito"}),
    ],
)
def test_options_complete_their_values(complete: Any, word: str, wanted: set[str]) -> None:
    found = {item.value for item in complete(click.Context(app), app.params[0], word)}
    assert found == wanted


def test_help_of_a_preset_is_that_of_opening_a_sweep() -> None:
    done = CliRunner().invoke(app, ["quick", "--help"])
    assert done.exit_code == 0 and "Run a sweep and show it live" in done.output


def test_first_word_completes_presets() -> None:
    assert "quick" in {item.value for item in app.shell_complete(click.Context(app), "qu")}


@pytest.mark.parametrize(("strict", "status"), [(False, 0), (True, 3)])
def test_strict_fails_if_a_device_was_missing(
    make_story: Any, tmp_path: Path, strict: bool, status: int
) -> None:
    story = make_story(tmp_path / "s.json").begin(batch_sizes=(1, 2)).case(0).start(1)
    story.finish(1, "skipped", reason=MISSING).end().close()
    assert exit_status_of(Session.load(story.path), strict=strict) == status


def test_case_skipped_by_hand_is_no_missing_device(make_story: Any, tmp_path: Path) -> None:
    story = make_story(tmp_path / "s.json").begin(batch_sizes=(1, 2)).case(0).start(1)
    story.finish(1, "skipped", reason="skipped by the user").end().close()
    assert exit_status_of(Session.load(story.path), strict=True) == 0


def test_end_of_a_run_names_the_best_case_and_the_report(make_story: Any, tmp_path: Path) -> None:
    story = make_story(tmp_path / "s.json").begin(batch_sizes=(1, 2)).case(0, 10.0).case(1, 15.0).end()
    story.close()
    best, report = best_lines(Session.load(story.path), story.path)
    assert best == "best: cuda:0 fp32 compile=off bs=2 seq=128  133 samples/s, clearly ahead of the next"
    assert report == f"report: benchtui export {story.path}"


def test_end_of_a_run_names_the_case_that_the_report_recommends(make_story: Any, tmp_path: Path) -> None:
    story = make_story(tmp_path / "s.json").begin(batch_sizes=(1,), compile=("off", "default"))
    story.case(0, 10.0, 100).case(1, 9.999, 100).end().close()
    session = Session.load(story.path)
    assert max(session.cases, key=lambda case: metrics(case).samples_per_s).config.compile == "default"
    best, _ = best_lines(session, story.path)
    assert best.startswith("best: cuda:0 fp32 compile=off bs=1 seq=128 ")
    assert "- For throughput, run cuda:0 fp32 compile=off bs=1 (" in markdown(session)


def test_progress_bar_counts_cases_and_time_left(make_story: Any, tmp_path: Path) -> None:
    story = make_story(tmp_path / "s.json").begin(batch_sizes=(1, 2, 4, 8)).case(0)
    story.start(1).finish(1, "skipped", reason="by hand").start(2).close()
    session, screen = Session(summarize), io.StringIO()
    bar = RunProgress(session, Console(file=screen, force_terminal=True, width=100))
    with bar:
        for event in apply_events(story.path, None, session):
            bar.update(event)
        bar.print("a line")
    assert "1/3, 1 skipped" in screen.getvalue() and " left" in screen.getvalue()
    assert "a line" in screen.getvalue()
