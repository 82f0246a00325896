"""``benchtui run`` and ``benchtui plan``: run a sweep without the app, or list what it would measure."""

import platform
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Unpack

import click

from benchtui.engine import client
from benchtui.engine.client import Engine
from benchtui.sessions.advice.conclusion import conclude
from benchtui.sessions.advice.elimination import find_objective
from benchtui.sessions.compare.joined import join_follow_up, require_joinable
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.estimates import history
from benchtui.sessions.events import CaseFinished, RoundsPlanned
from benchtui.sessions.library import paths
from benchtui.sessions.sanitize import shell_word
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.evidence import summarize
from benchtui.sessions.sweep import Sweep
from benchtui.sessions.sweep.toml_reader import load_sweep
from benchtui.tui.cli.advice.optimal import BestCaseOptions, objective_option, requested_sweep
from benchtui.tui.cli.consent.permissions import trust_option
from benchtui.tui.cli.engine import resumed_engine
from benchtui.tui.cli.exit_status import exit_status_of
from benchtui.tui.cli.options import (
    ResumeOptions,
    anyway_option,
    complete_session,
    complete_sweep,
    json_option,
    printable,
    resume_option,
    retry_option,
    session_option,
    set_option,
    sweep_argument,
)
from benchtui.tui.cli.text import conclusion, progress
from benchtui.tui.cli.text.output import print_json
from benchtui.tui.cli.text.plan import plan_lines, planned
from benchtui.tui.cli.watch import start_engine


class RunOptions(BestCaseOptions, ResumeOptions):
    """Values that ``run`` accepts in addition to a sweep file."""

    trust: bool


@click.command()
@click.argument("sweep", required=False, shell_complete=complete_sweep)
@set_option
@session_option
@click.option(
    "--into",
    metavar="SESSION",
    shell_complete=complete_session,
    help="Append the rounds and cases to a session of the same work.",
)
@click.option(
    "--optimal-from", "optimal_from", metavar="SESSION", help="Run the best case of a session instead."
)
@objective_option
@resume_option
@retry_option
@anyway_option
@trust_option
@json_option("Print each case's result as a line of JSON, and the answer as the last one.")
@click.option("--strict", is_flag=True, help="Exit with 3 if a case was skipped because its device is missing.")
def run(
    sweep: str | None,
    overrides: tuple[str, ...],
    session_path: Path | None,
    into: str | None,
    as_json: bool,
    strict: bool,
    **options: Unpack[RunOptions],
) -> None:
    """Run a sweep without the app, or resume one that was stopped or crashed.

    Progress is printed to standard error, the answer at the end to standard output: what to run, how certain
    that is, and what stays open. Exit status: 0 if no case failed (out of memory and skipped are
    results), 1 if a case failed or none was measured, 2 for invalid usage or input, 3 with --strict if a device
    was missing, 130 if interrupted.
    """
    if into is None:
        run_to_end(lambda: _start_or_resume(sweep, overrides, session_path, options), as_json, strict=strict)
        return
    if session_path or options["resumed"]:
        raise click.UsageError("--into names the session to write; it can't be combined with -o or --resume")
    wanted = requested_sweep(sweep, overrides, optimal_from=options["optimal_from"], need=options["need"])
    target = target_of(paths.resolve(into), wanted)
    run_to_end(
        lambda: start_engine(wanted, None, overrides, trust=options["trust"]),
        as_json,
        strict=strict,
        into=target,
    )


def target_of(path: Path, sweep: Sweep) -> Path:
    """Return the path of a session that a sweep's cases can join. Raises BenchtuiError if they can't."""
    if client.find(path):
        raise BenchtuiError(f"{path}: still running; stop it, or wait until it has ended")
    require_joinable(path, Session.load(path), sweep)
    return path.absolute()


def run_to_end(
    start: Callable[[], "Engine | None"], as_json: bool, *, strict: bool = False, into: Path | None = None
) -> None:
    """Start an engine, follow it and print the answer, then exit with the sweep's status.

    With ``into``, what was measured joins that session, and the answer is that of both. Return if there is no
    engine because nothing is left to run.
    """
    ended = follow_to_end(start, as_json)
    if ended is None:
        return
    engine, session = ended
    path = progress.recorded_path(session, engine.path)
    if into and join_follow_up(into, path, session):
        _print_answer(Session.load(into, summarize), into, as_json)
        click.echo(printable(f"{progress.measured_text(session)} joined session {into}"), err=True)
    else:
        _print_answer(session, path, as_json)
        click.echo(printable(progress.summary_line(session, engine.path, engine)), err=True)
    if into and path.exists():
        both = f"{shell_word(str(into))} {shell_word(str(path))}"
        click.echo(
            printable(
                f"no case was measured to its end, so nothing joined {into}; both: benchtui optimal {both}"
            ),
            err=True,
        )
    sys.exit(exit_status_of(session, strict=strict))


def follow_to_end(start: Callable[[], "Engine | None"], as_json: bool) -> "tuple[Engine, Session] | None":
    """Start an engine and follow it to the end of its session. A signal stops it. None if there is none."""
    early: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: early.append(number))
    engine = start()
    if engine is None:
        return None
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: _stop(engine))
    if early:  # signaled while the engine was starting
        _stop(engine)
    return engine, _follow(engine, as_json)


def _follow(engine: "Engine", as_json: bool) -> Session:
    """Print the progress of a sweep until it ends; on a terminal, with a bar and the time left."""
    from benchtui.tui.cli.text.run_progress import RunProgress  # imports rich

    session = Session(summarize)
    with RunProgress(session) as bar:
        for event in progress.follow(engine, session):
            if line := progress.progress_line(session, event):
                bar.print(progress.stamped(session, line.strip()))
            if isinstance(event, RoundsPlanned) and event.cases:
                for text in conclusion.lines_so_far(session):
                    bar.print(progress.stamped(session, text))
            if as_json and isinstance(event, CaseFinished):
                print_json(progress.measured_case(session.cases[event.case], session))
            bar.update(event)
    return session


def _print_answer(session: Session, path: Path, as_json: bool) -> None:
    """Print what the session says; with ``as_json``, as its last line of JSON."""
    if session.started is None:
        return
    wanted = session.start.sweep.find
    conclusions = conclude(session, find_objective(session, wanted) if wanted else None)
    if as_json:
        print_json(conclusion.document(session, conclusions, path))
    for line in conclusion.lines(session, conclusions, path):
        click.echo(printable(line), err=as_json)


def _start_or_resume(
    sweep: str | None, overrides: tuple[str, ...], session_path: Path | None, options: RunOptions
) -> "Engine | None":
    """Start the requested engine; None if the session to resume has no case left."""
    if options["resumed"] is None:
        if options["retry_failed"] or options["anyway"]:
            raise click.UsageError("--retry-failed and --anyway require --resume SESSION")
        loaded = requested_sweep(sweep, overrides, optimal_from=options["optimal_from"], need=options["need"])
        return start_engine(loaded, session_path, overrides, trust=options["trust"])
    if sweep or overrides or session_path or options["optimal_from"]:
        raise click.UsageError(
            "--resume uses the sweep and the file of the session; it can't be combined with SWEEP, --set, -o"
            " or --optimal-from"
        )
    return resumed_engine(options["resumed"], options["retry_failed"], options["anyway"], options["trust"])


def _stop(engine: "Engine") -> None:
    """Request the end of the sweep. The journal then records that it was stopped."""
    with suppress(BenchtuiError):  # an engine that no longer exists has already stopped
        engine.stop()


@click.command()
@sweep_argument
@set_option
@json_option("Print the cases as JSON.")
def plan(sweep: str, overrides: tuple[str, ...], as_json: bool) -> None:
    """Show what a sweep would measure, without starting it.

    Lists every case with its predicted time in seconds and peak memory, based on earlier sessions on this
    machine. Values marked with ? are rough estimates.
    """
    loaded = load_sweep(sweep, overrides)
    estimator = history.load_history(paths.known(), loaded, platform.node())
    missing = client.find_cuda().missing_reason
    if as_json:
        print_json(planned(loaded, estimator, missing))
        return
    for line in plan_lines(loaded, estimator, missing):
        click.echo(printable(line))
