"""The installed command, as a user runs it: without a terminal, and in one."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pyte
import pytest
from forked import Forked

from benchtui.engine import client

PATIENCE_S = 90.0


class Terminal:
    """A command in a pseudo-terminal, and the screen it has drawn."""

    def __init__(self, command: str, arguments: list[str], columns: int, rows: int, folder: Path) -> None:
        self.output = b""
        """What the app has written."""
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        self.process = pexpect.spawn(
            command, arguments, cwd=folder, dimensions=(rows, columns), env=environment, timeout=PATIENCE_S
        )

    def read(self) -> None:
        """Read drawn output, waiting briefly for it. After the end of the output, let the process exit."""
        try:
            read = self.process.read_nonblocking(65536, timeout=0.2)
            self.output += read
            self._stream.feed(read)
        except pexpect.TIMEOUT:
            return
        except pexpect.EOF:
            time.sleep(0.05)

    def erase(self) -> None:
        """Forget what has been drawn, as a shell does that draws over it."""
        self._screen.reset()

    @property
    def text(self) -> str:
        return "\n".join(self._screen.display)

    def wait_for(self, pattern: str, *, previous: str | None = None) -> str:
        """Wait until a pattern matches text other than ``previous``, and return the match."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := re.search(pattern, self.text)) or found.group(0) == previous:
            assert time.monotonic() < deadline, f"{pattern!r} didn't come; the screen:\n{self.text}"
            self.read()
        return found.group(0)

    def press(self, keys: str, pattern: str = "") -> str:
        """Type keys, wait until the pattern matches, and return the match."""
        self.process.send(keys)
        return self.wait_for(pattern)

    def wait_for_exit(self) -> int:
        self.process.expect(pexpect.EOF)
        self._stream.feed(self.process.before or b"")
        self.process.close()
        assert self.process.exitstatus is not None
        return int(self.process.exitstatus)


STARTING_ENGINES = {"run", "find", "explain"}


@pytest.fixture
def benchtui(home: Path, command: str, forked: Forked) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command without a terminal, to its end; those that start no engine without their start-up."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        if not set(arguments[:1]) & STARTING_ENGINES:
            done = forked.run([os.fspath(word) for word in arguments], home, os.environ)
            return subprocess.CompletedProcess(
                done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
            )
        return subprocess.run(
            [command, *arguments],
            cwd=home,
            capture_output=True,
            text=True,
            timeout=180,
            stdin=subprocess.DEVNULL,
        )

    return run


@pytest.fixture
def sweep_file(home: Path, tiny_model: Path) -> Path:
    """A sweep of two quick cases."""
    path = home / "tiny.toml"
    path.write_text(
        f'model = "{tiny_model}"\nweights = "random"\n'
        "[axes]\nbatch_size = [1, 2]\nsequence_length = 16\n"
        "[run]\nwait_for_quiet = 'off'\n[measure]\nwarmup = 1\niterations = 20\npeaks = false\n"
    )
    return path


@pytest.fixture
def open_app(home: Path, command: str) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def run(*arguments: str, columns: int = 120, rows: int = 40, command: str = command) -> Terminal:
        opened.append(Terminal(command, list(arguments), columns, rows, home))
        return opened[-1]

    yield run
    for terminal in opened:
        terminal.process.close(force=True)
    for engine in client.running():
        os.kill(engine.pid, signal.SIGKILL)
