"""The list of commands, which must not import any of them."""

import subprocess
import sys

import click
import pytest

from benchtui.tui.cli import COMMANDS, app


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
    assert ran.stderr.split() == [
        "benchtui.tui",
        "benchtui.tui.cli",
        "benchtui.tui.cli.exit_status",
        "benchtui.tui.cli.options",
    ]


def test_command_completion_imports_no_command() -> None:
    found = app.shell_complete(click.Context(app), "re")
    assert [(item.value, item.help) for item in found] == [("replay", "Replay a recorded session.")]
