"""A report on a terminal: width, colors, links, and the pager."""

import os
import re
from pathlib import Path

import pytest

from benchtui import themes
from benchtui.tui.cli.text import report

MARKDOWN = "# Title\n\n## Answer\n\n- bf16 is FASTER, see https://example.org/x\n\n" + "\n\n".join(
    f"line {place}" for place in range(30)
)
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
    report.show_report(MARKDOWN)
    options, first, *_ = shown.read_text().splitlines()
    assert options == "-RFX"
    assert "Title" in first and "\x1b[1m" in first
    assert capsys.readouterr().out == ""


def test_short_report_and_one_without_a_pager_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = pager(tmp_path, monkeypatch)
    report.show_report("# Title\n")
    report.show_report(MARKDOWN, paged=False)
    monkeypatch.setenv("PAGER", "")
    report.show_report(MARKDOWN)
    monkeypatch.setenv("PAGER", "no-such-pager")
    report.show_report(MARKDOWN)
    assert not shown.exists()
    assert capsys.readouterr().out.count("Title") == 4


def test_addresses_are_links_and_colors_are_off_with_no_color(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report.show_report(MARKDOWN, paged=False)
    colored = capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    report.show_report(MARKDOWN, paged=False)
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
    report.show_report("FASTER\n")
    red, green, blue = bytes.fromhex(themes.load("okabe-ito").good.removeprefix("#"))
    assert f"\x1b[38;2;{red};{green};{blue}mFASTER" in capsys.readouterr().out


def test_text_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    report.show_report("name \x1b[31m\x07 of a session\n")
    assert "\x07" not in (out := capsys.readouterr().out) and "\x1b[31m" not in out
