import os
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from benchtui.engine import client
from benchtui.engine.control import (
    MAX_COMMAND_BYTES,
    Answer,
    Command,
    log_path,
    runtime_folder,
    send_command,
    socket_path,
)
from benchtui.engine.event_loop import EventLoop
from benchtui.engine.supervisor import control_server
from benchtui.engine.supervisor.control_server import MAX_CLIENTS, ControlServer
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import MOST_CASES, Config

ME = "0123456789ab"
STATUS = b'{"command":"status"}\n'


MANY = tuple(range(100_000))
"""Cases of an answer that is larger than a socket's buffer."""


class Served:
    """A server in a thread: refuses ``skip``, breaks over ``pause``, obeys the rest; keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.turns = 0
        self.raised: list[BaseException] = []
        self._loop = EventLoop()
        self._server = ControlServer(ME, self._loop, self._handle)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _handle(self, command: Command) -> Answer:
        self.asked.append(command.command)
        match command.command:
            case "skip":
                return Answer(ok=False, error="no case is running")
            case "pause":
                raise ZeroDivisionError("of all things")
            case "add":
                return Answer(ok=True, id=ME, cases=MANY)
        return Answer(ok=True, id=ME)

    def _serve(self) -> None:
        try:
            while not self._ended.is_set():
                self._loop.wait((), 0.05)
                self.turns += 1
        except BaseException as error:  # noqa: BLE001 the test asserts on it
            self.raised.append(error)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        self._server.close()
        assert self.raised == []


@pytest.fixture
def server(home: Path) -> Iterator[Served]:
    served = Served()
    yield served
    served.close()
    assert not socket_path(ME).exists()


def connected() -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(20)
    client.connect(str(socket_path(ME)))
    return client


def said(line: bytes) -> bytes:
    """What a line is answered with."""
    with connected() as client:
        client.sendall(line)
        return client.makefile("rb").readline()


def gone(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False


def until(reached: Callable[[], object]) -> None:
    deadline_s = time.monotonic() + 20
    while not reached():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


@pytest.mark.parametrize(
    "line",
    [
        b"not json\n",
        b'{"command":"explode"}\n',
        b'{"command":"status","x":' + b"[" * 100_000 + b"\n",
        b'{"command":"status","x":' + b'{"a":' * 100_000 + b"\n",
        b'{"command":"\xff"}\n',
        b'{"command":"status","\xff":1}\n',
        b'{"command":"\\ud800"}\n',
        b'{"command":"skip","cases":[1e999]}\n',
        b'{"command":"skip","cases":[' + b"9" * 5000 + b"]}\n",
        b'{"command":"stop"}\n{"command":"stop"}\n',
        b"\0\n",
        b"\n",
        b"x" * 100_000,
    ],
    ids=lambda line: repr(line[:40]),
)
def test_invalid_command_gets_a_one_line_error(
    server: Served, monkeypatch: pytest.MonkeyPatch, line: bytes
) -> None:
    monkeypatch.setattr(
        control_server, "MAX_COMMAND_BYTES", 90_000 if line.startswith(b"x") else MAX_COMMAND_BYTES
    )
    answer = msgspec.json.decode(said(line), type=Answer)
    assert not answer.ok and answer.error is not None
    assert answer.error.startswith("invalid command: ") and "\n" not in answer.error and len(answer.error) < 400
    assert server.asked == []
    assert send_command(socket_path(ME), Command(command="status")).ok


def test_incomplete_command_is_not_executed(server: Served) -> None:
    with connected() as client:
        client.sendall(b'{"command":"stop"}')
        client.shutdown(socket.SHUT_WR)
        assert b"invalid command: 18 bytes without a newline" in client.makefile("rb").readline()
    with connected():
        pass
    assert send_command(socket_path(ME), Command(command="status")).ok
    assert server.asked == ["status"]


def test_failing_command_does_not_end_the_server(server: Served) -> None:
    with pytest.raises(
        BenchtuiError, match="rejected the command 'pause': the command failed: ZeroDivisionError"
    ):
        send_command(socket_path(ME), Command(command="pause"))
    assert send_command(socket_path(ME), Command(command="status")).ok


def test_command_can_list_every_case_of_a_large_plan(server: Served) -> None:
    cases = tuple(range(MOST_CASES))
    assert send_command(socket_path(ME), Command(command="order", cases=cases)).ok
    config = Config(device="cuda:15", precision="amp-bf16", compile="reduce-overhead", padding="longest")
    assert len(msgspec.json.encode(config)) * MOST_CASES < MAX_COMMAND_BYTES


def test_answer_larger_than_the_socket_buffer_arrives_whole(server: Served) -> None:
    assert send_command(socket_path(ME), Command(command="add")).cases == MANY


@pytest.mark.parametrize("line", [b"", b'{"command":', b'{"command":"add"}\n'], ids=["mute", "half", "deaf"])
def test_silent_client_is_dropped(server: Served, monkeypatch: pytest.MonkeyPatch, line: bytes) -> None:
    monkeypatch.setattr(control_server, "CLIENT_TIMEOUT_S", 0.3)
    with connected() as client:
        client.sendall(line)
        began_s = time.monotonic()
        until(lambda: not server._server._clients and time.monotonic() - began_s > 0.1)
        assert 0.2 < time.monotonic() - began_s < 10


def test_slow_but_active_clients_are_kept(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_server, "CLIENT_TIMEOUT_S", 0.5)
    with connected() as client:
        for byte in STATUS:
            client.sendall(bytes([byte]))
            time.sleep(0.05)
        assert b'"ok":true' in client.makefile("rb").readline()


def test_extra_client_replaces_the_longest_idle_one(server: Served) -> None:
    speaking = connected()
    speaking.sendall(STATUS[:5])
    idle = [connected() for _ in range(MAX_CLIENTS - 1)]
    until(lambda: len(server._server._clients) == MAX_CLIENTS)
    assert send_command(socket_path(ME), Command(command="status")).ok
    newest = connected()
    until(lambda: gone(idle[0]))
    assert not any(map(gone, (speaking, newest, *idle[2:])))
    speaking.setblocking(True)
    speaking.sendall(STATUS[5:])
    assert b'"ok":true' in speaking.makefile("rb").readline()
    for each in (speaking, newest, *idle):
        each.close()


def test_flood_of_clients_is_served_at_a_bounded_rate(server: Served) -> None:
    ended = threading.Event()

    def flood() -> None:
        while not ended.is_set():
            said(STATUS)

    threads = [threading.Thread(target=flood) for _ in range(8)]
    for thread in threads:
        thread.start()
    before, began_s = len(server.asked), time.monotonic()
    time.sleep(1)
    rate = (len(server.asked) - before) / (time.monotonic() - began_s)
    assert send_command(socket_path(ME), Command(command="stop")).ok
    ended.set()
    for thread in threads:
        thread.join()
    assert rate <= 1.3 * MAX_CLIENTS / control_server.WINDOW_S


def test_client_waits_without_busy_loop_if_out_of_files(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_server, "PAUSE_S", 0.4)
    short = [True]
    accept = ControlServer._next_client

    def refused(self: ControlServer) -> object:
        if short:
            raise OSError(24, "Too many open files")
        return accept(self)

    monkeypatch.setattr(ControlServer, "_next_client", refused)
    with connected() as client:
        client.sendall(STATUS)
        before = server.turns
        time.sleep(0.5)
        assert server.turns - before < 30
        short.clear()
        assert b'"ok":true' in client.makefile("rb").readline()


@pytest.mark.parametrize("what", ["socket", "folder", "replaced"])
def test_removed_socket_is_recreated(server: Served, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    path = socket_path(ME)
    path.unlink()
    if what == "folder":
        path.parent.rmdir()
    elif what == "replaced":
        path.write_text("somebody else's")
        server._server._next_check_s = 0.0
        time.sleep(0.2)
        assert path.read_text() == "somebody else's"
        path.unlink()
    server._server._next_check_s = 0.0
    until(path.exists)
    until(lambda: client.running() or send_command(path, Command(command="status")).ok)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_starting_or_ending_engine_is_not_taken_for_a_dead_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Watched(socket.socket):
        """Has another process look for engines just before it listens, and once it is closed."""

        def listen(self, *arguments: int) -> None:
            client.running()
            super().listen(*arguments)

        def close(self) -> None:
            super().close()
            if not looking:
                looking.append(True)
                client.running()
                looking.clear()

    looking: list[bool] = []
    log_path(ME).write_text("a warning of torch\n")
    monkeypatch.setattr(client, "_ANSWER_S", 0.1)  # nobody answers while this thread is still starting
    monkeypatch.setattr(socket, "socket", Watched)
    served = Served()
    assert send_command(socket_path(ME), Command(command="status")).id == ME
    served.close()
    assert log_path(ME).read_text() == "a warning of torch\n"
    assert [path.name for path in runtime_folder().iterdir()] == [log_path(ME).name]


def test_socket_and_folder_are_private(server: Served) -> None:
    assert stat.S_IMODE(socket_path(ME).stat().st_mode) == 0o600
    assert stat.S_IMODE(runtime_folder().stat().st_mode) == 0o700


def test_unanswered_socket_names_the_path(home: Path) -> None:
    with pytest.raises(BenchtuiError, match=r"no response from an engine at .*/gone\.sock"):
        send_command(socket_path("gone"), Command(command="status"))


@pytest.mark.parametrize("answer", [b"\xff\n", b'{"ok":true,"x":' + b"[" * 100_000 + b"\n", b'{"ok":"\xff"}\n'])
def test_invalid_answer_is_a_one_line_error(home: Path, answer: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(socket_path(ME)))
        listening.listen()

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(BenchtuiError, match="no response from an engine at"):
            send_command(socket_path(ME), Command(command="status"))
        thread.join()


def test_runtime_folder_must_not_be_a_link(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = home / "link"
    link.symlink_to(home)
    monkeypatch.setenv("BENCHTUI_RUNTIME_DIR", str(link))
    with pytest.raises(BenchtuiError, match="must be a folder that you own"):
        runtime_folder()


@pytest.mark.parametrize("mode", [0o1777, 0o755, 0o770, 0o701, 0o500])
def test_runtime_folder_open_to_others_is_rejected_and_unchanged(
    home: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    shared = home / "shared"
    shared.mkdir()
    (shared / "x.sock").touch()
    shared.chmod(mode)
    monkeypatch.setenv("BENCHTUI_RUNTIME_DIR", str(shared))
    with pytest.raises(BenchtuiError, match=rf"shared: the runtime folder has mode {mode:04o}; .*chmod 700"):
        client.running()
    assert stat.S_IMODE(shared.stat().st_mode) == mode
    assert (shared / "x.sock").exists()


def test_files_of_others_are_never_removed(home: Path) -> None:
    folder = runtime_folder()
    kept = [folder / name for name in ("x.sock", f"{ME}.sock", "0123456789AB.sock", "x.log", f"{ME}.log")]
    for path in kept:
        path.touch()
    (folder / "abcdefabcdef.sock").symlink_to(folder / "deaf.sock")
    for name in ("deaf.sock", "aaaaaaaaaaaa.sock"):
        with socket.socket(socket.AF_UNIX) as deaf:
            deaf.bind(str(folder / name))
    (folder / "aaaaaaaaaaaa.log").mkdir()
    before = set(os.listdir(folder))
    assert client.running() == []
    assert before - set(os.listdir(folder)) == {"aaaaaaaaaaaa.sock"}


def test_runtime_folder_with_too_long_a_path_is_rejected_before_creation(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits = Path(os.environ["BENCHTUI_RUNTIME_DIR"])
    fits /= "é" * 10 + "x" * (107 - len(str(fits)) - 20 - len(f"//{ME}.sock"))
    monkeypatch.setenv("BENCHTUI_RUNTIME_DIR", str(fits))
    served = Served()
    assert send_command(socket_path(ME), Command(command="status")).ok
    served.close()
    longer = fits.with_name(f"{fits.name}x")
    monkeypatch.setenv("BENCHTUI_RUNTIME_DIR", str(longer))
    for ask_for in (runtime_folder, client.running, lambda: log_path(ME)):
        with pytest.raises(BenchtuiError, match=r"x: the path of the runtime folder is too long .*: 108 bytes"):
            ask_for()
    assert not longer.exists()
