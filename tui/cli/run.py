"""``benchtui run``, ``reproduce`` and ``plan``: run a sweep without the app, or list what it would measure."""

import os
import platform
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, chdir, nullcontext, suppress
from pathlib import Path
from typing import Unpack

import click

from benchtui.engine import client
from benchtui.engine.client import Engine, StopCause
from benchtui.sessions.advice.find_sweep import within
from benchtui.sessions.compare.align import SessionComparison, compare_sessions, load_sessions
from benchtui.sessions.compare.joined import join_follow_up, require_joinable, with_baselines
from benchtui.sessions.compare.reproduction import Reproduction, further_sweep, lines, reproduction
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.estimates import history
from benchtui.sessions.estimates.sweep_models import require_models
from benchtui.sessions.events import CaseFinished, RoundsPlanned
from benchtui.sessions.files.input_file import read_text
from benchtui.sessions.library import artifacts, file_kinds, paths
from benchtui.sessions.sanitize import shell_word
from benchtui.sessions.state.judging import VerdictSettings
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.sweep import Need, Sweep
from benchtui.sessions.sweep.plan import included_configs
from benchtui.sessions.text.formatting import count
from benchtui.tui.cli.advice.optimal import SECONDS, budget_option, objective_option, requested_sweep
from benchtui.tui.cli.consent import trust_option
from benchtui.tui.cli.engine import resumed_engine
from benchtui.tui.cli.exit_status import DONE, FAILED, INTERRUPTED, exit_status_of
from benchtui.tui.cli.options import (
    ResumeOptions,
    complete_session,
    complete_sweep,
    echo,
    json_option,
    percentage_option,
    resume_options,
    session_option,
    set_option,
    sweep_argument,
    wait_option,
)
from benchtui.tui.cli.text import conclusion, progress
from benchtui.tui.cli.text.output import print_json
from benchtui.tui.cli.text.plan import plan_lines, planned
from benchtui.tui.cli.watch import load_named, start_engine


class RunOptions(ResumeOptions):
    """Values that ``run`` accepts in addition to a sweep file."""

    optimal_from: str | None
    need: Need | None
    budget_s: float | None
    trust: bool
    wait: bool


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
@budget_option
@resume_options
@wait_option
@trust_option
@json_option("Print each case's result as a line of JSON, and the answer as the last one.")
@click.option("--no-cache", is_flag=True, help="Convert models for other runtimes again in each case.")
@click.option("--strict", is_flag=True, help="Exit with 3 if a case was skipped because its device is missing.")
def run(
    sweep: str | None,
    overrides: tuple[str, ...],
    session_path: Path | None,
    into: str | None,
    as_json: bool,
    no_cache: bool,
    strict: bool,
    **options: Unpack[RunOptions],
) -> None:
    """Run a sweep without the app, or resume one that was stopped or crashed.

    SWEEP is a file, a preset, or a model (a folder or a hub ID), of which a few batch sizes are measured.
    Progress is printed to standard error, the answer at the end to standard output: what to run, how certain
    that is, and what stays open. Exit status: 0 if no case failed (out of memory and skipped are results), 1 if
    a case failed or none was measured, 2 for invalid usage or input, 3 with --strict if a device was missing,
    130 if interrupted.
    """
    if options["resumed"] is None and (options["retry_failed"] or options["anyway"]):
        raise click.UsageError("--retry-failed and --anyway require --resume SESSION")
    if no_cache:
        os.environ[artifacts.VARIABLE] = artifacts.OFF  # the engine and its workers inherit it
    if into is None:
        run_to_end(lambda: _start_or_resume(sweep, overrides, session_path, options), as_json, strict=strict)
        return
    if session_path or options["resumed"]:
        raise click.UsageError("--into names the session to write; it can't be combined with -o or --resume")
    requested, target = _requested(sweep, overrides, options), paths.resolve(into)
    wanted = with_baselines(Session.load(target), requested)
    target = target_of(target, wanted)
    if more := sum(1 for _ in included_configs(wanted)) - sum(1 for _ in included_configs(requested)):
        click.echo(f"also measured, to compare answers: {count(more, 'baseline')} of {target.stem}", err=True)
    run_to_end(
        lambda: start_engine(wanted, None, overrides, trust=options["trust"], wait=options["wait"]),
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
        _print_answer(Session.load(into, metrics), into, as_json)
        echo(f"{progress.measured_text(session)} joined session {into}", err=True)
    else:
        _print_answer(session, path, as_json)
        echo(progress.summary_line(session, engine.path, engine), err=True)
    if into and path.exists():
        problem = f"no case was measured to its end, so nothing joined {into}"
        echo(f"{problem}; both: benchtui optimal {shell_word(str(into))} {shell_word(str(path))}", err=True)
    sys.exit(exit_status_of(session, strict=strict))


def follow_to_end(start: Callable[[], "Engine | None"], as_json: bool) -> "tuple[Engine, Session] | None":
    """Start an engine and follow it to the end of its session. A signal stops it. None if there is none."""
    early: list[int] = []
    for number in _CAUSES:
        signal.signal(number, lambda number, _: early.append(number))
    engine = start()
    if engine is None:
        return None
    for number in _CAUSES:
        signal.signal(number, lambda number, _: _stop(engine, number))
    if early:  # signaled while the engine was starting
        _stop(engine, early[0])
    return engine, _follow(engine, as_json)


def _follow(engine: "Engine", as_json: bool) -> Session:
    """Print the progress of a sweep until it ends; on a terminal, with a bar and the time left."""
    from benchtui.tui.cli.text.run_progress import RunProgress  # imports rich

    session, last_lines = Session(metrics), list[str]()
    with RunProgress(session) as bar:
        for event in progress.follow(engine, session):
            if line := progress.progress_line(session, event):
                bar.print(progress.stamped(session, line.strip()))
            if isinstance(event, RoundsPlanned) and event.cases:
                lines = list(conclusion.lines_so_far(session))
                for text in (line for line in lines if line not in last_lines):
                    bar.print(progress.stamped(session, text))
                last_lines = lines
            if as_json and isinstance(event, CaseFinished):
                print_json(progress.measured_case(session.cases[event.case], session))
            bar.update(event)
    return session


def _print_answer(session: Session, path: Path, as_json: bool) -> None:
    """Print what the session says; with ``as_json``, as its last line of JSON."""
    if session.started is None:
        return
    conclusions = conclusion.conclusions_of(session)
    if as_json:
        print_json(conclusion.document(session, conclusions, path))
    echo(*conclusion.lines(session, conclusions, path), err=as_json)


def _start_or_resume(
    sweep: str | None, overrides: tuple[str, ...], session_path: Path | None, options: RunOptions
) -> "Engine | None":
    """Start the requested engine; None if the session to resume has no case left."""
    if options["resumed"] is None:
        loaded = _requested(sweep, overrides, options)
        return start_engine(loaded, session_path, overrides, trust=options["trust"], wait=options["wait"])
    if sweep or overrides or session_path or options["optimal_from"] or options["budget_s"]:
        raise click.UsageError(
            "--resume uses the sweep and the file of the session; it can't be combined with SWEEP, --set, -o,"
            " --budget or --optimal-from"
        )
    return resumed_engine(
        options["resumed"], options["retry_failed"], options["anyway"], options["trust"], options["wait"]
    )


def _requested(sweep: str | None, overrides: tuple[str, ...], options: RunOptions) -> Sweep:
    named = requested_sweep(sweep, overrides, options["optimal_from"], options["need"])
    return within(named, options["budget_s"])


_CAUSES: dict[int, StopCause] = {signal.SIGINT: "the user", signal.SIGTERM: "SIGTERM"}
if hasattr(signal, "SIGUSR1"):  # not on Windows
    _CAUSES[signal.SIGUSR1] = "a time limit (SIGUSR1)"
"""Signals that stop a sweep. Batch systems send SIGUSR1 before a time limit if they are asked to."""


def _stop(engine: "Engine", number: int) -> None:
    """Request the end of the sweep. The journal then records what stopped it."""
    with suppress(BenchtuiError):  # an engine that no longer exists has already stopped
        engine.stop(_CAUSES[number])


@click.command()
@click.argument("source", metavar="SESSION|REPORT", shell_complete=complete_session)
@session_option
@percentage_option(
    "--same-within",
    "same_within",
    "Margin that must contain the interval of all cases together, instead of the recorded noise.",
)
@click.option(
    "--budget",
    "budget_s",
    callback=SECONDS,
    metavar="TIME",
    help="Time limit of further rounds: by default that of the first ones, at least two minutes.",
)
@wait_option
@trust_option
@json_option("Print the comparison of both sessions, as `benchtui compare --json` does.")
def reproduce(
    source: str,
    session_path: Path | None,
    same_within: float | None,
    budget_s: float | None,
    wait: bool,
    trust: bool,
    as_json: bool,
) -> None:
    """Run a session again until it is clear whether its results hold.

    REPORT is a Markdown or HTML report of a session on this machine, or the sweep from one. REPRODUCED: the
    speed of all cases together, relative to the recorded one, lies within the margin with its whole 95%
    interval. NOT REPRODUCED: it lies beyond, or that of a case does, or a case is no longer measured, or
    something else was measured, such as other weights. UNSURE if the budget ended first. The margin is the
    range of 99 of 100 processes by the recorded noise, at least 10%. What differs is listed: driver, versions,
    threads, clocks, limits, kernels, files. Exit status: 0 if reproduced, 1 if not or unsure, 2 for invalid
    usage or input, 130 if interrupted.
    """
    before = _session_of(source).absolute()
    first = _repeatable(before)
    session_path = session_path and session_path.absolute()
    with _folder_of(first):
        after, session = _measured(first.start.sweep, session_path, trust=trust, wait=wait)
        left_s = first.start.sweep.run.budget_after_s(session.now_s) if budget_s is None else budget_s
        comparison, judged = _judged(before, after, same_within)
        while further := further_sweep(judged, session, left_s):
            echo(next(lines(judged)), f"{count(further.measure.rounds, 'further round')}:", err=True)
            path, measured = _measured(further, None, trust=trust, wait=wait)
            left_s -= measured.now_s
            if not join_follow_up(after, path, measured):
                break
            comparison, judged = _judged(before, after, same_within)
            session = Session.load(after)
    if as_json:
        from benchtui.sessions.report import compare_json  # import only what this format needs

        click.echo(compare_json.as_json(comparison, judged), nl=False)
    echo(*lines(judged), err=as_json)
    if left_s <= 0 and further_sweep(judged, session):
        echo("  the budget for further rounds is spent: --budget sets a larger one", err=as_json)
    sys.exit(DONE if judged.answer == "REPRODUCED" else FAILED)


def _measured(sweep: Sweep, path: Path | None, *, trust: bool, wait: bool) -> tuple[Path, Session]:
    """Run a sweep to its end. Return its file and its session; exit if it was interrupted."""
    ended = follow_to_end(lambda: start_engine(sweep, path, trust=trust, wait=wait), as_json=False)
    if ended is None or exit_status_of(ended[1]) == INTERRUPTED:
        sys.exit(INTERRUPTED)
    engine, session = ended
    echo(progress.summary_line(session, engine.path, engine), err=True)
    return progress.recorded_path(session, engine.path), session


def _judged(before: Path, after: Path, same_within: float | None) -> tuple[SessionComparison, Reproduction]:
    sides = load_sessions((before, after), VerdictSettings(same_within=same_within))
    comparison = compare_sessions(sides)
    return comparison, reproduction(comparison, same_within)


def _repeatable(path: Path) -> Session:
    session = Session.load(path)
    if session.start.source or session.simulated:
        raise BenchtuiError(f"{path}: imported or simulated; only a session that benchtui ran can be run again")
    return session


def _folder_of(session: Session) -> AbstractContextManager[None]:
    """Change to the folder that a session's relative paths start from, if it is there."""
    folder = session.start.folder
    return chdir(folder) if folder and os.access(os.path.join(folder, "."), os.X_OK) else nullcontext()


def _session_of(source: str) -> Path:
    """Return the session that a name refers to, or that a report is about. Raises BenchtuiError."""
    from benchtui.sessions.report.reproduce import ids_in_report  # only a report needs these libraries

    path = Path(source)
    if not path.is_file() or file_kinds.holds_events(path):
        return paths.resolve(source)
    try:
        ids = ids_in_report(read_text(path))
    except (OSError, ValueError):
        ids = []
    if len(ids) != 1:
        several = f"of {len(ids)} sessions ({', '.join(ids)}); name one of them" if ids else ""
        raise BenchtuiError(f"{source}: {several or 'neither a session nor a Markdown or HTML report of one'}")
    session_id = ids[0]
    session = next((entry.path for entry in paths.known() if entry.started.id == session_id), None)
    if session is None:
        raise BenchtuiError(
            f"{source}: session {session_id} isn't on this machine; add its file: benchtui sessions add FILE"
        )
    return session


@click.command()
@sweep_argument
@set_option
@budget_option
@json_option("Print the cases as JSON.")
def plan(sweep: str, overrides: tuple[str, ...], budget_s: float | None, as_json: bool) -> None:
    """Show what a sweep would measure, without starting it.

    Lists the cases to measure with their predicted time in seconds and peak memory, based on earlier sessions
    on this machine; values marked with ? are rough estimates. Cases that are left out are counted by reason;
    --json lists each of them.
    """
    loaded = within(load_named(sweep, overrides), budget_s)
    require_models(loaded)
    estimator = history.load_history(paths.known(), loaded, platform.node())
    missing = client.find_cuda().missing_reason
    if as_json:
        print_json(planned(loaded, estimator, missing))
        return
    echo(*plan_lines(loaded, estimator, missing))
