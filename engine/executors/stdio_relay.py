"""Relay of a node agent's stdin and stdout through remote calls: one end runs the agent, the other polls it.

Neither end depends on the kind of remote call. ``ray.py`` uses Ray's.
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

NODE_AGENT_COMMAND = (sys.executable, "-P", "-m", "benchtui.engine", "--station")
"""Command line of a node agent. -P keeps files in the working directory from shadowing libraries."""
_MAX_READ_BYTES = 1 << 20
_MAX_ERROR_CHARS = 300
_END_S = 2.0


class AgentProcess:
    """Runs a node agent on this machine, in a process that loads only benchtui."""

    def __init__(
        self, command: Sequence[str] = NODE_AGENT_COMMAND, env: Mapping[str, str] | None = None
    ) -> None:
        """Start the node agent. It ends with this object or with the process that owns it."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the node agent)
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, env=env, bufsize=0
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError("a node agent is started with pipes")
        self._input, self._output = self._process.stdin, self._process.stdout

    @property
    def pid(self) -> int:
        """Process id of the node agent."""
        return self._process.pid

    def read(self) -> bytes:
        """Wait for the agent's output and return it; raise BenchtuiError at end of file."""
        output = os.read(self._output.fileno(), _MAX_READ_BYTES)
        if output:
            return output
        status = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        self._errors.close()
        self._output.close()
        last = f": {visible(lines[-1], _MAX_ERROR_CHARS)}" if lines else ""
        raise BenchtuiError(f"the node agent exited with status {status}{last}")

    def write(self, message: bytes) -> None:
        """Send a message to the node agent. Nothing is sent if it has ended."""
        try:
            self._input.write(message + b"\n")
        except OSError:
            self._input.close()

    def close(self) -> None:
        """Close the node agent's input, and kill the agent if it doesn't end."""
        self._input.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()


class PullTransport:
    """Transport that polls the other end from a thread. The next poll starts once output has arrived."""

    def __init__(
        self, fetch: Callable[[], bytes], write: Callable[[bytes], object], close: Callable[[], object]
    ) -> None:
        """Start polling.

        ``fetch`` blocks until there is output and raises BenchtuiError at end of file; ``write`` never blocks.
        """
        reader, self._writer = os.pipe()
        self.incoming = FileIO(reader, "rb")
        self._fetch = fetch
        self._write = write
        self._close = close
        self._why = "the connection was closed"
        self._thread = threading.Thread(target=self._run, name="transport", daemon=True)
        self._thread.start()

    def send(self, message: bytes) -> None:
        """Send a message to the node agent."""
        self._write(message)

    def why(self) -> str:
        """Return why the node agent has ended."""
        return self._why

    def close(self) -> None:
        """Close the connection and end the node agent."""
        self.incoming.close()
        self._close()

    def join(self) -> None:
        """Wait briefly for the polling thread, which ends after the node agent."""
        self._thread.join(_END_S)

    def _run(self) -> None:
        try:
            while True:
                output = memoryview(self._fetch())
                while output:
                    output = output[os.write(self._writer, output) :]
        except BenchtuiError as error:
            self._why = str(error)
        except OSError:  # the read end is closed
            pass
        finally:
            os.close(self._writer)
