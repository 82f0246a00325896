"""``benchtui sessions``: list, rename, annotate, delete and add sessions."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec
from rich.cells import cell_len

from benchtui.engine import client
from benchtui.sessions.export.json_document import Document, document_id
from benchtui.sessions.journal.session_file import SessionFile
from benchtui.sessions.library import operations
from benchtui.sessions.library import paths as library
from benchtui.sessions.library.summaries import Summary, SummaryCache
from benchtui.sessions.state.simulation import SIMULATED
from benchtui.sessions.sweep import task_named
from benchtui.themes.symbols import UNICODE
from benchtui.tui.cli.consent import require_yes
from benchtui.tui.cli.options import complete_session, echo, json_option, printable
from benchtui.tui.cli.schema.records import LibraryJson
from benchtui.tui.cli.text.output import GAP, in_columns, print_json
from benchtui.tui.drawing.format import best_rate

_json_option = json_option("Print name and path of the session as JSON.")


@click.group(invoke_without_command=True)
@json_option("Print the list as JSON.")
@click.pass_context
def sessions(context: click.Context, as_json: bool) -> None:
    """List recorded and running sessions; rename, annotate, delete or add one.

    The best rate is that of the case to run, with ≈ while that is undecided. On a narrow terminal, columns are
    left out: the host first, then the model, the best case and the date.
    """
    if context.invoked_subcommand is None:
        _list(as_json)


@sessions.command()
@click.argument("session", shell_complete=complete_session)
@click.argument("name")
@_json_option
def rename(session: str, name: str, as_json: bool) -> None:
    """Rename a session in the library."""
    _print_path(operations.rename(library.resolve(session), name, _running_paths()), as_json)


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
    path = library.resolve(session, whole=True)
    operations.require_deletable(path, _running_paths())
    if not yes:
        require_yes(f"delete {printable(path.stem)} and its note?")
    operations.delete(path, _running_paths())


@sessions.command()
@click.argument("file", type=click.Path(path_type=Path))
@_json_option
def add(file: Path, as_json: bool) -> None:
    """Copy a session file into the library."""
    _print_path(operations.import_session(file), as_json)


def _print_path(path: Path, as_json: bool) -> None:
    """Print the name of a session, or name and path as JSON."""
    if as_json:
        print_json(LibraryJson(name=path.stem, session=str(path)))
    else:
        echo(path.stem, err=True)


def _running_paths() -> set[Path]:
    """Return the session files that engines are writing."""
    return {engine.path for engine in client.running()}


def _list(as_json: bool) -> None:
    running, entries, summaries = _running_paths(), library.known(), SummaryCache()
    try:
        rows = [_row(entry, None if entry.path in running else summaries.read(entry.path)) for entry in entries]
    finally:
        summaries.save()
    elsewhere = sorted(running - {entry.path for entry in entries})
    rows += [SessionRow(name=str(path), path=str(path), state="running") for path in elsewhere]
    if as_json:
        print_json(SessionsJson(sessions=tuple(rows)))
    elif rows:
        room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        echo(*_table(rows, room))
        if any(row.left for row in rows):
            click.echo("run the cases left of a session: benchtui run --resume NAME", err=True)
    else:
        text = f"no sessions in {library.folder()} yet; record one with `benchtui run quick`"
        echo(text, err=True)


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """Session as ``--json`` prints it. Fields are null if unknown, such as those of a running session."""

    name: str
    path: str
    state: str
    """``running``, or how the session ended."""
    simulated: bool = False
    """Whether a model computed it."""
    created: str | None = None
    model: str | None = None
    hostname: str | None = None
    cases: int | None = None
    measured: int | None = None
    left: int | None = None
    """Cases that ``run --resume`` would run."""
    best_case: str | None = None
    best_samples_per_s: float | None = None
    best_rate: float | None = None
    """Its throughput in the unit of its task, as on the screen and in reports."""
    unit: str = "samples/s"
    """That unit, such as ``tokens/s``."""
    best_decided: bool | None = None
    """Whether that case surely is the best."""
    note: str = ""


class SessionsJson(Document, frozen=True, kw_only=True):
    """Output of ``sessions``."""

    id_: str = document_id("sessions")
    sessions: tuple[SessionRow, ...]


def _row(entry: SessionFile, summary: Summary | None) -> SessionRow:
    """Describe a session; ``summary`` is None for a running one."""
    started = entry.started
    best = summary.best if summary else None
    return SessionRow(
        name=library.library_name(entry.path),
        path=str(entry.path),
        state="running" if summary is None else summary.outcome,
        simulated=started.simulated is not None,
        created=started.created,
        model=started.sweep.model,
        hostname=started.host.hostname,
        cases=summary.cases if summary else len(started.plan),
        measured=summary.measured if summary else None,
        left=summary.left if summary and not started.source and started.simulated is None else None,
        best_case=best.config.name if best else None,
        best_samples_per_s=best.samples_per_s if best else None,
        best_rate=best.rate if best else None,
        unit=best.unit if best else task_named(started.sweep.task).unit,
        best_decided=best.decided if best else None,
        note=operations.note_of(entry.path),
    )


_RIGHT = ("measured", "left", "best rate")
_HEADER = ("name", "state", "created", "measured", "left", "best rate", "model", "host", "best case")
_LEFT_OUT_FIRST = ("host", "model", "best case", "created")
"""Columns that are left out on a narrow terminal, in this order."""


def _table(rows: Sequence[SessionRow], room: int | None = None) -> list[str]:
    """Format sessions as aligned columns with a header, and the notes at the ends of their lines.

    Columns are left out until the lines without notes fit into ``room`` cells.
    """
    columns = list(zip(_HEADER, *map(_cells, rows), strict=True))
    for title in _LEFT_OUT_FIRST:
        if room is None or sum(max(map(cell_len, column)) + len(GAP) for column in columns) <= room + len(GAP):
            break
        columns = [column for column in columns if column[0] != title]
    lines = in_columns(list(zip(*columns, strict=True)), [column[0] in _RIGHT for column in columns])
    notes = ("", *(f"  note: {row.note}" if row.note else "" for row in rows))
    return [f"{line.rstrip()}{note}" for line, note in zip(lines, notes, strict=True)]


def _cells(row: SessionRow) -> tuple[str, ...]:
    measured = f"{'–' if row.measured is None else row.measured}/{'–' if row.cases is None else row.cases}"
    best, decided = row.best_rate, bool(row.best_decided)
    rate = "–" if best is None else best_rate(best, row.unit, UNICODE, decided)
    texts = (row.created or "–", measured, str(row.left or "–"), rate, row.model or "–", row.hostname or "–")
    state = f"{row.state}, {SIMULATED}" if row.simulated else row.state
    return (printable(row.name), state, *map(printable, texts), printable(row.best_case or "–"))
