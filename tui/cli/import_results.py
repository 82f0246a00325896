"""``benchtui import``: convert another tool's results to a session."""

from pathlib import Path

import click

from benchtui.sessions.importers import registry, session_writer
from benchtui.sessions.library import operations
from benchtui.sessions.text.formatting import count
from benchtui.tui.cli.options import printable


@click.command("import")
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Session file to write, by default a new one in the library; no existing file is overwritten.",
)
@click.option("--from", "kind", help="Tool that wrote FILE; by default detected from its content.")
def import_results(source: Path, path: Path | None, kind: str | None) -> None:
    """Convert the results of another tool to a session.

    FILE is the output of optimum-benchmark (JSON), llama-bench (-o json or jsonl), hyperfine (--export-json),
    pyperf (JSON), pytest-benchmark (--benchmark-json), torch.utils.benchmark (JSON, see docs/importing.md), a
    batch-sweep runner (JSONL, or its CSV tables), or a table of training runs (CSV). Anything it doesn't state
    stays unknown.
    """
    if path is None:
        path, found = operations.import_results(source, kind)
    else:
        found = registry.read(source, kind)
        session_writer.write(found, path)
    cases = count(len(found.cases), "case")
    click.echo(printable(f"{cases} from {found.kind}; session {path}"), err=True)
    for note in session_writer.notes(found):
        click.echo(printable(note), err=True)
