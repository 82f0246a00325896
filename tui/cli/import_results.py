"""``benchtui import``: convert another tool's results to a session."""

from pathlib import Path

import click

from benchtui.sessions.importers import registry, session_writer
from benchtui.tui.cli.options import printable
from benchtui.tui.drawing.format import amount


@click.command("import")
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="Session file to write; one that exists is never overwritten.",
)
@click.option("--from", "kind", help="The tool that wrote FILE; without it the content tells.")
def import_results(source: Path, path: Path, kind: str | None) -> None:
    """Turn the results of another tool into a session.

    FILE is from one of: optimum-benchmark (JSON), llama-bench (-o json or jsonl), hyperfine (--export-json), a
    batch-sweep runner (JSONL), or a table of training runs (CSV). What it doesn't say stays unknown.
    """
    found = registry.read(source, kind)
    session_writer.write(found, path)
    cases = amount(len(found.cases), "case")
    click.echo(printable(f"{cases} from {found.kind}; session {path}"), err=True)
    for note in session_writer.notes(found):
        click.echo(printable(note), err=True)
