"""``benchtui sessions``: list, rename, annotate, delete and add sessions."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchtui.engine import client
from benchtui.sessions.library import operations
from benchtui.sessions.library import paths as library
from benchtui.sessions.library.summaries import SummaryCache
from benchtui.tui.cli.options import complete_session, printable

if TYPE_CHECKING:
    from benchtui.sessions.library.paths import SessionFile
    from benchtui.sessions.library.summaries import Summary

_MAX_ANSWER_BYTES = 100


@click.group(invoke_without_command=True)
@click.pass_context
def sessions(context: click.Context) -> None:
    """List recorded and running sessions; rename, annotate, delete or add one."""
    if context.invoked_subcommand is None:
        _list()


@sessions.command()
@click.argument("session", shell_complete=complete_session)
@click.argument("name")
def rename(session: str, name: str) -> None:
    """Rename a session in the library."""
    path = operations.rename(library.resolve(session), name, _running_paths())
    click.echo(printable(path.stem), err=True)


@sessions.command()
@click.argument("session", shell_complete=complete_session)
@click.argument("text")
def note(session: str, text: str) -> None:
    """Attach a note to a session in the library; an empty TEXT removes it."""
    operations.write_note(library.resolve(session), text)


@sessions.command()
@click.argument("session", shell_complete=complete_session)
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
def delete(session: str, yes: bool) -> None:
    """Delete a session in the library and its note, after confirmation."""
    path = library.resolve(session)
    if not yes:
        _require_yes(f"delete {printable(path.stem)} and its note?")
    operations.delete(path, _running_paths())


@sessions.command()
@click.argument("file", type=click.Path(path_type=Path))
def add(file: Path) -> None:
    """Copy a session file into the library."""
    click.echo(printable(operations.import_session(file).stem), err=True)


def _require_yes(question: str) -> None:
    """Ask for confirmation; raises click.Abort unless the answer is yes.

    Reads a limited number of bytes, because standard input may be endless, such as /dev/zero.
    """
    click.echo(f"{question} [y/N]: ", nl=False, err=True)
    answer = sys.stdin.buffer.readline(_MAX_ANSWER_BYTES)
    if not answer.endswith(b"\n"):
        click.echo(err=True)
    if answer.strip().lower() not in (b"y", b"yes"):
        raise click.Abort


def _running_paths() -> set[Path]:
    """Return the session files that engines are writing."""
    return {engine.path for engine in client.running()}


def _list() -> None:
    running, entries, summaries = _running_paths(), library.entries(), SummaryCache()
    try:
        for entry in entries:
            click.echo(_line(entry, None if entry.path in running else summaries.read(entry.path)))
    finally:
        summaries.save()
    elsewhere = running - {entry.path for entry in entries}
    for path in sorted(elsewhere):
        click.echo(f"{printable(str(path)):40}  running")
    if not entries and not elsewhere:
        click.echo(f"no sessions in {library.folder()} yet; record one with `benchtui run quick`", err=True)


def _line(entry: "SessionFile", summary: "Summary | None") -> str:
    """Format a session as one line; ``summary`` is None for a running one."""
    state = "running" if summary is None else "finished" if entry.finished else "cut off"
    started = entry.started
    fields = [
        f"{printable(entry.path.stem):40}  {state:8}",
        printable(started.created),
        f"{len(started.plan):5} cases",
        printable(started.sweep.model),
        f"on {printable(started.host.hostname or '–')}",
    ]
    if summary:
        fields.append(f"{summary.outcome}, {summary.measured} measured")
    if summary and summary.left and not started.source:
        command = f"benchtui run --resume {printable(entry.path.stem)}"
        fields.append(f"{summary.left} of {summary.cases} left: {command}")
    if summary and summary.best:
        fields.append(f"best {summary.best.samples_per_s:,.1f} samples/s: {printable(summary.best.case)}")
    if text := operations.note_of(entry.path):
        fields.append(f"note: {printable(text)}")
    return "  ".join(fields)
