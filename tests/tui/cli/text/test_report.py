"""A report on a terminal: width, colors, links, and the pager."""

import os
import re
from pathlib import Path

import pytest

from benchtui import themes
from benchtui.sessions.compare.align import compare_sessions, load_sessions
from benchtui.sessions.library import paths
from benchtui.sessions.report.content import Section
from benchtui.tui.cli.text import report
from benchtui.tui.cli.text.compare import main_sections
from benchtui.tui.cli.text.output import display

ANSWER = Section("Answer", ("bf16 is FASTER, see https://example.org/x",))
LONG = Section("Title", (ANSWER, *(f"line {place}" for place in range(30))))
QUICK = Path(__file__).parents[3] / "fixtures" / "quick-cpu.json"
COLOR = re.compile(r"\x1b\[[\d;]*3\d")


@pytest.fixture(autouse=True)
def terminal(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "PAGER", "LESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("shutil.get_terminal_size", lambda fallback=(): os.terminal_size((60, 24)))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)


def pager(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a pager that copies what it shows, and what less would be told, to a file."""
    shown, script = folder / "shown", folder / "pager"
    script.write_text(f'#!/bin/sh\necho "$LESS" > {shown}\ncat >> {shown}\n')
    script.chmod(0o755)
    monkeypatch.setenv("PAGER", f"{script} -x")
    return shown


def test_long_report_goes_to_the_pager_with_its_colors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = pager(tmp_path, monkeypatch)
    report.show_report(LONG)
    options, first, *_ = shown.read_text().splitlines()
    assert options == "-RFX"
    assert "Title" in first and "\x1b[1m" in first
    assert capsys.readouterr().out == ""


def test_short_report_and_one_without_a_pager_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = pager(tmp_path, monkeypatch)
    report.show_report(Section("Title", ()))
    report.show_report(LONG, paged=False)
    monkeypatch.setenv("PAGER", "")
    report.show_report(LONG)
    monkeypatch.setenv("PAGER", "no-such-pager")
    report.show_report(LONG)
    assert not shown.exists()
    assert capsys.readouterr().out.count("Title") == 4


def test_addresses_are_links_and_colors_are_off_with_no_color(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report.show_report(LONG, paged=False)
    colored = capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    report.show_report(LONG, paged=False)
    plain = capsys.readouterr().out
    assert COLOR.search(colored) and not COLOR.search(plain)
    assert all(re.search(r"\x1b\]8;[^;]*;https://example\.org/x\x1b", text) for text in (colored, plain))


def test_colors_are_those_of_the_chosen_theme(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLORTERM", "truecolor")
    settings = home / "config" / "benchtui" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('theme = "okabe-ito"\n')
    report.show_report(Section("FASTER", ("FASTER",)))
    red, green, blue = bytes.fromhex(themes.load("okabe-ito").good.removeprefix("#"))
    assert f"\x1b[38;2;{red};{green};{blue}mFASTER" in capsys.readouterr().out


def test_text_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    report.show_report(Section("name \x1b[31m\x07", ("\x1b[31m\x07 of a session",)))
    assert "\x07" not in (out := capsys.readouterr().out) and "\x1b[31m" not in out


def test_comparison_on_a_terminal_is_rendered_with_its_main_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert display("text", None, plain=False, no_pager=True) == "unpaged"
    assert display("text", None, plain=True, no_pager=False) is None
    assert display("json", None, plain=False, no_pager=False) is None
    shown = main_sections(compare_sessions(load_sessions([paths.demo_path(paths.CPU_DEMO), QUICK])))
    titles = [part.title for part in shown.content if isinstance(part, Section)]
    assert titles == ["Decision", "Cases", "What differs", "Caveats"]
