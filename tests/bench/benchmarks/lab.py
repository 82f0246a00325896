"""A Ray cluster on this machine for the benchmarks, and sweeps on it."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pexpect
import psutil

from benchtui.engine.client import Engine

STORE_BYTES = 80_000_000
DRAWN_S = 3.0
"""When an app has been drawn at last."""


@contextmanager
def ray_cluster(nodes: int) -> Iterator[str]:
    """A cluster of so many nodes of one processor each; gives its address."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster  # an extra

    cluster = Cluster()
    try:
        for _ in range(nodes):
            cluster.add_node(num_cpus=1, object_store_memory=STORE_BYTES, include_dashboard=False)
        yield cluster.address
    finally:
        cluster.shutdown()


def node_agents() -> list[psutil.Process]:
    """The stations below this process, each with all that it has started."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if "--station" in process.cmdline():
                found += [process, *process.children(recursive=True)]
        except psutil.Error:
            continue
    return found


class EngineUsage:
    """What an engine has taken of processor and memory, looked at until it ends."""

    def __init__(self, engine: Engine) -> None:
        self.cpu_s = 0.0
        self.rss_mb = 0.0
        self._engine = engine
        self._process = psutil.Process(engine.pid)

    def wait_until_ended(self) -> float:
        """Wait for its end; gives the seconds that took."""
        began_s = time.monotonic()
        while self._engine.alive():
            try:
                self.cpu_s = sum(self._process.cpu_times()[:2])
                self.rss_mb = max(self.rss_mb, self._process.memory_info().rss / 1e6)
            except psutil.Error:
                break
            time.sleep(0.2)
        return time.monotonic() - began_s


class Screen:
    """The app on a sweep, in a terminal of 120x40, and what it takes once it has been drawn."""

    def __init__(self, engine: Engine) -> None:
        command = str(Path(sys.executable).parent / "benchtui")
        self._app = pexpect.spawn(command, ["attach", str(engine.path)], dimensions=(40, 120), timeout=None)
        self._process = psutil.Process(self._app.pid)
        self._bytes = 0
        threading.Thread(target=self._drain, daemon=True).start()
        time.sleep(DRAWN_S)
        self._began = (time.monotonic(), self._used_s(), self._bytes)

    def usage(self) -> tuple[float, float, float]:
        """Percent of a processor, kB/s written, and resident MB; ends it."""
        began_s, used_s, written = self._began
        ran_s = time.monotonic() - began_s
        rss_mb = self._process.memory_info().rss / 1e6
        found = 100 * (self._used_s() - used_s) / ran_s, (self._bytes - written) / ran_s / 1000, rss_mb
        self._app.kill(signal.SIGTERM)
        return found

    def _used_s(self) -> float:
        return float(sum(self._process.cpu_times()[:2]))

    def _drain(self) -> None:
        with suppress(pexpect.EOF, OSError, ValueError):
            while True:
                self._bytes += len(self._app.read_nonblocking(65536, timeout=None))


def isolate(folder: str) -> None:
    """Keep what engines leave in a folder of their own."""
    names = ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "BENCHTUI_RUNTIME_DIR")
    os.environ |= {name: str(Path(folder) / name.lower()) for name in names}
