"""``benchtui doctor``, ``themes``, ``keys`` and ``completion``: what is available on this machine."""

import sys

import click
from click.shell_completion import get_completion_class

from benchtui.engine import client
from benchtui.themes import user_themes
from benchtui.tui.cli import app
from benchtui.tui.cli.options import printable

BROKEN = 1


@click.command()
def doctor() -> None:
    """Check what this machine can measure.

    Everything that is missing or broken is listed with its reason.
    """
    broken = False
    for finding in client.check_machine():
        broken = broken or finding.state == "broken"
        click.echo(f"{_STATES[finding.state]} {finding.what:22} {printable(finding.text)}")
    sys.exit(BROKEN if broken else 0)


_STATES = {"ok": "ok     ", "missing": "missing", "broken": "BROKEN "}


@click.command("themes")
def list_themes() -> None:
    """List the color themes of the app and their sources.

    User themes are TOML files in a configuration folder, whose path is printed last.
    """
    found = user_themes.load_all()
    for name, source in found.sources.items():
        click.echo(f"{printable(name):20}  {printable(source)}")
    for problem in found.problems.values():
        click.echo(printable(problem), err=True)
    click.echo(f"user themes: *.toml in {printable(str(user_themes.folder()))}", err=True)


@click.command()
def keys() -> None:
    """List all key bindings, with the action IDs to remap them in config.toml."""
    from benchtui.tui.app import key_owners  # Textual, which the other commands don't need
    from benchtui.tui.shell import keymap, settings

    known, problems = settings.read(settings.path())
    owners = key_owners()
    click.echo(
        "\n".join([*keymap.listing(known.keys, owners), f"remap them in {settings.path()}, table [keys]"])
    )
    for problem in (*problems, *keymap.problems(known.keys, owners)):
        click.echo(f"benchtui: {printable(problem)}", err=True)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a shell completion script.

    For bash: eval "$(benchtui completion bash)"
    """
    script = get_completion_class(shell)
    if script is not None:
        click.echo(script(app, {}, "benchtui", "_BENCHTUI_COMPLETE").source())
