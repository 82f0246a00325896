"""The command line. Only click is imported here: everything else is imported by the command that needs it."""

import errno
import gc
import io
import os
import signal
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from benchtui.tui.cli.engine import go_on, pause, resumed_engine, stop
from benchtui.tui.cli.export import export
from benchtui.tui.cli.optimal import Choice, import_results, objective_option, optimal, wanted_sweep
from benchtui.tui.cli.options import (
    Judged,
    Look,
    Resume,
    anyway_option,
    ascii_option,
    baseline_option,
    complete_session,
    complete_sweep,
    judging,
    plain_option,
    resume_option,
    retry_option,
    same_within_option,
    session_option,
    set_option,
    speed_option,
    sweep_argument,
    theme_option,
)
from benchtui.tui.cli.options import printable as _plain
from benchtui.tui.cli.sessions import compare, sessions
from benchtui.tui.cli.setup import doctor, keys, list_themes
from benchtui.tui.cli.slurm import slurm

if TYPE_CHECKING:
    from benchtui.engine.client import Engine
    from benchtui.sessions.state.judging import Judging
    from benchtui.sessions.state.session import Session
    from benchtui.sessions.sweep import Sweep
    from benchtui.tui.replay.player import Start

USAGE, CASE_FAILED, INTERRUPTED = 2, 1, 130


class _Asked(Choice, Resume):
    """What else than a sweep can be run."""


class _Commands(click.Group):
    """The commands; a first word that is none of them names a sweep to open the app on."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands:
            return "open", self.commands["open"], args
        return super().resolve_command(ctx, args)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[SWEEP] | COMMAND [ARGS]...")


def main() -> None:
    """Run the command line and end the process; every error a user can mend is one line and an exit status."""
    from benchtui.sessions.errors import BenchtuiError  # here, as everything of ours: --help is to be quick

    _open_closed_streams()
    try:
        try:
            sys.exit(app(standalone_mode=False))
        finally:
            sys.stdout.flush()
    except BenchtuiError as error:
        _fail(str(error), USAGE)
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read us has gone; there is nobody to tell
        sys.exit(CASE_FAILED)
    except OSError as error:
        _fail(_refused(error), USAGE)


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="benchtui", prog_name="benchtui")
@theme_option
@ascii_option
@click.pass_context
def app(context: click.Context, theme: str | None, ascii_only: bool) -> None:
    """Which configuration to run a transformer model in, on this machine, and how you know.

    `benchtui SWEEP` runs a sweep, a TOML file or the name of a preset, and shows it live; without SWEEP
    you edit one and start it.
    """
    looks = {"theme": theme, "ascii_only": ascii_only}
    context.default_map = dict.fromkeys(("open", "attach"), looks)
    if context.invoked_subcommand is None:
        context.invoke(open_app, sweep=None, overrides=(), session_path=None, **looks)


@app.command("open", hidden=True)
@sweep_argument
@set_option
@session_option
@theme_option
@ascii_option
def open_app(
    sweep: str | None,
    overrides: tuple[str, ...],
    session_path: Path | None,
    theme: str | None,
    ascii_only: bool,
) -> None:
    """Run a sweep and show it live."""
    from benchtui.sessions.sweep.toml_reader import load_sweep  # after the command is known

    loaded = load_sweep(sweep, overrides) if sweep else None
    _require_terminal()
    engine = _start(loaded, session_path) if loaded else None
    _show(engine, engine.path if engine else None, theme=theme, ascii_only=ascii_only)


@app.command()
@click.argument("sweep", required=False, shell_complete=complete_sweep)
@set_option
@session_option
@click.option("--optimal-from", "chosen", metavar="SESSION", help="Run the best case of a session instead.")
@objective_option
@resume_option
@retry_option
@anyway_option
@click.option("--json", "as_json", is_flag=True, help="Print each case's result as a line of JSON.")
def run(
    sweep: str | None,
    overrides: tuple[str, ...],
    session_path: Path | None,
    as_json: bool,
    **asked: Unpack[_Asked],
) -> None:
    """Run a sweep without the app, or go on with one that was stopped or cut off.

    Progress goes to standard error. Exit status: 0 all cases measured (out of memory is a result), 1 some
    case failed, 2 wrong usage or input, 130 interrupted.
    """
    from benchtui.sessions.events import CaseFinished  # after the command is known
    from benchtui.sessions.state.session import Session
    from benchtui.tui.cli.text import progress

    early: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: early.append(number))
    engine = _begin(sweep, overrides, session_path, asked)
    if engine is None:
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: _stop(engine))
    if early:  # it was still coming up
        _stop(engine)
    session = Session(keep_steps=False)
    for event in progress.follow(engine, session):
        if line := progress.progress_line(session, event):
            click.echo(_plain(line), err=True)
        if as_json and isinstance(event, CaseFinished):
            click.echo(progress.result_json(session.cases[event.case], session))
    click.echo(_plain(progress.summary_line(session, engine.path, engine)), err=True)
    sys.exit(_status(session))


@app.command()
@sweep_argument
@set_option
def plan(sweep: str, overrides: tuple[str, ...]) -> None:
    """Say what a sweep would measure, before it is started.

    Every case with its time in seconds and its peak memory, learned from earlier sessions of this machine;
    those marked with ? are guesses.
    """
    import platform  # after the command is known

    from benchtui.sessions.estimates import history
    from benchtui.sessions.library import paths
    from benchtui.sessions.sweep.toml_reader import load_sweep
    from benchtui.tui.cli.text.plan import plan_lines

    loaded = load_sweep(sweep, overrides)
    for line in plan_lines(loaded, history.gather(paths.entries(), loaded, platform.node())):
        click.echo(_plain(line))


@app.command()
@click.argument("session", required=False, shell_complete=complete_session)
@plain_option
@theme_option
@ascii_option
@baseline_option
@same_within_option
def attach(
    session: str | None,
    as_lines: bool,
    theme: str | None,
    ascii_only: bool,
    **judged: Unpack[Judged],
) -> None:
    """Watch a running sweep.

    SESSION is a path or a name of the library; without it the newest that runs.
    """
    from benchtui.engine import client  # after the command is known
    from benchtui.sessions.library import paths

    _check_plain(as_lines, judged)
    if not as_lines:
        _require_terminal()
    path = paths.resolve(session) if session else None
    engine = client.find(path) if path else next(iter(client.running()), None)
    path = path or (engine.path if engine else None)
    if path is None:
        _fail(
            "no sweep is running; `benchtui SWEEP` starts one, `benchtui sessions` lists the recorded ones",
            USAGE,
        )
    elif as_lines:
        sys.exit(_status(_print(path, engine)))
    else:
        _show(engine, path, judging=judging(judged), theme=theme, ascii_only=ascii_only)


@app.command()
@click.argument("session", shell_complete=complete_session)
@speed_option
@click.option("--from", "moment", metavar="MOMENT", help="Where to begin: 90, 1:30, 50% or 'case 3'.")
@plain_option
@theme_option
@ascii_option
@baseline_option
@same_within_option
def replay(
    session: str,
    speed: float | None,
    moment: str | None,
    as_lines: bool,
    theme: str | None,
    ascii_only: bool,
    **judged: Unpack[Judged],
) -> None:
    """Play a recorded session again.

    SESSION is a path, a name of the library, `latest` or `demo`. With --plain its events are printed, all at
    once or, with --speed, as they came.
    """
    from benchtui.engine import client  # after the command is known
    from benchtui.sessions.library import paths
    from benchtui.tui.replay.player import Aim, Start

    _check_plain(as_lines, judged)
    path = paths.resolve(session)
    engine = client.find(path)
    if as_lines:
        _print(path, engine, speed, moment)
        return
    start = Start(speed or 1.0, Aim.parse(moment) if moment else None)
    _require_terminal()
    _show(engine, path, start, judging(judged), theme=theme, ascii_only=ascii_only)


@app.command()
@speed_option
@theme_option
@ascii_option
def demo(speed: float | None, **look: Unpack[Look]) -> None:
    """Play a session that was recorded for a first look, as if it ran now.

    Needs neither a GPU nor a model.
    """
    from benchtui.sessions.library import paths  # after the command is known
    from benchtui.tui.replay.player import Start

    _require_terminal()
    _show(None, paths.demo_path(), Start(speed or 1.0), **look)


@app.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    For bash: eval "$(benchtui completion bash)"
    """
    from click.shell_completion import get_completion_class  # this command alone needs it

    script = get_completion_class(shell)
    if script is not None:
        click.echo(script(app, {}, "benchtui", "_BENCHTUI_COMPLETE").source())


for _command in (
    export,
    compare,
    sessions,
    optimal,
    import_results,
    slurm,
    stop,
    pause,
    go_on,
    doctor,
    list_themes,
    keys,
):
    app.add_command(_command)


def _begin(
    sweep: str | None, overrides: tuple[str, ...], session_path: Path | None, asked: _Asked
) -> "Engine | None":
    """Start an engine on what is asked for; None where a session is to be resumed that has nothing left."""
    if asked["resumed"] is None:
        if asked["retry_failed"] or asked["anyway"]:
            raise click.UsageError("--retry-failed and --anyway need --resume SESSION")
        loaded = wanted_sweep(sweep, overrides, chosen=asked["chosen"], need=asked["need"])
        return _start(loaded, session_path)
    if sweep or overrides or session_path or asked["chosen"]:
        raise click.UsageError(
            "--resume goes on with a session's own sweep in its own file; SWEEP, --set, -o and --optimal-from"
            " can't stand beside it"
        )
    return resumed_engine(asked["resumed"], asked["retry_failed"], asked["anyway"])


def _start(sweep: "Sweep", session_path: Path | None) -> "Engine":
    from benchtui.engine import client  # after the command is known
    from benchtui.sessions.library import paths

    path = session_path or paths.new_path(sweep.name, datetime.now().astimezone())
    return client.start(sweep, path)


def _stop(engine: "Engine") -> None:
    """Ask for the end of the sweep; the record then says that it was stopped."""
    from benchtui.sessions.errors import BenchtuiError  # after the command is known

    with suppress(BenchtuiError):  # an engine that is gone has stopped already
        engine.stop()


def _status(session: "Session") -> int:
    """The exit status of a sweep: a recorded out-of-memory or a skipped case is a result, and no failure."""
    states = {case.state for case in session.cases}
    if session.finished and session.finished.outcome == "interrupted":
        return INTERRUPTED
    measured = session.finished and "ok" in states and states <= {"ok", "oom", "skipped"}
    return 0 if measured else CASE_FAILED


def _show(
    engine: "Engine | None",
    path: Path | None,
    start: "Start | None" = None,
    judging: "Judging | None" = None,
    **look: Unpack[Look],
) -> None:
    gc.disable()  # until the first picture stands: there is nothing to collect in what is being loaded
    from benchtui.tui.app import run_app  # Textual is imported only when something is shown

    ascii_only = look["ascii_only"] or "utf" not in (sys.stdout.encoding or "").lower()
    ending = run_app(
        engine=engine,
        session_path=path,
        start=start,
        theme=look["theme"],
        ascii_only=ascii_only,
        judging=judging,
    )
    if ending.path is None:
        return
    click.echo(_plain(_FAREWELLS[ending.how].format(path=ending.path)), err=True)
    if ending.how in ("finished", "stopped"):
        from benchtui.sessions.state.session import Session  # the outcome is asked for only here

        sys.exit(_status(Session.load(ending.path)))
    sys.exit(CASE_FAILED if ending.how == "cut off" else 0)


_FAREWELLS = {
    "detached": "the sweep goes on: benchtui attach {path}",
    "stopped": "stopped; what was measured: benchtui export {path}; to go on: benchtui run --resume {path}",
    "finished": "the report: benchtui export {path}",
    "cut off": "the engine is gone and the record was cut off; what was measured: benchtui export {path}; "
    "to go on: benchtui run --resume {path}",
    "closed": "session {path}",
    "lost": "the terminal is gone; session {path}",
}


def _print(
    path: Path, engine: "Engine | None", speed: float | None = None, moment: str | None = None
) -> "Session":
    """Print a session as lines, and give what it came to."""
    from benchtui.sessions.errors import BenchtuiError  # after the command is known
    from benchtui.sessions.state.session import Session
    from benchtui.tui.cli.text import progress

    session = Session(keep_steps=False)
    for line in progress.lines(path, engine, session, progress.when(path, moment), speed):
        click.echo(_plain(line))
    if session.started is None:
        raise BenchtuiError(f"{path}: not a session file; it should begin with a session_started event")
    click.echo(_plain(progress.summary_line(session, path, engine)))
    return session


def _check_plain(as_lines: bool, judged: Judged) -> None:
    """Refuse what changes ratios where none are printed."""
    if as_lines and any(judged.values()):
        raise click.UsageError("--plain prints no ratios: --baseline and --same-within have no effect there")


def _require_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        _fail("the app needs a terminal; without one use `benchtui run SWEEP`", USAGE)
    if os.environ.get("TERM", "dumb") == "dumb":
        _fail("the app needs a terminal that can move its cursor, and TERM is dumb; use `benchtui run`", USAGE)


def _open_closed_streams() -> None:
    """Put streams in the place of closed ones, so that no file that is opened later takes their numbers.

    Standard output refuses all text, as it does on a full disk. Standard input has none, and nobody reads what
    goes to standard error.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            if nothing != number:
                os.dup2(nothing, number)
                os.close(nothing)
            lasting = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115  (as long as the process)
            setattr(sys, name, lasting)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a Latin-1 terminal has no "≈", and the rest is worth reading


def _refused(error: OSError) -> str:
    """What the system refused. An error without a file is one of standard output, which is given up then."""
    if error.filename:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left of it is written once more as the process ends
    if error.errno == errno.EBADF:
        return "standard output is closed"
    return f"standard output can't be written: {error.strerror}"


def _fail(text: str, status: int) -> None:
    with suppress(OSError):  # standard error may be on a full disk too
        click.echo(f"benchtui: {_plain(text)}", err=True)
    sys.exit(status)
