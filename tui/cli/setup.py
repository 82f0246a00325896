"""The commands that say what there is: machine, themes, keys. As in ``cli``, only click is imported here."""

import sys

import click

from benchtui.tui.cli.options import printable

BROKEN = 1


@click.command()
def doctor() -> None:
    """Say what this machine can measure, and why not."""
    from benchtui.engine import client  # after the command is known

    broken = False
    for finding in client.examine():
        broken = broken or finding.state == "broken"
        click.echo(f"{_STATES[finding.state]} {finding.what:18} {printable(finding.text)}")
    sys.exit(BROKEN if broken else 0)


_STATES = {"ok": "ok     ", "absent": "absent ", "broken": "BROKEN "}


@click.command("themes")
def list_themes() -> None:
    """List the themes of the app, and where each is from.

    Own themes are TOML files in the folder of the user's configuration, which this command names.
    """
    from benchtui.themes import user_themes  # after the command is known

    found = user_themes.shelf()
    for name, source in found.sources.items():
        click.echo(f"{printable(name):20}  {printable(source)}")
    for problem in found.problems.values():
        click.echo(printable(problem), err=True)
    click.echo(f"own themes: *.toml in {printable(str(user_themes.folder()))}", err=True)


@click.command()
def keys() -> None:
    """List what every key does, by the id under which config.toml can map it anew."""
    from benchtui.tui.app import key_owners
    from benchtui.tui.shell import (
        keymap,  # after the command is known
        settings,  # after the command is known
    )

    known, problems = settings.read(settings.path())
    owners = key_owners()
    click.echo("\n".join([*keymap.listing(known.keys, owners), f"map them in {settings.path()}, table [keys]"]))
    for problem in (*problems, *keymap.mistakes(known.keys, owners)):
        click.echo(f"benchtui: {printable(problem)}", err=True)
