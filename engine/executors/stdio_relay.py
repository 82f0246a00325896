"""The two ends of a wire that is made of calls: one that holds the station, and one that asks it for more.

Neither knows what carries the calls. Ray does (``ray.py``), and any other means of calling would.
"""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from io import FileIO

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sanitize import visible

STATION = (sys.executable, "-P", "-m", "benchtui.engine", "--station")
"""The command of a station; -P keeps files of the working folder from taking a library's place."""
_MOST_BYTES = 1 << 20
_LONGEST = 300
_END_S = 2.0


class AgentProcess:
    """Holds a station on this machine, in a process in which nothing but benchtui is loaded."""

    def __init__(self, command: Sequence[str] = STATION, env: Mapping[str, str] | None = None) -> None:
        """Start the station; it ends with this object, or with the process that holds it."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the station)
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, env=env, bufsize=0
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError("a station is started with pipes")
        self._input, self._output = self._process.stdin, self._process.stdout

    @property
    def pid(self) -> int:
        """The station's process."""
        return self._process.pid

    def read(self) -> bytes:
        """What the station has said since the last call, waiting for it; raises BenchtuiError at its end."""
        said = os.read(self._output.fileno(), _MOST_BYTES)
        if said:
            return said
        status = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        self._errors.close()
        self._output.close()
        last = f": {visible(lines[-1], _LONGEST)}" if lines else ""
        raise BenchtuiError(f"its station ended with exit status {status}{last}")

    def write(self, message: bytes) -> None:
        """Say something to the station; to one that has ended nothing is said."""
        try:
            self._input.write(message + b"\n")
        except OSError:
            self._input.close()

    def close(self) -> None:
        """Let the station end, and kill it where it doesn't."""
        self._input.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()


class PullTransport:
    """A wire whose other end is called: a thread asks for more as soon as the last has come."""

    def __init__(
        self, fetch: Callable[[], bytes], write: Callable[[bytes], object], close: Callable[[], object]
    ) -> None:
        """``fetch`` waits for more, and raises BenchtuiError at the end of it; ``write`` never waits."""
        reader, self._writer = os.pipe()
        self.incoming = FileIO(reader, "rb")
        self._fetch = fetch
        self._write = write
        self._close = close
        self._why = "it was let go of"
        self._thread = threading.Thread(target=self._run, name="wire", daemon=True)
        self._thread.start()

    def send(self, message: bytes) -> None:
        """Say something to the station."""
        self._write(message)

    def why(self) -> str:
        """Why the station has ended."""
        return self._why

    def close(self) -> None:
        """Let go of the station."""
        self.incoming.close()
        self._close()

    def join(self) -> None:
        """Wait for the end of its thread, which follows that of the station."""
        self._thread.join(_END_S)

    def _run(self) -> None:
        try:
            while True:
                said = memoryview(self._fetch())
                while said:
                    said = said[os.write(self._writer, said) :]
        except BenchtuiError as error:
            self._why = str(error)
        except OSError:  # nobody reads any more
            pass
        finally:
            os.close(self._writer)
