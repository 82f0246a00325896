"""First checks on a GPU, in four parts of at most nine minutes: `make gpu-first PART=1`.

Each check runs in a process of its own: one that fails, hangs or crashes costs only itself. Findings are
written at once (``part-N.jsonl``), so that a part that is cut off keeps them; ``gpu-first.md`` sums up all
parts in the folder. The sessions of the presets are kept beside them.
"""

import argparse
import importlib
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from time import monotonic, sleep
from unittest import mock

import psutil
import pynvml
from checks import PART_S, Check, by_name, of_part
from findings import SUMMARY, Findings, Log, Outcome, read, summary

from benchtui.engine import client
from benchtui.sessions.errors import BenchtuiError

LEAST_S = 15.0
"""Time below which a check isn't started: torch alone takes some of it to import."""
GRACE_S = 10.0
"""Time that an engine gets to complete its session file."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a part, or one check in its own process. Return the exit status: 1 if a check differs or failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", type=int, choices=(1, 2, 3, 4), required=True)
    parser.add_argument("--out", type=Path, default=Path(".gpu-first"), help="folder for findings and sessions")
    parser.add_argument("--brief", action="store_true", help="try all of it in short, numbers aside")
    parser.add_argument("--check", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.check:
        run_check(by_name(given.check), Log(_log(given.out, given.part)), given.out, given.brief)
        return 0
    # what a check started ends with this process, also when a time limit ends it
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    return run_part(given.part, given.out.absolute(), given.brief)


def run_check(check: Check, log: Log, out: Path, brief: bool) -> None:
    """Run a check in this process."""
    module, _, function = check.function.partition(":")
    getattr(importlib.import_module(module), function)(Findings(check, log, out, brief))


def run_part(part: int, out: Path, brief: bool) -> int:
    """Run the checks of a part one after another, print and keep what they find."""
    until_s = monotonic() + PART_S
    out.mkdir(parents=True, exist_ok=True)
    path = _log(out, part)
    path.unlink(missing_ok=True)
    options = ["--part", str(part), "--out", str(out), *(["--brief"] if brief else [])]
    for check in of_part(part):
        print(f"\n[{check.number}] {check.name}\n    expected:  {check.expected}", flush=True)
        command = [sys.executable, __file__, *options, "--check", check.name]
        supervise(check, command, Log(path), min(check.limit_s, until_s - monotonic()))
        (out / SUMMARY).write_text(summary(read(out), machine()), "utf-8")
        _print(next(each for each in read(out) if each.check is check))
    print(f"\n{out / SUMMARY}")
    states = [each.state for each in read(out) if each.check.part == part]
    return int(any(state not in ("as expected", "figures only") for state in states))


def supervise(check: Check, command: Sequence[str], log: Log, limit_s: float) -> None:
    """Run a check's process within its time, and end everything that it started."""
    if limit_s < LEAST_S:
        log.add(check.name, ended="not run: no time left in this part", seconds=0.0)
        return
    begin_s = monotonic()
    # a socket's path is at most 108 bytes; sessions of the user's own don't belong to the noise of these
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="bt-") as folder:
        try:
            ended, said = _run(command, folder, max(0.0, limit_s - GRACE_S))
        finally:
            end_engines(folder)
    if said:
        log.add(check.name, figure="error", value="\n".join(said[-30:]))
    log.add(check.name, ended=ended, seconds=monotonic() - begin_s)


def _run(command: Sequence[str], folder: str, limit_s: float) -> tuple[str, list[str]]:
    """Run a check's process. Return why it ended early, if it did, and what it said if it failed."""
    environment = os.environ | {"BENCHTUI_RUNTIME_DIR": folder, "XDG_DATA_HOME": folder, "TMPDIR": folder}
    with tempfile.TemporaryFile("w+", errors="replace", dir=folder) as errors:
        process = subprocess.Popen(command, env=environment, stderr=errors, start_new_session=True)
        ended = _wait(process, limit_s)
        if ended is not None:
            return ended, []
        errors.seek(0)
        said = errors.read().strip().splitlines()
    return f"failed: {said[-1] if said else f'exit status {process.returncode}'}", said


def _wait(process: subprocess.Popen[bytes], limit_s: float) -> str | None:
    """Wait for a check. Return why it ended early, an empty text if it didn't, None if it failed."""
    try:
        return None if process.wait(limit_s) else ""
    except subprocess.TimeoutExpired:
        return f"out of time after {limit_s:.0f} s"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def end_engines(folder: str) -> None:
    """Stop the engines that a killed check left, which outlive it by design."""
    with mock.patch.dict(os.environ, {"BENCHTUI_RUNTIME_DIR": folder}):
        for engine in client.running():
            with suppress(BenchtuiError):
                engine.stop()
            until_s = monotonic() + GRACE_S
            while engine.alive() and monotonic() < until_s:
                sleep(0.1)
            if engine.alive():
                os.kill(engine.pid, signal.SIGKILL)
    # tests have runtime folders of their own; their sessions lie in this folder
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or ()
        if "benchtui.engine" in words and words[-1].startswith(f"{folder}/"):
            process.kill()


def machine() -> str:
    """Describe GPUs and software in a line, without torch."""
    packages = ", ".join(f"{name} {metadata.version(name)}" for name in ("torch", "transformers"))
    return f"{_gpus()}; Python {platform.python_version()}, {packages}"


def _gpus() -> str:
    try:
        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        names = ", ".join(pynvml.nvmlDeviceGetName(handle) for handle in handles)
        return f"{names}, driver {pynvml.nvmlSystemGetDriverVersion()}"
    except pynvml.NVMLError as error:
        return f"no GPU that the driver lists: {error}"


def _print(outcome: Outcome) -> None:
    if outcome.state not in ("as expected", "figures only"):
        print(f"    fix:       {outcome.check.fix}")
    print(f"    {outcome.state}, in {outcome.seconds:.0f} s", flush=True)


def _log(out: Path, part: int) -> Path:
    return out / f"part-{part}.jsonl"


if __name__ == "__main__":
    sys.exit(main())
