from pathlib import Path

import pytest

from benchtui.sessions.library.file_kinds import holds_events


@pytest.mark.parametrize(
    ("text", "events"),
    [
        ('[\n{"event":"session_started","t":0.0}', True),
        ('[\n  {\n    "event": "session_started"', True),
        ('{"event":"session_started","t":0.0},\n', True),
        ('[\n{"event":"message","t":0.0}', True),
        ("", False),
        ('[{"latency": 1.0}]', False),
        ('name = "sweep"\n', False),
    ],
)
def test_file_of_events_is_read_as_a_session(tmp_path: Path, text: str, events: bool) -> None:
    (tmp_path / "file").write_text(text)
    assert holds_events(tmp_path / "file") is events


def test_missing_file_holds_no_events(tmp_path: Path) -> None:
    assert not holds_events(tmp_path / "none")
