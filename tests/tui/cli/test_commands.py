"""The list of commands, which must not import any of them."""

import io
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.tui.cli import COMMANDS, app, watch
from benchtui.tui.cli.exit_status import exit_status_of
from benchtui.tui.cli.options import complete_entry, complete_theme
from benchtui.tui.cli.text.progress import apply_events
from benchtui.tui.cli.text.run_progress import RunProgress

MISSING = "no cuda:0 on this machine: torch 2.9 was built without CUDA"


@pytest.mark.parametrize("name", COMMANDS)
def test_command_summary_is_the_first_sentence_of_its_help(name: str) -> None:
    command = app.get_command(click.Context(app), name)
    assert command is not None and command.name == name
    assert command.get_short_help_str(1000) == COMMANDS[name][2]


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


def test_options_before_a_command_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: dict[str, Any] = {}
    monkeypatch.setattr(watch, "require_terminal", lambda: None)
    monkeypatch.setattr(watch, "show", lambda *_, **appearance: shown.update(appearance))
    done = CliRunner().invoke(app, ["--ascii", "--theme", "benchtui-light", "demo"])
    assert done.exit_code == 0 and shown == {"ascii_only": True, "theme": "benchtui-light"}


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


def test_progress_bar_counts_cases_and_time_left(make_story: Any, tmp_path: Path) -> None:
    story = make_story(tmp_path / "s.json").begin(batch_sizes=(1, 2, 4, 8)).case(0)
    story.start(1).finish(1, "skipped", reason="by hand").start(2).close()
    session, screen = Session(metrics), io.StringIO()
    bar = RunProgress(session, Console(file=screen, force_terminal=True, width=100))
    with bar:
        for event in apply_events(story.path, None, session):
            bar.update(event)
        bar.print("a line")
    assert "1/3, 1 skipped" in screen.getvalue() and " left" in screen.getvalue()
    assert "a line" in screen.getvalue()
