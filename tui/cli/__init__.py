"""Root command: subcommands imported on demand, and exit handling for errors."""

import errno
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import click

from benchtui.sessions.version import VERSION
from benchtui.tui.cli.exit_status import FAILED, INTERRUPTED, USAGE, fail
from benchtui.tui.cli.options import appearance_options, complete_model, complete_sweep, printable
from benchtui.tui.cli.text import streams

COMMANDS = {
    "anonymize": ("export", "anonymize", "Write a copy of a session without what tells where it was measured."),
    "attach": ("watch", "attach", "Watch a running sweep."),
    "cache": ("setup", "cache", "List or remove the models that were converted for other runtimes."),
    "compare": ("compare", "compare", "Compare sessions case by case."),
    "completion": ("setup", "completion", "Print a shell completion script, or install it."),
    "continue": ("engine", "unpause", "Continue a paused sweep."),
    "demo": ("watch", "demo", "Replay a bundled demo session."),
    "doctor": ("setup", "doctor", "Check what this machine can measure."),
    "explain": (
        "explain.command",
        "explain",
        "Profile measured cases again, and say where the time of their steps goes.",
    ),
    "export": (
        "export",
        "export",
        "Export the report, results, steps or a trace of a session, or a comparison of several.",
    ),
    "find": (
        "advice.find",
        "find",
        "Find the best configuration of a model on this machine within a time limit.",
    ),
    "import": ("import_results", "import_results", "Convert the results of another tool to a session."),
    "init-step": ("setup", "init_step", "Write a training step of your own to start from."),
    "keys": ("setup", "keys", "List all key bindings, with the action IDs to remap them in config.toml."),
    "next": (
        "advice.next",
        "decide_next",
        "Say what would decide the open questions of a session, and write it as a sweep.",
    ),
    "optimal": (
        "advice.optimal",
        "optimal",
        "Recommend which of the measured cases to run, and how certain that is.",
    ),
    "pause": ("engine", "pause", "Pause a running sweep once its current cases have finished."),
    "plan": ("run", "plan", "Show what a sweep would measure, without starting it."),
    "replay": ("watch", "replay", "Replay a recorded session."),
    "reproduce": ("run", "reproduce", "Run a session again until it is clear whether its results hold."),
    "run": ("run", "run", "Run a sweep without the app, or resume one that was stopped or crashed."),
    "schema": (
        "schema.command",
        "schema",
        "Print the JSON Schema of a command's --json, or of a file; or check a file against it.",
    ),
    "sessions": (
        "sessions",
        "sessions",
        "List recorded and running sessions; rename, annotate, delete or add one.",
    ),
    "slurm": ("slurm", "slurm", "Print or submit a Slurm batch script that runs a sweep."),
    "stop": ("engine", "stop", "Stop a running sweep."),
    "themes": ("setup", "list_themes", "List the color themes of the app and their sources."),
}
"""Module, attribute and summary of each command.

The summary is the first sentence of the command's own help. Repeating it here avoids importing every command.
"""


class LazyGroup(click.Group):
    """Click group that imports commands on use. An unknown first word is a sweep or session to open."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands except the hidden one."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None if the name is unknown."""
        if cmd_name not in COMMANDS and cmd_name != "open":
            return None
        module, name, _ = COMMANDS.get(cmd_name, ("watch", "open_app", ""))
        if module == "watch":
            _import_asyncio()
        command = getattr(import_module(f"benchtui.tui.cli.{module}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command named by the first word, or else the hidden one that opens a sweep."""
        if args[0] in COMMANDS:
            return super().resolve_command(ctx, args)
        words = args[1:] if args[0] == "open" else args
        if words[1:] and os.sep not in words[0] and not os.path.lexists(words[0]):
            from benchtui.sessions.sweep.toml_reader import preset_names  # imported on use, like any command
            from benchtui.tui.cli.watch import recorded_session, unknown_word

            if words[0] not in preset_names() and recorded_session(words[0]) is None:
                raise click.UsageError(unknown_word(words[0]))
        return "open", self.get_command(ctx, "open"), words

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usage line."""
        formatter.write_usage(ctx.command_path, "[SWEEP | SESSION | MODEL] | COMMAND [ARGS]...")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any."""
        limit = formatter.width - 6 - max(map(len, COMMANDS))
        rows = [(name, _short(name, limit)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Return completions of the first word."""
        from click.shell_completion import CompletionItem  # takes memory, and only shells ask

        commands = [CompletionItem(name, help=_short(name)) for name in COMMANDS if name.startswith(incomplete)]
        return [
            *commands,
            *complete_model(ctx, self.params[0], incomplete)[:-1],  # whose folders are files, too
            *complete_sweep(ctx, self.params[0], incomplete),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]


def _import_asyncio() -> None:
    """Import asyncio without TLS, which no screen uses: OpenSSL is 5 MB, a tenth of a screen's memory."""
    if "asyncio" not in sys.modules and "ssl" not in sys.modules:
        sys.modules["ssl"] = None  # type: ignore[assignment]  # how Python marks a missing module
        import asyncio  # noqa: F401  (for the modules that follow)

        del sys.modules["ssl"]


def _short(name: str, limit: int = 45) -> str:
    return click.Command(name, help=COMMANDS[name][2]).get_short_help_str(limit)


def main() -> None:
    """Run the command line and exit. User errors are printed as one line and set the exit status."""
    from benchtui.sessions.errors import BenchtuiError, os_error_text  # imported late to keep --help fast

    streams.guard()
    try:
        try:
            sys.exit(app(prog_name="benchtui", standalone_mode=False))
        finally:
            sys.stdout.flush()
    except BenchtuiError as error:
        fail(str(error), USAGE)
    except click.ClickException as error:
        click.echo(usage_error_text(error), nl=False, err=True)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except streams.StandardOutputError as error:
        if error.errno == errno.EPIPE:  # the reader closed the pipe, so nobody needs more
            sys.exit(FAILED)
        fail(streams.output_error_text(error), USAGE)
    except OSError as error:
        where = os.fsdecode(error.filename) if error.filename else "the system refused a request"
        fail(f"{where}: {os_error_text(error)}", USAGE)
    except (MemoryError, ImportError, SystemError) as error:
        if not _is_out_of_memory(error):
            raise
        _exit_out_of_memory(error)


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error, or one that led to it, is about memory."""
    if error is None or isinstance(error, MemoryError):
        return error is not None
    return any(sign in str(error).lower() for sign in _MEMORY_SIGNS) or _is_out_of_memory(error.__context__)


_MEMORY_SIGNS = (
    "failed to map segment",
    "cannot allocate memory",
    "without exception set",
    "without setting an",
)
"""Parts of the messages of the dynamic linker and of Python when memory runs out while a module is loaded."""


def _exit_out_of_memory(error: BaseException) -> NoReturn:
    """Report that memory ran out, and exit at once: half-loaded libraries may crash at a usual exit."""
    error.__traceback__ = error.__context__ = None  # their frames hold what filled the memory
    with suppress(SystemExit):
        fail("out of memory; close other programs, or raise the limit (ulimit -v)", USAGE)
    os._exit(USAGE)


_OPTION_HABITS = (
    ("dry-run", None, "Write benchtui plan, which starts nothing."),
    ("out output-file output-dir save", "-o", "Write -o FILE."),
    ("csv html md markdown pdf parquet f to", "--format", "Write --format."),
    ("metric sort sort-by by target", "--objective", "Write --objective."),
)
"""Options that no command has, by name; the option that a command needs for the hint; and the hint."""


def _option_hint(name: str, context: click.Context | None) -> str:
    """Return what to write instead of an option that the command lacks; empty if unknown."""
    options = {word for parameter in context.command.params for word in parameter.opts} if context else set()
    bare = name.lstrip("-")
    for habits, option, hint in _OPTION_HABITS:
        if bare in habits.split() and option in {None, *options}:
            return hint
    if "--set" not in options:
        return ""
    from benchtui.sessions.sweep.library_names import entry_named  # imported on use, like any command
    from benchtui.sessions.sweep.toml_reader import entries

    names = [entry.rpartition(".")[2] for entry in entries()]
    entry = entry_named(bare, names)
    return f"Write --set {entry}=VALUE." if entry in names else ""


def usage_error_text(error: click.ClickException) -> str:
    """Return what click prints for an error, with its message in one printable line."""
    context = getattr(error, "ctx", None)
    hint = _option_hint(error.option_name, context) if isinstance(error, click.NoSuchOption) else ""
    text = f"{error.message} {hint}" if hint else error.format_message()
    message = printable(text.partition(" Choose from:")[0])  # which the usage lists as well
    usage = f"{context.get_usage()}\nTry '{context.command_path} --help' for help.\n\n" if context else ""
    return f"{usage}Error: {message}\n"


@click.group(
    cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(VERSION, prog_name="benchtui")
@appearance_options
@click.pass_context
def app(context: click.Context, theme: str | None, ascii_only: bool) -> None:
    """Find the fastest way to run a transformer model on this machine, with error bars.

    `benchtui SWEEP` runs a sweep (a TOML or YAML file, or the name of a preset) and shows it live.
    `benchtui SESSION` opens a recorded session: a file, a name in the library, or `latest`. `benchtui MODEL`
    shows a model, a folder or a hub id, ready to be measured. Without any of them, the app shows this machine
    and its models.
    """
    appearance = {"theme": theme, "ascii_only": ascii_only}
    context.default_map = dict.fromkeys(("open", *COMMANDS), appearance)
    if context.invoked_subcommand is None:
        from benchtui.tui.cli.watch import open_app  # imported on use, like any other command

        context.invoke(open_app, sweep=None, overrides=(), session_path=None, trust=False, **appearance)
