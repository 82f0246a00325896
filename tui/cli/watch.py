"""``benchtui SWEEP``, ``attach``, ``replay`` and ``demo``: show a sweep or a recorded session in the app."""

import gc
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NoReturn, Unpack

import click
import msgspec
from msgspec.structs import replace

from benchtui.engine import client
from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files.output_file import append_private
from benchtui.sessions.journal.reader import not_a_session
from benchtui.sessions.library import file_kinds, paths
from benchtui.sessions.sanitize import LONGEST_MESSAGE, shell_word, visible
from benchtui.sessions.state.judging import SWEEP_DEFAULTS, VerdictSettings
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.sweep import Sweep
from benchtui.sessions.sweep.plan import lacking_devices
from benchtui.sessions.sweep.ranges import nearest
from benchtui.tui.cli import COMMANDS
from benchtui.tui.cli.consent import trust_option, typed_consent, waits_for_others, with_consent
from benchtui.tui.cli.exit_status import APP_FAILED, FAILED, USAGE, exit_status_of, fail
from benchtui.tui.cli.options import (
    AppearanceOptions,
    JudgingOptions,
    appearance_options,
    complete_session,
    echo,
    json_option,
    judging_options,
    session_option,
    set_option,
    speed_option,
    sweep_argument,
    together,
    verdict_settings,
)
from benchtui.tui.cli.text.output import print_json
from benchtui.tui.replay.player import ReplayTarget, Start

EXIT_MESSAGES = {
    "detached": "the sweep is still running; attach: benchtui attach {path}",
    "stopped": "stopped; export the results: benchtui export {path}; resume: benchtui run --resume {path}",
    "finished": "finished; export the report: benchtui export {path}",
    "crashed": "the engine crashed, and the session is incomplete; export the results: benchtui export {path}; "
    "resume: benchtui run --resume {path}",
    "closed": "session {path}",
    "lost": "the terminal was closed; session {path}",
}
"""Message printed when the app exits, by exit reason."""
CRASH_LOG = "app-failures.log"
"""File beside the library with the tracebacks of an app that failed."""

SWEEP_SUFFIXES = (".toml", ".yaml", ".yml", ".json")
"""Endings of files that aren't hub ids."""

_watching_options = together(
    click.option(
        "--plain", "as_lines", is_flag=True, help="Print lines instead of opening the app; needs no terminal."
    ),
    appearance_options,
    judging_options,
    json_option("Print each event as a line of JSON instead of opening the app; needs no terminal."),
)


class WatchingOptions(AppearanceOptions, JudgingOptions):
    """Whether to open the app on a session, and how."""

    as_lines: bool
    as_json: bool


def start_engine(
    sweep: "Sweep",
    session_path: Path | None,
    overrides: Sequence[str] = (),
    *,
    trust: bool = False,
    wait: bool = False,
) -> "Engine":
    """Start an engine on a sweep, writing to this file or to a new one in the library.

    Ask first if another sweep is running, unless this one is to ``wait``, and if it runs or sets what the user
    has neither allowed nor typed in ``overrides``.
    """
    from benchtui.sessions.estimates import sweep_models  # no recorded session needs it

    sweep_models.require_models(sweep)
    sweep_models.require_hub(sweep)
    wait = waits_for_others(wait)
    path = session_path or paths.new_path(sweep.name, datetime.now().astimezone())
    return with_consent(
        lambda consent: client.start(sweep, path, consent, numbered=session_path is None, wait=wait),
        trust,
        typed_consent(overrides),
    )


def show(
    engine: "Engine | None",
    path: Path | None,
    start: "Start | None" = None,
    judging: "VerdictSettings | None" = None,
    model: str = "",
    **appearance: Unpack[AppearanceOptions],
) -> None:
    """Show a session in the app, or a model on Home, then exit with the sweep's exit status."""
    gc.disable()  # until the first frame: the objects being loaded contain no garbage
    from benchtui.tui.app import BenchtuiApp, run_app  # import Textual only if something is shown
    from benchtui.tui.shell.context import AppContext

    appearance["ascii_only"] |= "utf" not in (sys.stdout.encoding or "").lower()
    context = AppContext.here(judging or SWEEP_DEFAULTS)
    app = BenchtuiApp(context, path, engine, start=start, model=model, **appearance)
    exit_reason = run_app(app, path)
    if exit_reason.error is not None:
        _fail_app(exit_reason.error, exit_reason.path)
    if exit_reason.path is None:
        return
    message = EXIT_MESSAGES[exit_reason.how].format(path=shell_word(str(exit_reason.path)))
    echo(message, err=True)
    if exit_reason.how in ("finished", "stopped"):
        sys.exit(exit_status_of(exit_reason.session or Session.load(exit_reason.path)))
    sys.exit(FAILED if exit_reason.how == "crashed" else 0)


def _fail_app(error: BaseException, path: Path | None) -> NoReturn:
    """Save the traceback of an app that failed, and say what becomes of the sweep."""
    try:
        log = paths.folder().parent / CRASH_LOG
        append_private(log, "".join(traceback.format_exception(error)).encode("utf-8", "backslashreplace"))
        details = f"details: {log}"
    except BenchtuiError as unwritable:
        details = str(unwritable)
    engine = None
    with suppress(BenchtuiError):
        engine = client.find(path) if path else next(iter(client.running()), None)
    sweep = "no sweep is running"
    if engine is not None:
        sweep = f"the sweep is still running; attach: benchtui attach {shell_word(str(engine.path))}"
    what = visible(f"{type(error).__name__}: {error}", LONGEST_MESSAGE)
    fail(f"the app failed: {what}; {sweep}; {details}", APP_FAILED)


def print_session(
    path: Path,
    engine: "Engine | None",
    speed: float | None = None,
    position: str | None = None,
    *,
    as_json: bool = False,
) -> "Session":
    """Print a session's events, in words or as recorded, and return the session."""
    from benchtui.tui.cli.schema.records import EventLine  # imports what only documents need
    from benchtui.tui.cli.text import conclusion, progress  # which no screen needs

    session, begin_s = Session(metrics), progress.session_time_of(path, position)
    if as_json:
        every = EventLine()
        for event in progress.events(path, engine, session, begin_s, speed):
            print_json(msgspec.to_builtins(every) | msgspec.to_builtins(event) | {"schema": every.schema})
    else:
        for line in progress.lines(path, engine, session, begin_s, speed):
            echo(line)
    if session.started is None:
        raise not_a_session(path)
    echo(progress.summary_line(session, path, engine), err=as_json)
    if not as_json:
        echo(*conclusion.lines(session, conclusion.conclusions_of(session), path))
    return session


def in_app(options: WatchingOptions) -> bool:
    """Return whether to open the app rather than to print lines, which have no ratios to judge."""
    if not (options["as_lines"] or options["as_json"]):
        return True
    if options["baseline"] or options["same_within"]:
        raise click.UsageError(
            "--baseline and --same-within can't be combined with --plain, which prints no ratios"
        )
    return False


def watch(path: Path, engine: Engine | None, options: WatchingOptions, start: Start | None = None) -> None:
    """Show a session in the app."""
    require_terminal()
    judging = verdict_settings(options)
    show(engine, path, start, judging, theme=options["theme"], ascii_only=options["ascii_only"])


def require_terminal() -> None:
    """Exit with an error if the app can't draw on this terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        fail("the app needs a terminal; without one, use `benchtui run SWEEP` or `attach --plain`", USAGE)
    if os.environ.get("TERM", "dumb") == "dumb":
        fail(
            "the app needs a terminal that can move its cursor, but TERM is dumb; use `benchtui run SWEEP`"
            " or `attach --plain`",
            USAGE,
        )


@click.command()
@click.argument("session", required=False, shell_complete=complete_session)
@_watching_options
def attach(session: str | None, **options: Unpack[WatchingOptions]) -> None:
    """Watch a running sweep.

    SESSION is a path or a library name; by default the newest running session.
    """
    opens_app = in_app(options)
    if opens_app:
        require_terminal()
    path = session_to_watch(session) if session else None
    engine = client.find(path) if path else next(iter(client.running()), None)
    path = path or (engine.path if engine else None)
    if path is None:
        fail(
            "no sweep is running; start one with `benchtui SWEEP`, or list the recorded ones with"
            " `benchtui sessions`",
            USAGE,
        )
    elif opens_app:
        watch(path, engine, options)
    else:
        sys.exit(exit_status_of(print_session(path, engine, as_json=options["as_json"])))


def session_to_watch(session: str) -> Path:
    """Resolve a session as ``paths.resolve`` does; a beginning stands for the running session that has it."""
    try:
        return paths.resolve(session, whole=True)
    except BenchtuiError:
        running = [engine.path for engine in client.running() if engine.path.stem.startswith(session)]
        return running[0] if len(running) == 1 else paths.resolve(session)


@click.command()
@click.argument("session", shell_complete=complete_session)
@speed_option
@click.option("--from", "position", metavar="POSITION", help="Position to start at: 90, 1:30, 50% or 'case 3'.")
@_watching_options
def replay(session: str, speed: float | None, position: str | None, **options: Unpack[WatchingOptions]) -> None:
    """Replay a recorded session.

    SESSION is a path, a library name, `latest`, `demo`, `demo-gpu` or `demo-cpu`. With --plain, its events are
    printed: all at once, or at their original pace with --speed.
    """
    opens_app, path = in_app(options), paths.resolve(session)
    engine = client.find(path)
    if opens_app:
        watch(path, engine, options, Start(speed or 1.0, ReplayTarget.parse(position) if position else None))
    else:
        print_session(path, engine, speed, position, as_json=options["as_json"])


@click.command()
@click.option(
    "--gpu", "name", flag_value=paths.GPU_DEMO, help="Replay a sweep that was measured on an H100 instead."
)
@click.option(
    "--cpu", "name", flag_value=paths.CPU_DEMO, help="Replay a sweep that was measured on a CPU instead."
)
@click.option("--end", "at_end", is_flag=True, help="Open it at its end, with what it says.")
@speed_option
@appearance_options
def demo(name: str | None, at_end: bool, speed: float | None, **appearance: Unpack[AppearanceOptions]) -> None:
    """Replay a bundled demo session.

    Without an option it is a simulated sweep on a server with four GPUs: a model computed it, and every screen
    and export of it says SIMULATED. Needs neither a GPU nor a model.
    """
    require_terminal()
    path = paths.demo_path(name or paths.DEMO)
    show(None, path, Start(speed or 1.0, ReplayTarget(percent=100) if at_end else None), **appearance)


def load_named(sweep: str, overrides: tuple[str, ...]) -> Sweep:
    """Load a sweep, or build that of a model. Raises BenchtuiError that says what the word may be instead."""
    from benchtui.sessions.sweep.toml_reader import load_sweep, preset_names  # no recorded session needs these
    from benchtui.tui.home.sweeps import own_sweep

    if model := named_model(sweep):
        return own_sweep(model, client.device_support(None).device, overrides)
    try:
        loaded = load_sweep(sweep, overrides)
        return _on_devices_here(loaded, overrides) if sweep in preset_names() else loaded
    except BenchtuiError:
        if tool := file_kinds.tool_of(Path(sweep)):
            hint = f"convert them to a session: benchtui import {shell_word(sweep)}"
            raise BenchtuiError(f"{sweep}: results of {tool}; {hint}") from None
        if Path(sweep).suffix == ".json" and os.path.lexists(sweep):
            reason = "neither a session nor results of a tool that benchtui imports"
            raise BenchtuiError(f"{sweep}: {reason}; sweeps are TOML or YAML") from None
        if os.path.lexists(sweep) or sweep in preset_names():
            raise
        if os.sep in sweep and Path(sweep).suffix not in SWEEP_SUFFIXES:
            raise BenchtuiError(f"{sweep}: no such file or folder; {MODELS}") from None
        if os.sep not in sweep:
            raise BenchtuiError(unknown_word(sweep)) from None
        raise


def _on_devices_here(preset: Sweep, overrides: tuple[str, ...]) -> Sweep:
    """Leave out a preset's devices that this machine lacks, unless it lacks all or the user has named some."""
    if any(override.partition("=")[0].strip() in ("device", "axes.device") for override in overrides):
        return preset
    lacking = lacking_devices(preset, client.find_cuda().missing_reason)
    here = tuple(device for device in preset.axes.device if device not in lacking)
    return replace(preset, axes=replace(preset.axes, device=here))


MODELS = "a model is a folder with its config.json, or a hub id such as google-bert/bert-base-uncased"
_HABITS = {
    "--help": "help commands usage man",
    "--version": "version",
    "SESSION": "show view inspect",
    "attach": "logs log tail watch monitor top",
    "compare": "diff",
    "doctor": "info env collect-env check devices gpus",
    "explain": "profile",
    "export": "report save",
    "find": "tune search autotune optimize",
    "import": "load convert",
    "init-step": "init new create",
    "optimal": "best recommend",
    "plan": "validate estimate dry-run",
    "run": "start bench benchmark measure exec",
    "run --resume SESSION": "resume restart retry",
    "sessions": "ls list ps results history",
    "sessions delete": "rm remove delete",
    "sessions rename": "mv rename",
    "slurm": "sbatch submit",
    "stop": "kill cancel abort",
}
"""Commands and options by what people type from habit instead."""
MOST_NAMES = 4
"""Maximum number of sessions that a message names."""


def unknown_word(word: str) -> str:
    """Describe a word that is neither a command, a preset nor a file, and suggest the closest known name."""
    from benchtui.sessions.sweep.toml_reader import preset_names  # no recorded session needs it

    if written := next((command for command, habits in _HABITS.items() if word in habits.split()), None):
        return f"{word}: not a command; write benchtui {written}"
    if word in COMMANDS:
        return f"{word}: a command; write benchtui {word}"
    sessions = [entry.path.stem for entry in paths.entries()]
    if begun := [name for name in sessions if name.startswith(word)]:
        return f"{word}: no whole name of a session; these begin with it: {', '.join(begun[:MOST_NAMES])}"
    hint = nearest(word, [*COMMANDS, *preset_names(), *sessions])
    presets = ", ".join(preset_names())
    listed = f"presets: {presets}; commands: benchtui --help; {MODELS}"
    return f"{word}: no such file, preset or command{hint}; {listed}"


def recorded_session(word: str) -> Path | None:
    """Return the session that a word names: a file, a whole name in the library, or ``latest``, but no preset.

    Raises:
        BenchtuiError: If several sessions have this name, or if there is no latest one.
    """
    if file_kinds.holds_events(Path(word)):
        return Path(word)

    from benchtui.sessions.sweep.toml_reader import preset_names  # no file of events needs it

    if os.path.lexists(word) or os.sep in word or word in preset_names():
        return None
    names = {entry.path.stem for entry in paths.entries()}
    return paths.resolve(word, whole=True) if word in (*names, paths.LATEST) else None


def named_model(word: str) -> str | None:
    """Return the model that a word names: a folder, one of the cache or of benchtui, or a hub id; else None.

    Raises:
        BenchtuiError: If it is a folder without a model.
    """
    from benchtui.sessions.stored_models.hub_cache import stored_folder
    from benchtui.sessions.stored_models.hub_names import is_surely_model
    from benchtui.sessions.stored_models.stored_model import missing_reason
    from benchtui.sessions.sweep.toml_reader import preset_names

    if word in preset_names() or os.path.isfile(word):
        return None
    folder = stored_folder(word, "random")
    if folder is None:
        is_file = Path(word).suffix in SWEEP_SUFFIXES
        hub_id = not is_file and is_surely_model(word) and not missing_reason(word, None)
        return word if hub_id else None
    if reason := missing_reason(word, folder):
        raise BenchtuiError(f"{word}: {reason}")
    return word


@click.command("open", hidden=True)
@sweep_argument
@set_option
@session_option
@trust_option
@appearance_options
def open_app(
    sweep: str | None,
    overrides: tuple[str, ...],
    session_path: Path | None,
    trust: bool,
    **appearance: Unpack[AppearanceOptions],
) -> None:
    """Run a sweep and show it live, open a recorded session, or show a model on Home."""
    path = recorded_session(sweep) if sweep else None
    model = named_model(sweep) if sweep and not path else None
    if path or model:
        if overrides or session_path or trust:
            kind = "recorded session" if path else "model"
            raise click.UsageError(f"{sweep} is a {kind}; --set, -o and --trust need a sweep")
        require_terminal()
        engine = client.find(path) if path else None
        show(engine, path, model=model or "", **appearance)
        return
    loaded = load_named(sweep, overrides) if sweep else None
    require_terminal()
    engine = start_engine(loaded, session_path, overrides, trust=trust) if loaded else None
    show(engine, engine.path if engine else None, **appearance)
