"""``benchtui schema``: JSON Schemas of what commands print with ``--json``, and of files."""

import json
from typing import Any

import click
import msgspec

NAMES = (
    "anonymize",
    "attach",
    "compare",
    "continue",
    "doctor",
    "event",
    "explain",
    "export",
    "find",
    "import",
    "keys",
    "next",
    "optimal",
    "pause",
    "plan",
    "replay",
    "results",
    "run",
    "session",
    "sessions",
    "sessions-add",
    "sessions-rename",
    "slurm",
    "steps",
    "stop",
    "sweep",
    "themes",
)
"""Commands with ``--json``; rows of exports and of a session; files."""


@click.command()
@click.argument("name", type=click.Choice(NAMES))
def schema(name: str) -> None:
    """Print the JSON Schema of a command's --json, or of a file.

    NAME is a command with --json; `attach`, `replay` and `run` print one such document per line. Others:
    `sweep` (a sweep file, as the JSON equivalent of its TOML), `session` (a session file), `event` (one line of
    it), `results` and `steps` (`export --format json`, without and with --steps).
    """
    click.echo(schema_text(name))


def schema_text(name: str) -> str:
    """Return a schema as indented JSON."""
    return json.dumps(_schema(name), indent=2)


def _schema(name: str) -> dict[str, Any]:
    # the records are imported here, because `export --schema` needs one of them and all take half a second
    from benchtui.sessions.events import AnyEvent
    from benchtui.sessions.explain.as_json import ExplainedJson
    from benchtui.sessions.export.case_export import Results
    from benchtui.sessions.export.step_export import StepRow
    from benchtui.sessions.report.compare_json import ComparisonJson
    from benchtui.sessions.sweep.entries import sweep_file_type
    from benchtui.tui.cli.schema import records
    from benchtui.tui.cli.sessions import SessionRow
    from benchtui.tui.cli.text.conclusion import ConclusionsJson
    from benchtui.tui.cli.text.next import NextJson
    from benchtui.tui.cli.text.optimal import DecisionJson

    kinds: dict[str, Any] = {
        **dict.fromkeys(("attach", "replay", "event"), AnyEvent),
        **dict.fromkeys(("continue", "pause", "stop"), records.EngineJson),
        **dict.fromkeys(("export", "results"), Results),
        **dict.fromkeys(("sessions-add", "sessions-rename"), records.LibraryJson),
        "anonymize": records.AnonymizedJson,
        "compare": ComparisonJson,
        "doctor": list[records.FindingJson],
        "explain": ExplainedJson,
        "import": records.ImportedJson,
        "keys": records.KeysJson,
        "next": NextJson,
        "optimal": list[DecisionJson],
        "plan": records.PlanJson,
        "find": (records.MeasuredCaseJson, ConclusionsJson),
        "run": (records.MeasuredCaseJson, ConclusionsJson),
        "session": list[AnyEvent],
        "sessions": list[SessionRow],
        "slurm": records.SlurmJson,
        "steps": list[StepRow],
        "sweep": sweep_file_type(),
        "themes": records.ThemesJson,
    }
    if not isinstance(kinds[name], tuple):
        return msgspec.json.schema(kinds[name])
    several, records_by_name = msgspec.json.schema_components(kinds[name], ref_template="#/$defs/{name}")
    return {"anyOf": list(several), "$defs": records_by_name}
