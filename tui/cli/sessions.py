"""The commands that work on recorded sessions. As in ``cli``, only click is imported here."""

import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchtui.tui.cli.options import complete_session, printable, same_within_option, share

if TYPE_CHECKING:
    from benchtui.sessions.compare.align import Compared
    from benchtui.sessions.library.paths import Entry
    from benchtui.sessions.library.summaries import Summary

REGRESSION = 1
_LONGEST_ANSWER = 100


def write(text: str, output: Path | None, inputs: Collection[Path]) -> None:
    """Print a document made of ``inputs``, or write it to a file; raises BenchtuiError where that can't be."""
    from benchtui.sessions.files.output_file import write_text  # after the command is known

    if output is None:
        click.echo(text, nl=not text.endswith("\n"))
    else:
        write_text(output, text, inputs)


@click.command()
@click.argument("sessions", nargs=-1, required=True, metavar="BASE NEW...", shell_complete=complete_session)
@click.option("--format", "form", type=click.Choice(["text", "md", "json"]), default="text", show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File to write.")
@click.option(
    "--fail-on",
    "threshold",
    callback=share,
    metavar="PERCENT",
    help="Exit with 1 when a case surely takes longer by more than this, or isn't measured any more.",
)
@click.option(
    "--fail-on-unsure",
    "unsure_fails",
    is_flag=True,
    help="Exit with 1 when a case is UNSURE, too; --fail-on is 0% where it isn't given.",
)
@same_within_option
def compare(
    sessions: tuple[str, ...],
    form: str,
    output: Path | None,
    threshold: float | None,
    unsure_fails: bool,
    same_within: float | None,
) -> None:
    """Hold sessions against each other, case by case.

    BASE and NEW are paths, names of the library, or `latest`. A ratio says how many times as fast NEW is: above
    1 it is faster. What differs between machines and settings comes first. Verdicts: FASTER and SLOWER (the
    whole 99% interval lies beyond 0.5%), SAME (the whole 95% interval lies within --same-within), UNSURE (all
    else, with the smallest difference that could have been told). Exit status with --fail-on: 0 no case fails,
    1 some case does, 2 wrong usage or nothing to compare; UNSURE fails with --fail-on-unsure alone.
    """
    from benchtui.sessions.compare.align import compared, loaded, nothing_in_common
    from benchtui.sessions.errors import BenchtuiError
    from benchtui.sessions.files.output_file import check_output
    from benchtui.sessions.library.paths import resolve
    from benchtui.sessions.state.judging import Judging  # after the command is known

    paths = [resolve(session) for session in sessions]
    if output:
        check_output(output, paths)
    found = compared(loaded(paths, Judging(same_within=same_within)))
    gated = threshold is not None or unsure_fails
    without = [each for each in found.against if not each.compared]
    if not found.comparable or (without and gated):
        raise BenchtuiError(nothing_in_common(without[0]))
    write(_laid_out(found, form), output, paths)
    if gated:
        _gate(found, threshold or 0.0, unsure_fails)


def _laid_out(found: "Compared", form: str) -> str:
    if form == "json":
        from benchtui.sessions.report.compare_json import as_json  # each form loads what it alone needs

        return as_json(found)
    if form == "md":
        from benchtui.sessions.report.compare import markdown

        return markdown(found)
    from benchtui.tui.cli.text.compare import comparison_text

    return comparison_text(found)


def _gate(found: "Compared", threshold: float, unsure_fails: bool) -> None:
    """Say on standard error which cases fail and how many are unsure, and exit accordingly."""
    from benchtui.sessions.stats.ratios import Verdict  # after the command is known
    from benchtui.tui.cli.text.compare import gate_line

    failed = [line for each in found.against if (line := gate_line(each, threshold))]
    unsure = sum(each.count(Verdict.UNSURE) for each in found.against)
    for line in failed or [f"no case is surely more than {100 * threshold:g}% slower"]:
        click.echo(
            printable(f"{line}; {unsure} UNSURE{' (fails)' if unsure and unsure_fails else ''}"), err=True
        )
    if failed or (unsure and unsure_fails):
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
    from benchtui.sessions.library import operations  # after the command is known
    from benchtui.sessions.library import paths as library  # after the command is known

    path = operations.rename(library.resolve(session), name, _busy())
    click.echo(printable(path.stem), err=True)


@sessions.command()
@click.argument("session", shell_complete=complete_session)
@click.argument("text")
def note(session: str, text: str) -> None:
    """Put a note beside a session of the library; an empty TEXT removes it."""
    from benchtui.sessions.library import operations  # after the command is known
    from benchtui.sessions.library import paths as library  # after the command is known

    operations.write_note(library.resolve(session), text)


@sessions.command()
@click.argument("session", shell_complete=complete_session)
@click.option("--yes", is_flag=True, help="Don't ask.")
def delete(session: str, yes: bool) -> None:
    """Delete a session of the library and its note, after a question."""
    from benchtui.sessions.library import operations  # after the command is known
    from benchtui.sessions.library import paths as library  # after the command is known

    path = library.resolve(session)
    if not yes:
        _require_yes(f"delete {printable(path.stem)} and its note?")
    operations.delete(path, _busy())


@sessions.command()
@click.argument("file", type=click.Path(path_type=Path))
def add(file: Path) -> None:
    """Copy a session file from elsewhere into the library."""
    from benchtui.sessions.library import operations  # after the command is known

    click.echo(printable(operations.take_in(file).stem), err=True)


def _require_yes(question: str) -> None:
    """Ask; raises click.Abort for any other answer. Of one without end, as from /dev/zero, a part is read."""
    click.echo(f"{question} [y/N]: ", nl=False, err=True)
    answer = sys.stdin.buffer.readline(_LONGEST_ANSWER)
    if not answer.endswith(b"\n"):
        click.echo(err=True)
    if answer.strip().lower() not in (b"y", b"yes"):
        raise click.Abort


def _busy() -> set[Path]:
    """The session files that engines write."""
    from benchtui.engine import client  # after the command is known

    return {engine.path for engine in client.running()}


def _list() -> None:
    from benchtui.sessions.library import paths as library  # after the command is known
    from benchtui.sessions.library.summaries import Catalogue

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
    from benchtui.sessions.library import operations  # after the command is known

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
