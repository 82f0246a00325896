"""The commands that work on recorded sessions. As in ``cli``, only click is imported here."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchtui.tui.options import complete_session, printable

if TYPE_CHECKING:
    from benchtui.sessions.catalogue import Summary
    from benchtui.sessions.comparing import Compared
    from benchtui.sessions.library import Entry

REGRESSION = 1


def write(text: str, output: Path | None) -> None:
    """Print a document, or write it to a file; raises BenchtuiError where that can't be."""
    from benchtui.sessions import keeping  # after the command is known

    if output is None:
        click.echo(text, nl=not text.endswith("\n"))
    else:
        keeping.write_text(output, text, over=True)


def _share(_context: click.Context, _parameter: click.Parameter, text: str | None) -> float | None:
    """A percentage such as ``5%`` as a share."""
    if text is None:
        return None
    try:
        percent = float(text.strip().removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not 0 <= percent < 1000:
        raise click.BadParameter(f"{text!r} is not a percentage from 0 to below 1000, such as 5%")
    return percent / 100


@click.command()
@click.argument("sessions", nargs=-1, required=True, metavar="BASE NEW...", shell_complete=complete_session)
@click.option("--format", "form", type=click.Choice(["text", "md", "json"]), default="text", show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File to write.")
@click.option(
    "--fail-on",
    "threshold",
    callback=_share,
    metavar="PERCENT",
    help="Exit with 1 when a case surely takes longer by more than this, or isn't measured any more.",
)
def compare(sessions: tuple[str, ...], form: str, output: Path | None, threshold: float | None) -> None:
    """Hold sessions against each other, case by case.

    BASE and NEW are paths, names of the library, or `latest`. A ratio says how many times as fast NEW is: above
    1 it is faster. What differs between machines and settings comes first. Verdicts: FASTER, SLOWER, SAME (the
    ranges overlap), UNSURE (too few steps, or rounds that contradict them); UNSURE never fails --fail-on.
    """
    from benchtui.sessions.comparing import compared, loaded  # after the command is known
    from benchtui.sessions.errors import BenchtuiError
    from benchtui.sessions.library import resolve

    found = compared(loaded([resolve(session) for session in sessions]))
    without = [each.new.name for each in found.against if not each.compared]
    if not found.comparable or (without and threshold is not None):
        raise BenchtuiError(f"{found.sides[0].name} and {without[0]}: no case was measured in both")
    write(_laid_out(found, form), output)
    if threshold is not None:
        _gate(found, threshold)


def _laid_out(found: "Compared", form: str) -> str:
    if form == "json":
        from benchtui.sessions.report.comparison_json import as_json  # each form loads what it alone needs

        return as_json(found)
    if form == "md":
        from benchtui.sessions.report.comparison import markdown

        return markdown(found)
    from benchtui.tui.comparison_text import comparison_text

    return comparison_text(found)


def _gate(found: "Compared", threshold: float) -> None:
    """Say on standard error which cases fail, and exit accordingly."""
    from benchtui.sessions.compare import Verdict  # after the command is known
    from benchtui.tui.comparison_text import gate_line

    failed = [line for each in found.against if (line := gate_line(each, threshold))]
    unsure = sum(each.count(Verdict.UNSURE) for each in found.against)
    for line in failed or [f"no case is surely more than {100 * threshold:g}% slower"]:
        click.echo(printable(f"{line}; {unsure} unsure" if unsure else line), err=True)
    if failed:
        sys.exit(REGRESSION)


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
    from benchtui.sessions import keeping, library  # after the command is known

    path = keeping.rename(library.resolve(session), name, _busy())
    click.echo(printable(path.stem), err=True)


@sessions.command()
@click.argument("session", shell_complete=complete_session)
@click.argument("text")
def note(session: str, text: str) -> None:
    """Put a note beside a session of the library; an empty TEXT removes it."""
    from benchtui.sessions import keeping, library  # after the command is known

    keeping.write_note(library.resolve(session), text)


@sessions.command()
@click.argument("session", shell_complete=complete_session)
@click.option("--yes", is_flag=True, help="Don't ask.")
def delete(session: str, yes: bool) -> None:
    """Delete a session of the library and its note, after a question."""
    from benchtui.sessions import keeping, library  # after the command is known

    path = library.resolve(session)
    if not yes:
        click.confirm(f"delete {printable(path.stem)} and its note?", abort=True, err=True)
    keeping.delete(path, _busy())


@sessions.command()
@click.argument("file", type=click.Path(path_type=Path))
def add(file: Path) -> None:
    """Copy a session file from elsewhere into the library."""
    from benchtui.sessions import keeping  # after the command is known

    click.echo(printable(keeping.take_in(file).stem), err=True)


def _busy() -> set[Path]:
    """The session files that engines write."""
    from benchtui.engine import client  # after the command is known

    return {engine.path for engine in client.running()}


def _list() -> None:
    from benchtui.sessions import library  # after the command is known
    from benchtui.sessions.catalogue import Catalogue

    running, entries, catalogue = _busy(), library.entries(), Catalogue()
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


def _line(entry: "Entry", summary: "Summary | None") -> str:
    """A session in a line; without a summary it is one that runs."""
    from benchtui.sessions import keeping  # after the command is known

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
    if text := keeping.note_of(entry.path):
        fields.append(f"note: {printable(text)}")
    return "  ".join(fields)
