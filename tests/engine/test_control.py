import selectors
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from benchtui.engine import control
from benchtui.engine.control import Answer, Command, ControlServer, ask, runtime_folder, socket_path
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import MOST_CASES, Config


@pytest.fixture
def server(home: Path) -> Iterator[list[str]]:
    """A server in a thread that obeys everything but ``skip``; what it was asked for is collected."""
    asked: list[str] = []

    def handle(command: Command) -> Answer:
        asked.append(command.command)
        return (
            Answer(ok=False, error="no case is running")
            if command.command == "skip"
            else Answer(ok=True, id="me")
        )

    selector = selectors.DefaultSelector()
    server = ControlServer("me", selector, handle)
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            for key, _ in selector.select(0.05):
                key.data()

    thread = threading.Thread(target=serve)
    thread.start()
    yield asked
    ended.set()
    thread.join()
    server.close()
    selector.close()
    assert not socket_path("me").exists()


def test_a_command_is_answered(server: list[str]) -> None:
    assert ask(socket_path("me"), Command(command="status")).id == "me"
    assert server == ["status"]


def test_a_refusal_reaches_the_one_who_asked(server: list[str]) -> None:
    with pytest.raises(BenchtuiError, match="refuses to skip: no case is running"):
        ask(socket_path("me"), Command(command="skip"))


def test_a_broken_command_is_answered_and_the_server_lives_on(
    server: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "_LONGEST_LINE", 90_000)
    for line in (b"not json\n", b'{"command":"explode"}\n', b"x" * 100_000):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(socket_path("me")))
            client.sendall(line)
            assert b'"ok":false' in client.recv(4096)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(socket_path("me")))
    assert ask(socket_path("me"), Command(command="status")).ok


def test_a_command_may_name_every_case_of_a_large_plan(server: list[str]) -> None:
    cases = tuple(range(MOST_CASES))
    assert ask(socket_path("me"), Command(command="order", cases=cases)).ok
    config = Config(device="cuda:15", precision="amp-bf16", compile="reduce-overhead", padding="longest")
    assert len(msgspec.json.encode(config)) * MOST_CASES < control._LONGEST_LINE


def test_socket_and_folder_are_the_users_alone(server: list[str]) -> None:
    assert stat.S_IMODE(socket_path("me").stat().st_mode) == 0o600
    assert stat.S_IMODE(runtime_folder().stat().st_mode) == 0o700


def test_where_nothing_listens_the_path_is_named(home: Path) -> None:
    with pytest.raises(BenchtuiError, match=r"no engine answers at .*/gone\.sock"):
        ask(socket_path("gone"), Command(command="status"))


def test_a_link_in_place_of_the_runtime_folder_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = home / "link"
    link.symlink_to(home)
    monkeypatch.setenv("BENCHTUI_RUNTIME_DIR", str(link))
    with pytest.raises(BenchtuiError, match="not a folder of yours"):
        runtime_folder()
