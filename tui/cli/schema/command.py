"""``benchtui schema``: JSON Schemas of what commands print with ``--json``, and of files."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import msgspec

from benchtui.sessions.export.json_document import PREFIX, SCHEMA, describe
from benchtui.tui.cli.options import echo

ALIASES = {
    "attach": "event",
    "continue": "stop",
    "export": "results",
    "find": "run",
    "pause": "stop",
    "replay": "event",
    "reproduce": "compare",
    "sessions-rename": "sessions-add",
}
"""Commands that print the document of another name."""
_RECORDS = "tui.cli.schema.records"
_TYPES = {
    "anonymize": f"{_RECORDS}.AnonymizedJson",
    "cache": f"{_RECORDS}.CacheJson",
    "compare": "sessions.report.compare_json.ComparisonJson",
    "doctor": f"{_RECORDS}.DoctorJson",
    "event": "sessions.events.AnyEvent",
    "explain": "sessions.explain.as_json.ExplainedJson",
    "import": f"{_RECORDS}.ImportedJson",
    "keys": f"{_RECORDS}.KeysJson",
    "next": "tui.cli.text.next.NextJson",
    "optimal": "tui.cli.text.optimal.DecisionsJson",
    "plan": f"{_RECORDS}.PlanJson",
    "results": "sessions.export.case_export.Results",
    "run": f"{_RECORDS}.MeasuredCaseJson|tui.cli.text.conclusion.ConclusionsJson",
    "session": "[sessions.events.AnyEvent]",
    "sessions": "tui.cli.sessions.SessionsJson",
    "sessions-add": f"{_RECORDS}.LibraryJson",
    "slurm": f"{_RECORDS}.SlurmJson",
    "steps": "sessions.export.step_export.Steps",
    "stop": f"{_RECORDS}.EngineJson",
    "sweep": "sessions.sweep.entries.sweep_file_type()",
    "themes": f"{_RECORDS}.ThemesJson",
}
"""Type of each document, imported when it is used, because all take half a second; a list in brackets."""
NAMES = sorted((*ALIASES, *_TYPES))
"""Commands with ``--json``; rows of exports and of a session; files."""
DIALECT = "https://json-schema.org/draft/2020-12/schema"


@click.command()
@click.argument("name", type=click.Choice(NAMES), required=False)
@click.option(
    "--check",
    "checked",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Check a document or a session instead; without NAME, against the schema that it names.",
)
def schema(name: str | None, checked: Path | None) -> None:
    """Print the JSON Schema of a command's --json, or of a file; or check a file against it.

    NAME is a command with --json; `attach`, `replay` and `run` print one such document per line. Others:
    `sweep` (a sweep file, as the JSON equivalent of its TOML), `session` (a session file), `event` (one line of
    it), `results` and `steps` (`export --format json`, without and with --steps).
    """
    if checked:
        from benchtui.tui.cli.schema.check import check  # imports the records, as any schema does

        echo(check(checked, name))
    elif name is None:
        raise click.UsageError("name a schema, or a file to check: --check FILE")
    else:
        click.echo(json.dumps(document_schema(name), indent=2))


def document_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a document, with a description of each field."""
    kind = document_type(name)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    several, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    describe(definitions, kinds)
    if ALIASES.get(name, name) == "event":
        _describe_lines(definitions)
    shape = several[0] if len(several) == 1 else {"anyOf": list(several)}
    return {
        "$schema": DIALECT,
        "$id": f"{PREFIX}{ALIASES.get(name, name)}:{_version(name)}",
        **shape,
        "$defs": definitions,
    }


def _describe_lines(definitions: dict[str, Any]) -> None:
    """Add the fields that ``attach`` and ``replay`` print with each event."""
    kinds = (_imported(f"{_RECORDS}.EventLine"),)
    line = msgspec.json.schema_components(kinds)[1]
    describe(line, kinds)
    for definition in definitions.values():
        if "event" in definition.get("properties", {}):
            definition["properties"] = line["EventLine"]["properties"] | definition["properties"]


def _version(name: str) -> int:
    from benchtui.sessions import events  # imported late, as all records are
    from benchtui.sessions.export import case_schema

    versions = {"session": events.SCHEMA, "event": events.SCHEMA, "results": case_schema.SCHEMA}
    return versions.get(ALIASES.get(name, name), SCHEMA)


def document_type(name: str) -> Any:  # noqa: ANN401  (a type)
    """Return the type of a document; a tuple of types if it may have any of them."""
    kinds = tuple(map(_imported, _TYPES[ALIASES.get(name, name)].split("|")))
    return kinds if len(kinds) > 1 else kinds[0]


def _imported(path: str) -> Any:  # noqa: ANN401  (a type)
    module, _, attribute = path.strip("[]").removesuffix("()").rpartition(".")
    kind = getattr(import_module(f"benchtui.{module}"), attribute)
    if path.endswith("()"):
        return kind()
    return list[kind] if path.startswith("[") else kind  # type: ignore[valid-type]
