"""Secrets in results of other tools: masked in the session, and different commands stay different cases."""

import json
from pathlib import Path

from benchtui.sessions.importers import registry, session_writer
from benchtui.sessions.state.session import Session


def test_commands_with_secrets_are_masked_and_stay_apart(tmp_path: Path) -> None:
    commands = [f"serve --token planted-{word} http://me:{word}-pw@host/x" for word in ("one", "two")]
    times = {"mean": 1.0, "stddev": 0.1, "median": 1.0, "min": 0.9, "max": 1.1, "user": 0.5, "system": 0.1}
    results = [{"command": command, **times, "times": [0.9, 1.1], "exit_codes": [0, 0]} for command in commands]
    source, output = tmp_path / "h.json", tmp_path / "s.json"
    source.write_text(json.dumps({"results": results}))
    session_writer.write(registry.read(source), output)
    text = output.read_text()
    assert "planted" not in text and "one-pw" not in text and "two-pw" not in text
    cases = Session.load(output).cases
    assert len(cases) == 2 and len({case.name for case in cases}) == 2 and "--token ***" in cases[0].name
