import json
import os
import stat
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from journals import write_journal

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import AnyEvent, Message, SessionFinished, SessionStarted
from benchtui.sessions.journal import reader
from benchtui.sessions.journal.reader import Tail, Unknown, read
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.state.session import Session

NEWER = b'{"event":"case_moved","t":5.0,"to":{"host":"b"}}'


@pytest.fixture
def events(bench: Any) -> list[AnyEvent]:
    """A small whole session with a case that ended and one that was skipped."""
    made: list[AnyEvent] = bench.events(
        bench.case(ms=[1.0, 2.5]), bench.case(2, outcome="skipped", end={"reason": "no | such\n“device”"})
    )
    return made


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")


def test_finished_file_is_a_json_array_with_one_event_per_line(tmp_path: Path, events: list[AnyEvent]) -> None:
    path = write_journal(tmp_path / "s.json", events)
    whole = json.loads(path.read_text())
    lines = lines_of(path)
    assert [lines[0], *lines[-2:]] == [b"[", b"]", b""]
    assert [json.loads(line.rstrip(b",")) for line in lines[1:-2]] == whole
    assert [event["event"] for event in whole] == [
        "session_started",
        "runtime",
        "case_started",
        "case_prepared",
        "steps",
        "case_finished",
        "case_finished",
        "session_finished",
    ]
    assert whole[0]["schema"] == 3
    assert read(path) == reader.Recording([*events], torn=False)


def test_file_cut_anywhere_has_the_events_before_the_cut(tmp_path: Path, events: list[AnyEvent]) -> None:
    data = write_journal(tmp_path / "s.json", events).read_bytes()
    cut = tmp_path / "cut.json"
    closing = data.index(b"\n]\n")
    for size in range(data.index(b"\n", 2) + 1, len(data) + 1):
        cut.write_bytes(data[:size])
        recording = read(cut)
        whole_lines = data[:size].count(b"\n") - 1  # the first holds the bracket alone
        assert recording.events == events[:whole_lines], size
        assert recording.torn == (data[size - 1 : size] != b"\n" and size < closing + 2), size
        tail = Tail(cut)
        assert (tail.read(), tail.torn) == (recording.events, recording.torn), size
        tail.close()


def test_unknown_event_is_kept_as_written(tmp_path: Path, events: list[AnyEvent]) -> None:
    path = write_journal(tmp_path / "s.json", events)
    lines = lines_of(path)
    path.write_bytes(b"\n".join([*lines[:3], NEWER + b",", *lines[3:]]))
    assert read(path).events == [*events[:2], Unknown("case_moved", 5.0, NEWER), *events[2:]]


def test_unknown_field_is_ignored(tmp_path: Path, events: list[AnyEvent]) -> None:
    path = write_journal(tmp_path / "s.json", events)
    path.write_bytes(path.read_bytes().replace(b'"t":', b'"weather":{"rain":[1]},"t":'))
    assert read(path).events == events


@pytest.mark.parametrize("plan", [b'"plan":[', b'"plan":3,"was":['], ids=["readable", "of another shape"])
def test_newer_schema_is_rejected_naming_both_versions(
    tmp_path: Path, events: list[AnyEvent], plan: bytes
) -> None:
    path = write_journal(tmp_path / "s.json", events)
    path.write_bytes(path.read_bytes().replace(b'"schema":3', b'"schema":4').replace(b'"plan":[', plan))
    with pytest.raises(
        BenchtuiError, match=r"s\.json.* schema 4, but this version reads up to schema 3; update benchtui$"
    ):
        Session.load(path)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"event":"message","t":1.0,"lev', "not a session event"),
        (b'{"event":"message","t":1.0,"level":"loud","text":"x"},', "invalid message event"),
        (
            b'{"event":"steps","t":1.0,"case":0,"phase":"measure","wall_ms":["1"]},',
            r"invalid steps .*wall_ms\[0\]",
        ),
        (b'{"event":"steps","t":1.0,"case":-1,"phase":"measure","wall_ms":[]},', r"invalid steps .*\$\.case"),
        (b'{"event":"message","t":NaN,"level":"info","text":"x"},', "not a session event"),
        (b'{"event":"message","t":1e999,"level":"info","text":"x"},', "not a session event"),
        (b'{"event":"message","t":1.0,"level":"info","text":"\xff"},', "not a session event|invalid message"),
        (b'{"event":7,"t":1.0},', "not a session event"),
        (b'{"event":"new","t":-1.0},', "not a session event"),
        (b"[[1]],", "not a session event"),
        (b"\x1f\x8b\x00", "not a session event"),
        (b"[" * 100_000, "not a session event"),
        (b'{"event":"message","t":1.0,"x":' + b"[" * 100_000 + b"]" * 100_000 + b"},", "not a session event"),
    ],
    ids=range(13),
)
def test_broken_line_is_reported_with_its_number(
    tmp_path: Path, events: list[AnyEvent], line: bytes, why: str
) -> None:
    path = write_journal(tmp_path / "s.json", events)
    lines = lines_of(path)
    path.write_bytes(b"\n".join([*lines[:4], line, *lines[4:]]))
    with pytest.raises(BenchtuiError, match=rf"s\.json, line 5: ({why})"):
        read(path)
    with closing(Tail(path)) as tail:
        assert tail.read() == events[:3]
        for _ in range(2):
            with pytest.raises(BenchtuiError, match=rf"s\.json, line 5: ({why})"):
                tail.read()


@pytest.mark.parametrize(
    "text", ["model,batch\nbert,1\n", '{"a":1}', '[\n{"a": 1}\n]\n', '{\n"a": 1\n}\n', "PK"]
)
def test_error_of_a_file_by_another_tool_says_how_to_import_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "its results.csv"
    path.write_text(text)
    with pytest.raises(BenchtuiError, match=r"import it first: benchtui import '.*its results\.csv'$"):
        read(path)


@pytest.mark.parametrize("text", ["", "[", "]", "[]", "null", "{}", '{"a":1}', "\n\n", "PK\x03\x04", "[1,2]"])
def test_file_of_another_kind_is_rejected(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(BenchtuiError, match=r"other\.json: not a session file"):
        read(path)


def test_session_must_begin_with_session_started(tmp_path: Path, events: list[AnyEvent]) -> None:
    with pytest.raises(BenchtuiError, match="should begin with a session_started event"):
        read(write_journal(tmp_path / "s.json", events[1:]))


def test_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BenchtuiError, match=r"none\.json: can't be read: No such file"):
        read(tmp_path / "none.json")
    with pytest.raises(BenchtuiError, match="can't be read: Is a directory"):
        Tail(tmp_path)
    with pytest.raises(BenchtuiError, match="can't be read: embedded null byte"):
        read(tmp_path / "a\0b")


def test_session_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text("precious")
    with pytest.raises(BenchtuiError, match=r"s\.json: already exists; sessions are never overwritten"):
        Journal(path)
    assert path.read_text() == "precious"
    with pytest.raises(BenchtuiError, match="can't create the session file: No such file"):
        Journal(tmp_path / "none" / "s.json")


def test_only_the_owner_can_read_a_session(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        record = Journal(tmp_path / "s.json")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "s.json").stat().st_mode) == 0o600
    record.close()


def test_end_of_case_and_session_is_synced_to_disk(
    tmp_path: Path, events: list[AnyEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[bytes] = []
    path = tmp_path / "s.json"
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(lines_of(path)[-2]))
    write_journal(path, events[:-1])
    assert [json.loads(line.rstrip(b","))["case"] for line in synced] == [0, 1]
    record = Journal(tmp_path / "t.json")
    record.append(SessionFinished(t=0.0, outcome="completed"))
    record.close()
    assert len(synced) == 3


def test_full_disk_leaves_no_partial_line(
    tmp_path: Path, events: list[AnyEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.json"
    record = Journal(path)
    record.append(events[0])
    write, room = os.write, [20]

    def full(descriptor: int, data: Any) -> int:
        if not room:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[: room.pop()])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            record.append(events[1])
    record.append(events[2])
    record.close()
    assert read(path) == reader.Recording([events[0], events[2]], torn=False)
    assert record.bytes_written == path.stat().st_size


def test_removed_file_is_not_written_any_further(tmp_path: Path, events: list[AnyEvent]) -> None:
    path = tmp_path / "s.json"
    record = Journal(path)
    record.append(events[0])
    path.rename(tmp_path / "moved.json")
    record.append(events[1])
    (tmp_path / "moved.json").unlink()
    with pytest.raises(OSError, match="the file was removed"):
        record.append(events[2])
    record.close()


def test_first_event_that_does_not_fit_leaves_an_empty_file(
    tmp_path: Path, events: list[AnyEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.json"
    record = Journal(path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="No space left"):
            record.append(events[0])
    record.append(events[0])
    record.close()
    assert read(path).events == events[:1]


def test_file_without_events_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    Journal(path).close()
    assert not path.exists()
    empty, other = Journal(path), tmp_path / "moved.json"
    path.rename(other)
    path.write_text("of another")
    empty.close()
    assert (path.read_text(), other.exists()) == ("of another", True)


def test_threads_write_whole_lines(tmp_path: Path, events: list[AnyEvent]) -> None:
    path = tmp_path / "s.json"
    record = Journal(path)
    record.append(events[0])

    def write(thread: int) -> None:
        for number in range(100):
            record.append(Message(t=float(number), level="info", text=f"{thread} " + "x" * 200 * thread))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    record.append(events[-1])
    record.close()
    assert len(json.loads(path.read_text())) == 402
    messages = [event for event in read(path).events if isinstance(event, Message)]
    for number in range(4):
        assert [event.t for event in messages if event.text.startswith(f"{number} ")] == [
            float(n) for n in range(100)
        ]


def test_tail_returns_each_event_once_and_waits_for_whole_lines(tmp_path: Path, events: list[AnyEvent]) -> None:
    data = write_journal(tmp_path / "s.json", events).read_bytes()
    path = tmp_path / "growing.json"
    found: list[list[reader.AnyRecord]] = []
    with path.open("wb", buffering=0) as file:
        tail = Tail(path)
        assert tail.read() == [] and not tail.torn
        for start in range(0, len(data), 100):
            file.write(data[start : start + 100])
            found.append(tail.read())
            assert tail.torn == (not data[: start + 100].endswith(b"\n"))
    tail.close()
    assert [event for batch in found for event in batch] == events
    assert max(map(len, found)) < len(events)


def test_tail_can_continue_from_the_position_of_another(tmp_path: Path, events: list[AnyEvent]) -> None:
    path = write_journal(tmp_path / "s.json", events[:-1])
    whole = path.stat().st_size
    with path.open("ab") as file:
        file.write(b"oops\n")
    for size in range(whole):
        with closing(Tail(path)) as before:
            given = before.read(size)
            with closing(Tail(path, before.position)) as after:
                assert given + after.read() == events[:-1]
                with pytest.raises(
                    BenchtuiError, match=rf"s\.json, line {len(events) + 1}: not a session event"
                ):
                    after.read()


def test_tail_follows_a_writer(tmp_path: Path, events: list[AnyEvent]) -> None:
    path = tmp_path / "s.json"
    record = Journal(path)
    tail = Tail(path)

    def write() -> None:
        record.append(events[0])
        for number in range(300):
            record.append(Message(t=float(number), level="info", text="x" * number))
        record.append(events[-1])

    writer = threading.Thread(target=write)
    writer.start()
    found: list[reader.AnyRecord] = []
    while writer.is_alive():
        found += tail.read(1000)
        writer.join(0.001)
    found += tail.read()
    record.close()
    tail.close()
    assert isinstance(found[0], SessionStarted) and isinstance(found[-1], SessionFinished)
    assert [event.t for event in found[1:-1]] == [float(number) for number in range(300)]


def test_line_beyond_the_limit_is_rejected_with_its_number(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.json"
    record = Journal(path)
    for event in bench.events(bench.case(1, 1.0), finished=None):
        record.append(event)
    record.append(Message(t=1.0, level="info", text="x" * 3_000))
    record.close()
    assert len(list(reader.slices(path, 500))) > 6
    monkeypatch.setattr(reader, "LONGEST_LINE", 2_000)
    with pytest.raises(BenchtuiError, match=r"s\.json, line 8: longer than 0\.002 MB"):
        list(reader.slices(path, 500))


def test_plan_with_too_many_cases_is_rejected_before_decoding(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.json"
    write_journal(path, bench.events(*(bench.case(size) for size in range(1, 5))))
    monkeypatch.setattr(reader, "MOST_CASES", 4)
    assert len(Session.load(path).cases) == 4
    monkeypatch.setattr(reader, "MOST_CASES", 3)
    with pytest.raises(BenchtuiError, match="more than 3 cases"):
        read(path)


@pytest.mark.parametrize("piece_bytes", [7, 50, 100_000])
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": "), (" ,\t", "  : ")])
def test_planned_cases_are_counted_in_any_layout(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece_bytes: int, separators: tuple[str, str]
) -> None:
    configs = [bench.case(size, model='"device":', env='A="device":') for size in range(1, 5)]
    events = [json.loads(msgspec.json.encode(event)) for event in bench.events(*configs)]
    path = tmp_path / "s.json"
    path.write_text("[\n" + ",\n".join(json.dumps(event, separators=separators) for event in events) + "\n]\n")
    monkeypatch.setattr(reader, "SCAN_BYTES", piece_bytes)
    for most, too_many in ((4, False), (3, True)):
        monkeypatch.setattr(reader, "MOST_CASES", most)
        with path.open("rb") as file:
            assert reader._plans_too_many(file) is too_many
