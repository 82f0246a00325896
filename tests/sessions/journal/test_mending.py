"""Resumed session files: however they ended, and wherever the process that repairs them is killed."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from journals import write_journal

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import AnyEvent, CaseStarted, Message, Resumed, SessionFinished, Steps
from benchtui.sessions.journal import writer
from benchtui.sessions.journal.reader import Tail, read
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import Host
from benchtui.sessions.sweep import Config

RESUMED = Resumed(t=99.0, created="2026-11-21T12:00:00Z", host=Host(), cases=(0,))
END = SessionFinished(t=100.0, outcome="completed")


@pytest.fixture
def events(bench: Any) -> list[AnyEvent]:
    """A small session, interrupted before its end."""
    made: list[AnyEvent] = bench.events(bench.case(ms=[1.0, 2.5]), finished="interrupted")
    return made


def write_session(path: Path, events: list[AnyEvent]) -> bytes:
    return write_journal(path, events).read_bytes()


def resume(path: Path, *more: AnyEvent) -> None:
    record = Journal(path, resumed=True)
    try:
        for event in more:
            record.append(event)
    finally:
        record.close()


def test_file_cut_anywhere_can_be_resumed_and_ends_as_one_array(tmp_path: Path, events: list[AnyEvent]) -> None:
    path = tmp_path / "s.json"
    data = write_session(path, events)
    for size in range(data.index(b"\n", 2) + 1, len(data) + 1):
        path.write_bytes(data[:size])
        before = read(path).events
        resume(path, RESUMED, END)
        assert read(path).events == [*before, RESUMED, END], size
        whole = json.loads(path.read_text())
        assert [each["event"] for each in whole][-2:] == ["resumed", "session_finished"]
        assert len(whole) == len(before) + 2


def test_partial_line_ending_in_a_bracket_is_not_a_closed_file(tmp_path: Path, events: list[AnyEvent]) -> None:
    path = tmp_path / "s.json"
    torn = b'{"event":"steps","t":1.0,"case":0,"phase":"measure","wall_ms":[1.0,2.0]'
    path.write_bytes(write_session(path, events[:-1]) + torn)
    resume(path, RESUMED)
    assert read(path).events == [*events[:-1], RESUMED]


def test_trailing_white_space_and_long_partial_lines_are_repaired(
    tmp_path: Path, events: list[AnyEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_CHUNK_BYTES", 7)
    path = tmp_path / "s.json"
    closed = write_session(path, events)
    cut = write_session(path, events[:-1])
    for data, known in (
        (closed.rstrip(), events),
        (closed + b"\n  \n", events),
        (cut + b" " * 20, events[:-1]),
        (cut + b'{"event":"steps","wall_ms":[' + b"1.0," * 50, events[:-1]),
    ):
        path.write_bytes(data)
        resume(path, RESUMED, END)
        assert read(path).events == [*known, RESUMED, END], data[-40:]
        assert len(json.loads(path.read_text())) == len(known) + 2


class KilledError(BaseException):
    """Simulates a kill in the middle of a system call."""


def killing_calls(call: int, letters: int) -> dict[str, Callable[..., Any]]:
    """Replacements for the calls that change a file. The given call kills the process, a write half done."""
    made = [0]

    def replacement(real: Callable[..., Any], half: Callable[..., Any]) -> Callable[..., Any]:
        def call_or_die(*arguments: Any) -> Any:
            made[0] += 1
            if made[0] > call:
                half(*arguments)
                raise KilledError
            return real(*arguments)

        return call_or_die

    write = os.write
    return {
        "ftruncate": replacement(os.ftruncate, lambda *_: None),
        "pwrite": replacement(os.pwrite, lambda *_: None),
        "write": replacement(write, lambda fd, data: write(fd, bytes(data)[:letters])),
    }


@pytest.mark.parametrize("ending", ["closed", "torn", "no comma"])
def test_file_survives_a_kill_anywhere_during_repair(
    tmp_path: Path, events: list[AnyEvent], ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.json"
    closed = write_session(path, events)
    data, known = {
        "closed": (closed, events),
        "torn": (write_session(path, events[:-1]) + b'{"event":"me', events[:-1]),
        "no comma": (closed.removesuffix(b"]\n"), events),
    }[ending]
    seen = set()
    for call in range(4):
        for letters in (0, 1, 2, 3, 40):
            path.write_bytes(data)
            with monkeypatch.context() as patched:
                for name, replacement in killing_calls(call, letters).items():
                    patched.setattr(os, name, replacement)
                try:
                    resume(path, RESUMED)
                    seen.add("ended")
                except KilledError:
                    seen.add("killed")
            assert read(path).events[: len(known)] == known
            resume(path, RESUMED, END)
            assert read(path).events in ([*known, RESUMED, END], [*known, RESUMED, RESUMED, END])
            json.loads(path.read_text())
    assert seen == {"ended", "killed"}


def test_full_disk_leaves_a_resumable_file(
    tmp_path: Path, events: list[AnyEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(write_session(path, events).removesuffix(b"]\n"))  # its last line still lacks a comma
    record, write = Journal(path, resumed=True), os.write

    def full(fd: int, data: bytes) -> int:
        write(fd, bytes(data)[:5])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            record.append(RESUMED)
    assert read(path).events == events
    record.append(RESUMED)
    record.append(END)
    record.close()
    assert read(path).events == [*events, RESUMED, END]
    json.loads(path.read_text())


def test_opening_a_file_to_resume_changes_nothing(tmp_path: Path, events: list[AnyEvent]) -> None:
    path = tmp_path / "s.json"
    data = write_session(path, events)
    resume(path)
    assert path.read_bytes() == data


def test_file_being_written_is_rejected(tmp_path: Path, events: list[AnyEvent]) -> None:
    path = tmp_path / "s.json"
    first = Journal(path)
    first.append(events[0])
    with pytest.raises(
        BenchtuiError, match=f"{path}: in use by a running sweep; watch it with `benchtui attach"
    ):
        Journal(path, resumed=True)
    first.close()
    second = Journal(path, resumed=True)
    with pytest.raises(BenchtuiError, match="in use by a running sweep"):
        Journal(path, resumed=True)
    second.close()


@pytest.mark.parametrize(("name", "reason"), [("none.json", "No such file"), ("folder", "Is a directory")])
def test_read_only_file_is_rejected(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(BenchtuiError, match=f"{name}: can't open the session file for writing: {reason}"):
        Journal(tmp_path / name, resumed=True)


@pytest.mark.parametrize("torn", [b"", b'{"event":"message","t":3', b'{"event":"message","t":3' + b" " * 400])
def test_reader_of_a_cut_off_file_sees_the_resumed_events(
    tmp_path: Path, events: list[AnyEvent], torn: bytes
) -> None:
    """Also if the part of a torn line that was read has been replaced since."""
    path = tmp_path / "s.json"
    data = write_session(path, events[:-1] if torn else events)
    path.write_bytes(data + torn)
    tail = Tail(path)
    seen = tail.read()
    more: list[AnyEvent] = [
        RESUMED,
        CaseStarted(t=99.0, case=0, config=Config(device="cpu")),
        *(Steps(t=99.0, case=0, phase="measure", wall_ms=[1.0] * 9) for _ in range(5)),
        Message(t=99.5, level="info", text="x"),
    ]
    record = Journal(path, resumed=True)
    for event in more:
        record.append(event)
        seen += tail.read()
    record.append(END)
    record.close()
    seen += tail.read(16) + tail.read()
    assert seen == [*read(path).events]
    assert tail.at_end
    tail.close()


def test_persistently_broken_line_is_reported_with_its_number(tmp_path: Path, events: list[AnyEvent]) -> None:
    path = tmp_path / "s.json"
    data = write_session(path, events[:-1])
    path.write_bytes(data + b'{"event":')
    tail = Tail(path)
    tail.read()
    with path.open("ab") as file:
        file.write(b"nonsense},\n")
    number = data.count(b"\n") + 1
    for _ in range(2):
        with pytest.raises(BenchtuiError, match=f"line {number}: not a session event"):
            tail.read(5)
            tail.read()
    tail.close()


def test_existing_file_is_never_removed(tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.touch()
    Journal(path, resumed=True).close()
    assert path.exists()
