"""Rescue of a session whose file others have damaged."""

import errno
import json
import os
from pathlib import Path

import pytest

from benchtui.engine.supervisor import session_writer
from benchtui.engine.supervisor.session_writer import SessionLog
from benchtui.sessions.events import Message, SessionFinished
from benchtui.sessions.journal.backup import FileDamage
from benchtui.sessions.journal.reader import Tail
from benchtui.sessions.journal.writer import Journal


def message(text: str) -> Message:
    return Message(t=1.0, level="info", text=text)


def test_damage_found_before_the_last_event_is_reported_before_it(tmp_path: Path) -> None:
    path, saved = tmp_path / "s.json", tmp_path / "s.rescued.json"
    log = SessionLog(Journal(path, backup=True))
    log.write_message("one")
    os.truncate(path, 0)
    log.write(SessionFinished(t=2.0, outcome="completed"))
    log.close()
    events = json.loads(saved.read_text())
    assert [event["event"] for event in events] == ["message", "message", "session_finished"]
    assert events[1]["text"].startswith(f"{path}: the file was truncated during the sweep; ")
    assert (log.path, path.read_bytes()) == (saved, b"")


def test_damage_at_the_moment_of_writing_is_reported_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, saved = tmp_path / "s.json", tmp_path / "s.rescued.json"
    log = SessionLog(Journal(path, backup=True))
    log.write_message("one")

    def cut(event: Message, replacement: object) -> Message:
        os.truncate(path, 0)
        return event

    monkeypatch.setattr(session_writer, "cut_long_texts", cut)
    log.write_message("two")
    log.close()
    texts = [event["text"] for event in json.loads(saved.read_text() + "{}]")[:-1]]
    assert texts[0] == "one" and texts[2] == "two"
    assert texts[1].startswith(f"{path}: the file was truncated during the sweep; ")


def test_damaged_file_without_a_backup_is_an_error_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    journal = Journal(path)
    journal.append(message("one"))
    os.truncate(path, 3)
    for _ in range(2):
        with pytest.raises(OSError, match="the file was truncated"):
            journal.append(message("two"))
    assert path.stat().st_size == 3
    journal.close()


def test_full_disk_drops_the_backup_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, write, full = tmp_path / "s.json", os.write, [True]
    journal = Journal(path, backup=True)
    journal.append(message("one"))

    def refuse(fd: int, data: bytes) -> int:
        if full.pop():
            full.append(False)
            write(fd, bytes(data)[:5])
            raise OSError(errno.ENOSPC, "No space left on device")
        full.append(False)
        return write(fd, data)

    monkeypatch.setattr(os, "write", refuse)
    assert journal.append(message("two")) is None
    journal.append(SessionFinished(t=2.0, outcome="completed"))
    assert len(json.loads(path.read_text())) == 3
    os.truncate(path, 0)
    with pytest.raises(OSError, match="the file was truncated"):
        journal.append(message("three"))
    journal.close()


def test_rescue_uses_a_free_name_and_readers_find_it(tmp_path: Path) -> None:
    path, taken = tmp_path / "s.json", tmp_path / "s.rescued.json"
    taken.write_text('[\n{"event":"message","t":0.0,"level":"info","text":"of another session"},\n')
    journal = Journal(path, backup=True)
    journal.append(message("one"))
    tail = Tail(path)
    assert [event.text for event in tail.read() if isinstance(event, Message)] == ["one"]
    path.unlink()
    saved = tmp_path / "s.rescued-2.json"
    damages: list[FileDamage] = []

    def note(damage: FileDamage) -> Message:
        damages.append(damage)
        return message("damaged")

    journal.append(message("two"), note)
    assert damages == [FileDamage("the file was removed", path, saved)]
    assert [event.text for event in tail.read() if isinstance(event, Message)] == ["damaged", "two"]
    tail.close()
    journal.close()
    assert "of another session" in taken.read_text()
    assert {each.name for each in tmp_path.iterdir()} == {taken.name, saved.name}
