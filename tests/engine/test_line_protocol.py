import os
import threading
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection

import pytest

from benchtui.engine import line_protocol as lines_module
from benchtui.engine.line_protocol import Lines, send
from benchtui.sessions.errors import BenchtuiError

Ends = tuple[Connection, Connection]


@pytest.fixture
def ends() -> Iterator[Ends]:
    reader, writer = Pipe(duplex=False)
    yield reader, writer
    reader.close()
    writer.close()


def test_messages_arrive_whole_however_they_are_split(ends: Ends) -> None:
    reader, writer = ends
    lines = Lines(reader)
    assert lines.read(4) == []
    send(writer, b"one")
    os.write(writer.fileno(), b"two\nthr")
    assert lines.read(4) == [b"one", b"two"]
    assert lines.read(4) == [], "half a message keeps nobody waiting"
    send(writer, b"ee")
    assert lines.read(4) == [b"three"]


def test_message_larger_than_the_pipe_arrives(ends: Ends) -> None:
    reader, writer = ends
    lines, message = Lines(reader), b"x" * 1_000_000
    thread = threading.Thread(target=send, args=(writer, message))
    thread.start()
    found: list[bytes] = []
    while not found:
        found = lines.read(1)
    thread.join()
    assert found == [message]


def test_end_of_file_closes_the_pipe_and_drops_a_partial_message(ends: Ends) -> None:
    reader, writer = ends
    lines = Lines(reader)
    send(writer, b"one")
    os.write(writer.fileno(), b"half")
    writer.close()
    assert lines.read(4) == [b"one"]
    assert reader.closed
    assert lines.read(4) == []


def test_next_read_continues(ends: Ends) -> None:
    reader, writer = ends
    os.set_blocking(writer.fileno(), False)
    lines = Lines(reader)
    for _ in range(3):
        os.write(writer.fileno(), b"x\n" * 1000)
    assert len(lines.read(1)) == 3000
    assert lines.read(0) == []


def test_endless_message_is_rejected(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "MAX_MESSAGE_BYTES", 10)
    reader, writer = ends
    os.write(writer.fileno(), b"x" * 11)
    with pytest.raises(BenchtuiError, match="without a newline"):
        Lines(reader).read(4)
    assert reader.closed
