"""Write the manual pages of all commands to packaging/man, or a folder: `make man`."""

import sys
from pathlib import Path

import click
from click_man.core import write_man_pages

from benchtui.sessions.version import VERSION
from benchtui.tui.cli import app

FOLDER = Path(__file__).with_name("man")


def write(folder: Path) -> None:
    """Write a page for the program and one for each command."""
    context = click.Context(app, info_name="benchtui")
    commands = {name: app.get_command(context, name) for name in app.list_commands(context)}
    group = click.Group("benchtui", commands=commands, params=app.params, help=app.help)
    write_man_pages("benchtui", group, version=VERSION, target_dir=folder, date=VERSION)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
