"""First checks on a GPU, in parts of at most nine minutes: `make gpu-first PART=1`.

Each check runs in a process of its own: one that fails, hangs or crashes costs only itself. Findings are
written at once (``part-N.jsonl``), so that a part that is cut off keeps them; ``gpu-first.md`` sums up all
parts in the folder, differences first. Recorded sessions are in ``part-N-sessions.tar.gz``, which is complete
after each check.
"""

import argparse
import importlib
import os
import platform
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from time import monotonic, sleep
from unittest import mock

import psutil
import pynvml
from checks import PART_S, PARTS, Check, by_name, of_part
from findings import MACHINE, SUMMARY, Findings, Log, Outcome, machines, read, summary

from benchtui.engine import client
from benchtui.sessions.errors import BenchtuiError

LEAST_S = 15.0
"""Time below which a check isn't started: torch alone takes some of it to import."""
GRACE_S = 10.0
"""Time that an engine gets to complete its session file."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a part, or one check in its own process. Return the exit status: 1 if a check differs or failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", type=int, choices=PARTS)
    parser.add_argument("--out", type=Path, default=Path(".gpu-first"), help="folder for findings and sessions")
    parser.add_argument("--brief", action="store_true", help="try all of it in short, numbers aside")
    parser.add_argument("--summary", action="store_true", help=f"only write {SUMMARY}, from the parts in --out")
    parser.add_argument("--check", help=argparse.SUPPRESS)
    parser.add_argument("--kept", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.summary:
        return write_summary(given.out)
    if given.part is None:
        parser.error(f"--part: name one of {PARTS[0]} to {PARTS[-1]}, or use --summary")
    if given.check:
        run_check(by_name(given.check), Log(_log(given.out, given.part)), given.kept, given.brief)
        return 0
    # what a check started ends with this process, also when a time limit ends it
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    return run_part(given.part, given.out.absolute(), given.brief)


def write_summary(out: Path) -> int:
    """Sum up the parts in a folder, which may have run on several machines."""
    if not any(out.glob("part-*.jsonl")):
        print(f"{out}: no part-N.jsonl in this folder; run a part with --part first", file=sys.stderr)
        return 2
    (out / SUMMARY).write_text(summary(read(out), machines(out)), "utf-8")
    print(out / SUMMARY)
    return 0


def run_check(check: Check, log: Log, kept: Path, brief: bool) -> None:
    """Run a check in this process."""
    module, _, function = check.function.partition(":")
    findings = Findings(check, log, kept=kept, brief=brief, no_numbers=no_numbers(brief))
    getattr(importlib.import_module(module), function)(findings)


def no_numbers(brief: bool) -> str | None:
    """Return why times, power and clocks mean nothing here; None on a real GPU at full length."""
    if "libplayedgpu" in Path("/proc/self/maps").read_text("utf-8", "replace"):
        return "the GPU is played"
    return "a brief run" if brief else None


def run_part(part: int, out: Path, brief: bool) -> int:
    """Run the checks of a part one after another, print and keep what they find."""
    until_s = monotonic() + PART_S
    try:
        described = machine()
    except pynvml.NVMLError as error:
        print(f"the driver lists no NVIDIA GPU, which these checks need: {error}", file=sys.stderr)
        return 2
    out.mkdir(parents=True, exist_ok=True)
    path = _log(out, part)
    path.unlink(missing_ok=True)
    log = Log(path)
    log.add(MACHINE, machine=described)
    with tempfile.TemporaryDirectory(prefix="gpu-first-") as folder:
        options = ["--part", str(part), "--out", str(out), "--kept", folder, *(["--brief"] if brief else [])]
        for check in of_part(part):
            print(f"\n{check.name}\n    expected:  {check.expected}", flush=True)
            command = [sys.executable, __file__, *options, "--check", check.name]
            supervise(check, command, log, min(check.limit_s, until_s - monotonic()))
            archive(Path(folder), out / f"part-{part}-sessions.tar.gz")
            (out / SUMMARY).write_text(summary(read(out), machines(out)), "utf-8")
            _print(next(each for each in read(out) if each.check is check))
    print(f"\n{out / SUMMARY}")
    return int(not all(each.fine for each in read(out) if each.check.part == part))


def archive(folder: Path, path: Path) -> None:
    """Pack the files of a folder into one, which replaces an earlier one only when it is complete."""
    new = path.with_name(f".{path.name}")
    with tarfile.open(new, "w:gz") as packed:
        for file in sorted(folder.iterdir()):
            packed.add(file, file.name)
    new.replace(path)


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
    """Describe GPUs and software in a line, without torch. Raises NVMLError if there is no driver."""
    packages = ", ".join(f"{name} {metadata.version(name)}" for name in ("torch", "transformers"))
    return f"{_gpus()}; Python {platform.python_version()}, {packages}"


def _gpus() -> str:
    pynvml.nvmlInit()
    handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
    names = ", ".join(pynvml.nvmlDeviceGetName(handle) for handle in handles)
    return f"{names}, driver {pynvml.nvmlSystemGetDriverVersion()}"


def _print(outcome: Outcome) -> None:
    if not outcome.fine:
        print(f"    look at:   {outcome.check.fix}")
    print(f"    {outcome.state}, in {outcome.seconds:.0f} s", flush=True)


def _log(out: Path, part: int) -> Path:
    return out / f"part-{part}.jsonl"


if __name__ == "__main__":
    sys.exit(main())
