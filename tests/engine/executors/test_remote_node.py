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


def test_it_is_found_and_takes_no_commands(home: Path) -> None:
    engine = client.find(written(home / "s.json", "another-box"))
    assert engine is not None and engine.alive() and engine.last_words() is None
    with pytest.raises(BenchtuiError, match="runs on another-box, and takes commands there alone"):
        engine.stop()


def test_it_is_gone_once_the_record_has_not_grown_for_a_minute(home: Path) -> None:
    path = written(home / "s.json", "another-box")
    engine = client.find(path)
    os.utime(path, (time.time() - 61, time.time() - 61))
    assert engine is not None and not engine.alive()
    assert client.find(path) is None


@pytest.mark.parametrize("hostname", [None, os.uname().nodename])
def test_a_record_of_this_machine_without_an_engine_was_cut_off(home: Path, hostname: str | None) -> None:
    assert client.find(written(home / "s.json", hostname)) is None


def test_a_file_that_is_no_session_has_no_engine(home: Path) -> None:
    (home / "s.json").write_text("[\n{}\n")
    assert client.find(home / "s.json") is None
    assert client.find(home / "none.json") is None
