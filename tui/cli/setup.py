"""``benchtui doctor``, ``cache``, ``themes``, ``keys``, ``completion`` and ``init-step``: what is here."""

import importlib.util
import os
import sys
import time
from importlib import resources
from keyword import iskeyword
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from benchtui.engine import client
from benchtui.sessions.errors import BenchtuiError, os_error_text
from benchtui.sessions.files.output_file import write_text
from benchtui.sessions.library import artifacts
from benchtui.sessions.sanitize import quoted
from benchtui.sessions.text.formatting import count
from benchtui.themes import user_themes
from benchtui.tui.cli import app
from benchtui.tui.cli.exit_status import FAILED
from benchtui.tui.cli.options import echo, json_option
from benchtui.tui.cli.schema.records import (
    ArtifactJson,
    CacheJson,
    DoctorJson,
    FindingJson,
    KeyJson,
    KeysJson,
    ThemeJson,
    ThemesJson,
)
from benchtui.tui.cli.text.output import print_json


@click.command()
@json_option("Print the checks as JSON.")
def doctor(as_json: bool) -> None:
    """Check what this machine can measure.

    Everything that is missing or broken is listed with its reason.
    """
    findings = client.check_machine()
    if as_json:
        checks = tuple(
            FindingJson(what=finding.what, state=finding.state, text=finding.text) for finding in findings
        )
        print_json(DoctorJson(checks=checks))
    else:
        echo(*(f"{_STATES[finding.state]} {finding.what:22} {finding.text}" for finding in findings))
    sys.exit(FAILED if any(check.state == "broken" for check in findings) else 0)


_STATES = {"ok": "ok     ", "missing": "missing", "broken": "BROKEN "}


@click.command()
@click.option("--remove", is_flag=True, help="Remove them, except those that are being built.")
@click.option(
    "--unused", metavar="DAYS", type=click.FloatRange(min=0), help="Only those not used for so many days."
)
@json_option("Print the list as JSON.")
def cache(remove: bool, unused: float | None, as_json: bool) -> None:
    """List or remove the models that were converted for other runtimes.

    They are kept so that each is converted once. If all together exceed 5 GB, those that weren't used for the
    longest time are removed. `benchtui run --no-cache` neither uses nor keeps any.
    """
    listed = artifacts.stored() if unused is None else artifacts.unused(unused)
    listed = artifacts.remove(listed) if remove else listed
    rows = tuple(_artifact(artifact) for artifact in listed)
    size_mb = sum(row.size_mb for row in rows)
    if as_json:
        folder = str(artifacts.folder())
        print_json(CacheJson(folder=folder, artifacts=rows, size_mb=size_mb, most_mb=artifacts.MOST_MB))
        return
    for row in rows:
        about = f"{row.backend}  {row.precision}  {row.model}" if row.model else "what a killed build left"
        echo(f"{row.size_mb:8,.1f} MB  {row.unused_days:6.1f} days ago  {about}")
    done = "removed from" if remove else "in"
    total = f"{count(len(rows), 'artifact')}, {size_mb:,.0f} MB {done} {artifacts.folder()}"
    echo(f"{total}, which keeps at most {artifacts.MOST_MB:,.0f} MB", err=True)


def _artifact(stored: artifacts.Stored) -> ArtifactJson:
    about = stored.about
    return ArtifactJson(
        path=str(stored.path),
        model=about.model if about else None,
        backend=about.backend if about else None,
        precision=about.precision if about else None,
        size_mb=round(stored.size_mb, 3),
        unused_days=round(max(0.0, time.time() - stored.used_s) / 86_400, 3),
    )


@click.command("themes")
@json_option("Print the themes as JSON.")
def list_themes(as_json: bool) -> None:
    """List the color themes of the app and their sources.

    User themes are TOML files in a configuration folder, whose path is printed last.
    """
    loaded = user_themes.load_all()
    if as_json:
        themes = tuple(ThemeJson(name=name, source=source) for name, source in loaded.sources.items())
        problems = tuple(loaded.problems.values())
        print_json(ThemesJson(themes=themes, problems=problems, folder=str(user_themes.folder())))
        return
    for name, source in loaded.sources.items():
        echo(f"{name:20}  {source}")
    echo(*loaded.problems.values(), err=True)
    echo(f"user themes: *.toml in {user_themes.folder()}", err=True)


@click.command()
@json_option("Print the bindings as JSON.")
def keys(as_json: bool) -> None:
    """List all key bindings, with the action IDs to remap them in config.toml."""
    from benchtui.tui.shell import keymap, settings
    from benchtui.tui.views import key_owners  # imports Textual, which the other commands don't need

    user_settings, problems = settings.read(settings.path())
    owners = key_owners()
    problems = (*problems, *keymap.problems(user_settings.keys, owners))
    if as_json:
        rows = tuple(
            KeyJson(
                id=binding.id,
                view=view,
                keys=keymap.shown(binding.keys),
                does=binding.does,
                about=binding.about,
            )
            for view, binding in keymap.listed(user_settings.keys, owners)
        )
        print_json(KeysJson(keys=rows, problems=problems, config=str(settings.path())))
        return
    echo(*keymap.listing(user_settings.keys, owners), f"remap them in {settings.path()}, table [keys]")
    echo(*(f"benchtui: {problem}" for problem in problems), err=True)


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
    echo(f"written to {path}; new shells complete benchtui")
    if shell == "zsh":
        click.echo("zsh looks there if ~/.zshrc has this before compinit: fpath+=~/.zfunc")


def _completion_path(shell: str) -> Path:
    """Return the file from which a shell loads benchtui's completions automatically."""
    data = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser()
    config = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    return {
        "bash": data / "bash-completion" / "completions" / "benchtui",
        "fish": config / "fish" / "completions" / "benchtui.fish",
        "zsh": Path("~/.zfunc/_benchtui").expanduser(),
    }[shell]


_SKELETON, _NAME = "benchtui.tui.cli.text", "train_step"


@click.command("init-step")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def init_step(file: Path) -> None:
    """Write a training step of your own to start from.

    FILE is the Python file to write, such as train_step.py: a training loop with a DataLoader, seeds,
    torch.compile, timed parts and an answer. Its sweep is written next to it, with the ending .toml. No
    existing file is overwritten.
    """
    _require_importable(file)
    sweep = file.with_suffix(".toml")
    _require_new(file, sweep)
    write_text(file, skeleton(".py.txt").replace(f"{_NAME}.toml", str(sweep)), over=False)
    names = {f"{_NAME}.py:": f"{file}:", f'"{_NAME}"': f'"{file.stem}"'}
    text = skeleton(".toml")
    for name, own in names.items():
        text = text.replace(name, own)
    write_text(sweep, text, over=False)
    echo(f"wrote {file} and {sweep}; measure it with: benchtui run {sweep}")


def skeleton(ending: str) -> str:
    """Return the text of a file of the skeleton, as it is in the documentation."""
    return (resources.files(_SKELETON) / "skeleton" / f"{_NAME}{ending}").read_text("utf-8")


def _require_importable(file: Path) -> None:
    """Raise BenchtuiError if processes that the step starts couldn't import the file by its name."""
    name = file.stem
    if file.suffix != ".py" or not name.isidentifier() or iskeyword(name):
        raise BenchtuiError(
            f"{quoted(str(file))} can't be imported as a Python module; use a name such as train_step.py"
        )
    if name in sys.stdlib_module_names or importlib.util.find_spec(name):
        raise BenchtuiError(f"{file}: {name} is also the name of an installed Python module; use another name")


def _require_new(*files: Path) -> None:
    """Raise BenchtuiError if a file exists, before any of them is written."""
    for file in files:
        if file.exists() or file.is_symlink():
            raise BenchtuiError(f"{file}: already exists and won't be overwritten")
