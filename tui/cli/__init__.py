"""Root command: subcommands imported on demand, and exit handling for errors."""

import errno
import io
import os
import sys
from contextlib import suppress
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from benchtui.sessions.version import VERSION
from benchtui.tui.cli.commands import COMMANDS
from benchtui.tui.cli.exit_status import FAILED, INTERRUPTED, USAGE, fail
from benchtui.tui.cli.options import ascii_option, complete_sweep, theme_option


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
        if {"-h", "--help"} & set(words[1:]) and not os.path.lexists(words[0]):
            from benchtui.sessions.sweep.toml_reader import preset_names  # imported on use, like any command
            from benchtui.tui.cli.watch import recorded_session, unknown_word

            if words[0] not in preset_names() and recorded_session(words[0]) is None:
                raise click.UsageError(unknown_word(words[0]))
        return "open", self.get_command(ctx, "open"), words

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the usage line."""
        formatter.write_usage(ctx.command_path, "[SWEEP | SESSION] | COMMAND [ARGS]...")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any."""
        limit = formatter.width - 6 - max(map(len, COMMANDS))
        rows = [(name, _short(name, limit)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return completions of the first word."""
        commands = [CompletionItem(name, help=_short(name)) for name in COMMANDS if name.startswith(incomplete)]
        return [
            *commands,
            *complete_sweep(ctx, self.params[0], incomplete),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]


def _short(name: str, limit: int = 45) -> str:
    return click.Command(name, help=COMMANDS[name][2]).get_short_help_str(limit)


def main() -> None:
    """Run the command line and exit. User errors are printed as one line and set the exit status."""
    from benchtui.sessions.errors import BenchtuiError  # imported late to keep --help fast

    _open_closed_streams()
    try:
        try:
            sys.exit(app(standalone_mode=False))
        finally:
            sys.stdout.flush()
    except BenchtuiError as error:
        fail(str(error), USAGE)
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # the read end of the pipe is closed, so there is nobody to report to
        sys.exit(FAILED)
    except OSError as error:
        fail(_os_error_text(error), USAGE)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(VERSION, prog_name="benchtui")
@theme_option
@ascii_option
@click.pass_context
def app(context: click.Context, theme: str | None, ascii_only: bool) -> None:
    """Find the fastest way to run a transformer model on this machine, with error bars.

    `benchtui SWEEP` runs a sweep (a TOML or YAML file, or the name of a preset) and shows it live.
    `benchtui SESSION` opens a recorded session: a file, a name in the library, or `latest`. Without either, the
    app opens the sweep editor.
    """
    appearance = {"theme": theme, "ascii_only": ascii_only}
    context.default_map = dict.fromkeys(("open", "attach"), appearance)
    if context.invoked_subcommand is None:
        from benchtui.tui.cli.watch import open_app  # imported on use, like any other command

        context.invoke(open_app, sweep=None, overrides=(), session_path=None, **appearance)


def _open_closed_streams() -> None:
    """Replace closed standard streams, so that files opened later don't get their descriptors.

    Reading standard input returns nothing, writing to standard output fails as on a full disk, and standard
    error is discarded.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115  (open until the process exits)
            setattr(sys, name, stream)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a Latin-1 terminal has no "≈"; print the rest anyway


def _os_error_text(error: OSError) -> str:
    """Describe an OS error. One without a file is from stdout, which is then redirected to /dev/null."""
    if error.filename:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # buffered output is flushed once more at exit
    if error.errno == errno.EBADF:
        return "standard output is closed"
    return f"can't write to standard output: {error.strerror}"
