"""Shared options and arguments. Imports only click, because the root command uses some of them."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

if TYPE_CHECKING:
    from benchtui.sessions.state.judging import VerdictSettings

Command = TypeVar("Command", bound=Callable[..., Any])
Value = TypeVar("Value")
OptionCallback = Callable[[click.Context, click.Parameter, str | None], Value | None]


def together(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return options as one, which are listed in this order."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def printable(text: str) -> str:
    """Replace characters that could control a terminal with U+FFFD."""
    from benchtui.sessions.sanitize import REPLACEMENT, replace_unprintable  # not needed for --help

    return replace_unprintable(text, space=REPLACEMENT)


def echo(*lines: str, err: bool = False) -> None:
    """Print lines, without characters that could control a terminal."""
    for line in lines:
        click.echo(printable(line), err=err)


def _completions(word: str, names: Iterable[str], kind: str = "") -> list[Any]:
    """Return the names that begin with a word, and that files or folders may as well if ``kind`` says so."""
    from click.shell_completion import CompletionItem  # needed only for completion

    items = [CompletionItem(name) for name in names if name.startswith(word)]
    return [*items, CompletionItem(word, type=kind)] if kind else items


def complete_sweep(_context: click.Context, _parameter: click.Parameter, word: str) -> list[Any]:
    """Complete a sweep: presets and files."""
    from benchtui.sessions.sweep.toml_reader import preset_names  # needed only for completion

    return _completions(word, preset_names(), "file")


def complete_model(_context: click.Context, _parameter: click.Parameter, word: str) -> list[Any]:
    """Complete a model: those in the hub's cache, and folders."""
    from benchtui.sessions.stored_models.hub_cache import cached_models  # needed only for completion

    return _completions(word, cached_models(), "dir")


def complete_session(_context: click.Context, _parameter: click.Parameter, word: str) -> list[Any]:
    """Complete a session: names in the library and files."""
    from benchtui.sessions.library import paths  # needed only for completion

    recorded = _safe(entry.path.stem for entry in paths.entries())
    return _completions(word, (paths.LATEST, *paths.DEMOS, *recorded), "file")


def complete_entry(_context: click.Context, _parameter: click.Parameter, word: str) -> list[Any]:
    """Complete ``--set``: the entry, then its known values."""
    from benchtui.sessions.sweep.options import BY_NAME  # needed only for completion
    from benchtui.sessions.sweep.toml_reader import entries

    name, equals, _ = word.partition("=")
    names = {entry.removeprefix("axes."): BY_NAME.get(entry.removeprefix("axes.")) for entry in entries()}
    if not equals:
        return _completions(word, (f"{entry}=" for entry in names))
    option = names.get(name)
    return _completions(word, (f"{name}={value}" for value in (option.values if option else ())))


def complete_theme(_context: click.Context, _parameter: click.Parameter, word: str) -> list[Any]:
    """Complete the name of a theme."""
    from benchtui.themes import user_themes  # needed only for completion

    return _completions(word, _safe(user_themes.load_all().themes))


def _safe(names: Iterable[str]) -> list[str]:
    """Return the names that a shell may insert unquoted, as bash does, without obeying what is in them."""
    from benchtui.sessions.library.paths import safe_name  # needed only for completion

    return [name for name in names if name == safe_name(name)]


sweep_argument = click.argument("sweep", shell_complete=complete_sweep)
set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=complete_entry,
    help="Override an entry: --set batch_size=1..64*2.",
)
resume_options = together(
    click.option(
        "--resume",
        "resumed",
        metavar="SESSION",
        shell_complete=complete_session,
        help="Resume a session that was stopped or crashed: a path, a library name, or `latest`.",
    ),
    click.option("--retry-failed", is_flag=True, help="With --resume: rerun cases that failed or timed out."),
    click.option(
        "--anyway",
        is_flag=True,
        help="With --resume: resume even if the machine, its software or files have changed.",
    ),
)
"""Options of ``ResumeOptions``."""
wait_option = click.option(
    "--wait", is_flag=True, help="Measure nothing until the sweeps that are running on this machine have ended."
)
FILE = click.Path(path_type=Path, dir_okay=False)
"""Type of options and arguments that name a file."""


def output_option(text: str, name: str = "output", *, required: bool = False) -> Callable[[Command], Command]:
    """Return the option ``-o``, which names a file to write."""
    return click.option("-o", "--output", name, type=FILE, required=required, help=text)


session_option = output_option("Session file to write; by default a new one in the library.", "session_path")


def percentage_option(flag: str, name: str, text: str) -> Callable[[Command], Command]:
    """Return an option for a percentage, which becomes a fraction of 1."""
    return click.option(flag, name, callback=parsed(parse_percentage), metavar="PERCENT", help=text)


def parsed(parse: Callable[[str], Value]) -> OptionCallback[Value]:
    """Return the callback of an option that parses its text, if there is one."""
    return lambda context, parameter, text: None if text is None else parse(text)


def json_option(text: str) -> Callable[[Command], Command]:
    """Return the option ``--json``, whose output ``benchtui schema`` describes."""
    return click.option("--json", "as_json", is_flag=True, help=text)


def check_theme(_context: click.Context, _parameter: click.Parameter, name: str | None) -> str | None:
    """Check the theme before anything is started."""
    from benchtui.themes import user_themes  # imported late to keep start-up fast

    if name is not None and (reason := user_themes.unknown_reason(name)):
        raise click.BadParameter(reason)
    return name


appearance_options = together(
    click.option(
        "--theme",
        callback=check_theme,
        shell_complete=complete_theme,
        help="Color theme; `benchtui themes` lists them.",
    ),
    click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII characters only."),
)
"""Options of ``AppearanceOptions``."""
speed_option = click.option("--speed", type=click.FloatRange(0.25, 64), help="Playback speed; 1 is real time.")


def parse_percentage(text: str) -> float:
    """Parse a percentage such as ``5%`` into a fraction of 1."""
    try:
        percent = float(text.strip().removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not 0 <= percent < 1000:
        raise click.BadParameter(f"{text!r} is not a percentage from 0 to less than 1000, such as 5%")
    return percent / 100


same_within_option = percentage_option(
    "--same-within",
    "same_within",
    "Margin that must contain the whole interval for two cases to count as the same.  [default: 2%]",
)
judging_options = together(
    click.option(
        "--baseline",
        multiple=True,
        metavar="KEY=VALUE|NUMBER",
        help="Case to compare the others with: options such as precision=fp32, repeated for several, or its"
        " number. With several sessions: the session to compare the others with.",
    ),
    same_within_option,
)
"""Options of ``JudgingOptions``."""


class JudgingOptions(TypedDict):
    """Baseline and equivalence margin chosen by the user."""

    baseline: tuple[str, ...]
    same_within: float | None


def verdict_settings(options: JudgingOptions) -> "VerdictSettings":
    """Parse the options of ``JudgingOptions``. Raises BenchtuiError naming the invalid option."""
    from benchtui.sessions.state.judging import VerdictSettings  # imported late to keep start-up fast

    named, same_within = options["baseline"], options["same_within"]
    if not named:
        return VerdictSettings(same_within=same_within)
    if len(named) == 1 and named[0].isdecimal():
        return VerdictSettings(baseline_case=int(named[0]), same_within=same_within)
    from benchtui.sessions.sweep.toml_reader import baseline_from  # screens without a baseline paint earlier

    return VerdictSettings(baseline_from(named), same_within=same_within)


class ResumeOptions(TypedDict):
    """Session to resume, and how."""

    resumed: str | None
    retry_failed: bool
    anyway: bool


class AppearanceOptions(TypedDict):
    """Appearance of the app."""

    theme: str | None
    ascii_only: bool
