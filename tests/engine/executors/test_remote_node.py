"""A session that an engine of another machine writes into a shared folder."""

import os
import time
from pathlib import Path

import pytest

from benchtui.engine import client
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import SessionStarted
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import Host
from benchtui.sessions.sweep import Config, Sweep


def written(path: Path, hostname: str | None) -> Path:
    journal = Journal(path)
    sweep, plan = Sweep(name="far", model="m"), (Config(device="cpu"),)
    host = Host(hostname=hostname)
    journal.append(
        SessionStarted(t=0.0, id="far", created="2026-11-21T10:00:00Z", sweep=sweep, plan=plan, host=host)
    )
    journal.close()
    return path


def test_remote_engine_is_found_but_rejects_commands(home: Path) -> None:
    engine = client.find(written(home / "s.json", "another-box"))
    assert engine is not None and engine.alive() and engine.last_words() is None
    with pytest.raises(BenchtuiError, match="runs on another-box; send the command from that machine"):
        engine.stop()


def test_remote_engine_is_gone_after_a_minute_without_growth(home: Path) -> None:
    path = written(home / "s.json", "another-box")
    engine = client.find(path)
    os.utime(path, (time.time() - 61, time.time() - 61))
    assert engine is not None and not engine.alive()
    assert client.find(path) is None


@pytest.mark.parametrize("hostname", [None, os.uname().nodename])
def test_local_session_without_an_engine_has_no_engine(home: Path, hostname: str | None) -> None:
    assert client.find(written(home / "s.json", hostname)) is None


def test_invalid_or_missing_session_file_has_no_engine(home: Path) -> None:
    (home / "s.json").write_text("[\n{}\n")
    assert client.find(home / "s.json") is None
    assert client.find(home / "none.json") is None
