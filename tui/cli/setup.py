"""``benchtui doctor``, ``themes``, ``keys`` and ``completion``: what is available on this machine."""

import os
import sys
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from benchtui.engine import client
from benchtui.sessions.errors import BenchtuiError, os_error_text
from benchtui.sessions.files.output_file import write_text
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
        click.echo(f"{_STATES[finding.state]} {finding.what:18} {printable(finding.text)}")
    sys.exit(BROKEN if broken else 0)


_STATES = {"ok": "ok     ", "absent": "absent ", "broken": "BROKEN "}


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
@click.option("--install", is_flag=True, help="Write it to the folder where the shell looks for completions.")
def completion(shell: str, install: bool) -> None:
    """Print a shell completion script, or install it.

    Without installing, for bash: eval "$(benchtui completion bash)"
    """
    completion_class = get_completion_class(shell)
    assert completion_class is not None
    script = completion_class(app, {}, "benchtui", "_BENCHTUI_COMPLETE").source()
    if not install:
        click.echo(script)
        return
    path = _completion_path(shell)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BenchtuiError(f"{path.parent}: can't be created: {os_error_text(error)}") from error
    write_text(path, script)
    click.echo(f"written to {printable(str(path))}; new shells complete benchtui")
    if shell == "zsh":
        click.echo("zsh looks there if ~/.zshrc has this before compinit: fpath+=~/.zfunc")


def _completion_path(shell: str) -> Path:
    """Return the file from which a shell loads the completions of benchtui on its own."""
    data = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser()
    config = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    return {
        "bash": data / "bash-completion" / "completions" / "benchtui",
        "fish": config / "fish" / "completions" / "benchtui.fish",
        "zsh": Path("~/.zfunc/_benchtui").expanduser(),
    }[shell]
