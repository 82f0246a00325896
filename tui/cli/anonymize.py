"""``benchtui anonymize``: write a session that can be shared."""

from pathlib import Path

import click

from benchtui.sessions.library.paths import resolve
from benchtui.tui.cli.options import complete_session, json_option, printable
from benchtui.tui.cli.schema.records import AnonymizedJson
from benchtui.tui.cli.text.output import print_json


@click.command()
@click.argument("session", metavar="SESSION", shell_complete=complete_session)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Session file to write; no session is overwritten.",
)
@json_option("Print the path of the anonymized session as JSON.")
def anonymize(session: str, output: Path, as_json: bool) -> None:
    """Write a copy of a session without what tells where it was measured.

    SESSION is a path, a library name, or `latest`. Stand-ins replace hosts, users, paths, addresses, UUIDs and
    serial numbers, and secrets are masked; all figures stay. The page "Sharing" of the documentation says what
    to check before you share the copy.
    """
    from benchtui.sessions.anonymize import Anonymizer  # compiles large expressions that --help doesn't need

    Anonymizer().write(resolve(session), output)
    if as_json:
        print_json(AnonymizedJson(session=str(output)))
    else:
        click.echo(printable(f"anonymized session {output}; names that you chose stay: check them"), err=True)
