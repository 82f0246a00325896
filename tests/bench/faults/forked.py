"""Commands in forks of a process that has loaded the program: its entry point and real streams, no start-up.

``Forked`` starts this file as a process, which reads a call per line and answers with its exit status.
"""

import json
import os
import select
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

LOADED = (
    "benchtui.tui.cli",
    "benchtui.tui.app",
    "benchtui.engine.client",
    "benchtui.sessions.export.dataframe",
    "benchtui.sessions.importers.registry",
    "benchtui.sessions.plots.render",
    "benchtui.sessions.export.case_export",
    "benchtui.sessions.export.step_export",
    "benchtui.sessions.report.html",
    "benchtui.tui.cli.text.progress",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "matplotlib.font_manager",
)
"""Modules that commands need; loaded once, so that a call costs a fork."""
PATIENCE_S = 240.0


class Forked:
    """Runs commands; use it as a context manager."""

    def __init__(self) -> None:
        words = [sys.executable, __file__]
        self._server = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> "Forked":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.kill()
        self._server.communicate()

    def run(
        self, words: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command to its end, without input."""
        assert self._server.stdin and self._server.stdout
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            streams = [f"/proc/{os.getpid()}/fd/{each.fileno()}" for each in (out, err)]
            call = [words, str(folder), dict(environment), streams]
            self._server.stdin.write(json.dumps(call).encode() + b"\n")
            self._server.stdin.flush()
            assert select.select([self._server.stdout], [], [], PATIENCE_S)[0], words
            status = int(self._server.stdout.readline())
            return subprocess.CompletedProcess(words, status, *(_read(each) for each in (out, err)))


def _read(file: Any) -> bytes:
    file.seek(0)
    data: bytes = file.read()
    return data


def load() -> None:
    """Load the program once. Fonts are cached in a folder of this process."""
    with tempfile.TemporaryDirectory(prefix="forked-mpl-") as folder:
        os.environ["MPLCONFIGDIR"] = folder
        for name in LOADED:
            import_module(name)


def status_of_main() -> int:
    """Run the command as the interpreter does, and return its exit status."""
    from benchtui.tui import cli  # loaded before the fork

    status = 0
    try:
        cli.main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  (whatever comes out here is a fault)
        status = 1
        if sys.stderr is not None:
            with suppress(OSError):
                traceback.print_exc()
                sys.stderr.flush()
    return status or _flushed()


def _flushed() -> int:
    """Return what the interpreter makes of standard output that can't be written at its end: status 120."""
    try:
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
    except OSError as error:
        with suppress(OSError):
            os.write(2, f"Exception ignored in stdout: {error}".encode())
        return 120
    return 0


def _become(words: list[str], folder: str, environment: dict[str, str], streams: list[str]) -> int:
    """In a forked process: set up what the command finds, and run it."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for target, path in enumerate(streams, 1):
        os.dup2(os.open(path, os.O_WRONLY), target)
    os.closerange(3, 256)
    sys.stdin = open(0)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv = ["benchtui", *words]
    return status_of_main()


def _serve() -> None:
    load()
    for line in sys.stdin.buffer:
        if (pid := os.fork()) == 0:
            status = 99
            try:
                status = _become(*json.loads(line))
            finally:
                os._exit(status)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    _serve()
