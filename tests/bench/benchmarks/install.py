"""Installs the wheel into clean environments of each available Python and runs commands there: `make bench`.

Each Python gets the light install and the one that measures, with the newest versions of the dependencies and
with the lowest ones that ``pyproject.toml`` allows. torch is the version of ``constraints.txt`` throughout:
others have no small build. Times include no download, since the first install fills uv's cache.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

ROOT = Path(__file__).parents[3]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
RESOLUTIONS = {"newest": "highest", "lowest": "lowest-direct"}
PINNED = tuple(
    line for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if line.startswith("torch==")
)
WITHOUT_TORCH = (
    ("--version",),
    ("optimal", "demo"),
    ("export", "demo", "-o", "report.md"),
    ("compare", "demo-cpu", str(ROOT / "tests" / "fixtures" / "quick-cpu.json")),
    ("sessions",),
    ("plan", "quick"),
)
"""Commands of the light install, all of which end well."""
SWEEP = (
    *("run", "quick", "--set", "axes.batch_size=1", "--set", "axes.precision=fp32"),
    *("--set", "measure.iterations=5", "--set", "run.wait_for_quiet=off", "-o", "session.json"),
)
REFUSED = 2


class FailedError(Exception):
    """An install or a command failed."""


def uv(*arguments: str | Path) -> str:
    """Run uv and return what it printed; raises FailedError."""
    done = subprocess.run(
        [sys.executable, "-m", "uv", "--quiet", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise FailedError(" ".join(line.strip() for line in lines)[:300])
    return done.stdout.strip()


def size_mb(folder: Path) -> float:
    """Size of all files in a folder in units of 10**6 bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def run(environment: Path, folder: Path, arguments: Sequence[str], expected: int = 0) -> None:
    """Run benchtui in an environment; raises FailedError unless it ends with the expected exit status."""
    done = subprocess.run(
        [environment / "bin/benchtui", *arguments],
        cwd=folder,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin", "BENCHTUI_RUNTIME_DIR": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if done.returncode != expected or "Traceback" in done.stderr:
        raise FailedError(f"{' '.join(arguments)}: exit status {done.returncode}: {done.stderr[-300:]}")


def install(python: str, environment: Path, requirement: str, resolution: str) -> str:
    """Install into a new environment, and describe its size and the time that it took."""
    shutil.rmtree(environment, ignore_errors=True)
    uv("venv", "--python", python, environment)
    measures = requirement.endswith("]")
    # the wheel's own requirements count as direct only if they come from the project's file
    direct = ("-r", ROOT / "pyproject.toml", *(("--extra", "run", *PINNED) if measures else ()))
    began = time.monotonic()
    uv("pip", "install", "--python", environment, "--resolution", RESOLUTIONS[resolution], requirement, *direct)
    return f"{time.monotonic() - began:5.1f} s  {size_mb(environment):6.0f} MB"


def checks(python: str, wheel: Path, folder: Path, resolution: str) -> Iterator[tuple[str, str]]:
    """Yield each kind of install with its size and time, once its commands have run; raises FailedError."""
    environment = folder / "environment"
    found = install(python, environment, str(wheel), resolution)
    for command in WITHOUT_TORCH:
        run(environment, folder, command)
    run(environment, folder, SWEEP, REFUSED)
    yield "light", found
    found = install(python, environment, f"{wheel}[run]", resolution)
    run(environment, folder, SWEEP)
    yield "[run]", found


@click.command()
@click.option("--python", "versions", multiple=True, default=VERSIONS, show_default=True)
@click.option("--resolution", "resolutions", multiple=True, default=tuple(RESOLUTIONS), show_default=True)
def main(versions: tuple[str, ...], resolutions: tuple[str, ...]) -> None:
    """Print size and time of each install. The exit status shows whether all of them worked."""
    failed = False
    with tempfile.TemporaryDirectory(prefix="install-") as name:
        folder = Path(name)
        uv("build", "--wheel", "--out-dir", folder, ROOT)
        (wheel,) = folder.glob("*.whl")
        for version in versions:
            try:
                python = uv("python", "find", "--no-python-downloads", version)
            except FailedError:
                click.echo(f"  Python {version}: not on this machine")
                continue
            for resolution in resolutions:
                home = Path(tempfile.mkdtemp(dir=folder))
                try:
                    for kind, found in checks(python, wheel, home, resolution):
                        click.echo(f"  Python {version}, {resolution} versions, {kind:6} {found}")
                except FailedError as error:
                    click.echo(f"  Python {version}, {resolution} versions: FAILED: {error}")
                    failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
