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

_LONGEST_ANSWER = 100


@click.group(invoke_without_command=True)
@click.pass_context
def sessions(context: click.Context) -> None:
    """List the recorded sessions and those that run; rename, annotate, delete them, add one."""
    if context.invoked_subcommand is None:
        _list()


@sessions.command()
@click.argument("session", shell_complete=complete_session)
@click.argument("name")
def rename(session: str, name: str) -> None:
    """Give a session of the library another name."""
    path = operations.rename(library.resolve(session), name, _busy())
    click.echo(printable(path.stem), err=True)


@sessions.command()
@click.argument("session", shell_complete=complete_session)
@click.argument("text")
def note(session: str, text: str) -> None:
    """Put a note beside a session of the library; an empty TEXT removes it."""
    operations.write_note(library.resolve(session), text)


@sessions.command()
@click.argument("session", shell_complete=complete_session)
@click.option("--yes", is_flag=True, help="Don't ask.")
def delete(session: str, yes: bool) -> None:
    """Delete a session of the library and its note, after a question."""
    path = library.resolve(session)
    if not yes:
        _require_yes(f"delete {printable(path.stem)} and its note?")
    operations.delete(path, _busy())


@sessions.command()
@click.argument("file", type=click.Path(path_type=Path))
def add(file: Path) -> None:
    """Copy a session file from elsewhere into the library."""
    click.echo(printable(operations.import_session(file).stem), err=True)


def _require_yes(question: str) -> None:
    """Ask for confirmation; raises click.Abort unless the answer is yes.

    Reads a limited number of bytes, because standard input may be endless, such as /dev/zero.
    """
    click.echo(f"{question} [y/N]: ", nl=False, err=True)
    answer = sys.stdin.buffer.readline(_LONGEST_ANSWER)
    if not answer.endswith(b"\n"):
        click.echo(err=True)
    if answer.strip().lower() not in (b"y", b"yes"):
        raise click.Abort


def _busy() -> set[Path]:
    """Return the session files that engines are writing."""
    return {engine.path for engine in client.running()}


def _list() -> None:
    running, entries, catalogue = _busy(), library.entries(), SummaryCache()
    try:
        for entry in entries:
            at_work = entry.path in running
            click.echo(_line(entry, None if at_work else catalogue.read(entry.path)))
    finally:
        catalogue.save()
    elsewhere = running - {entry.path for entry in entries}
    for path in sorted(elsewhere):
        click.echo(f"{printable(str(path)):40}  running")
    if not entries and not elsewhere:
        click.echo(f"no session yet in {library.folder()}; `benchtui run quick` makes one", err=True)


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
        onward = f"benchtui run --resume {printable(entry.path.stem)}"
        fields.append(f"{summary.left} of {summary.cases} left: {onward}")
    if summary and summary.best:
        fields.append(f"best {summary.best.samples_per_s:,.1f} samples/s: {printable(summary.best.case)}")
    if text := operations.note_of(entry.path):
        fields.append(f"note: {printable(text)}")
    return "  ".join(fields)
