"""Sweeps on this machine's own GPU, or with ``--played`` on one that is played below torch's CUDA build."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from benchtui.sessions.state.session import Session

HERE = Path(__file__).parent
NOTES = "PLAYED_GPU_NOTES"
_CALLS = re.compile(r"(?:__cuda|cuda|cublas|cupti|cu[A-Z])\w+")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the caller ask for a played GPU."""
    parser.addoption("--played", action="store_true", help="play a GPU below torch's CUDA build")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what a GPU of the other kind would be needed for."""
    other = "test_real.py" if config.getoption("--played") else "test_played.py"
    return True if collection_path.name == other else None


@pytest.fixture(scope="session")
def played(pytestconfig: pytest.Config) -> bool:
    """Whether the GPU is played: its results are zeros, and its driver counts no energy."""
    return bool(pytestconfig.getoption("--played"))


@pytest.fixture(scope="session")
def environment(
    played: bool, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """What processes need in order to see the GPU."""
    if not played:
        assert torch.cuda.is_available(), "torch sees no GPU here; make played-gpu plays one"
        return {}
    assert torch.version.cuda, (
        f"torch {torch.__version__} was built without CUDA; make played-gpu installs one with"
    )
    folder = tmp_path_factory.mktemp("gpu")
    shutil.copy(request.getfixturevalue("fake_nvml") / "libnvidia-ml.so.1", folder)
    library = _build(folder)
    shutil.copy(library, folder / "libcuda.so.1")
    return {
        "LD_PRELOAD": str(library),
        "LD_LIBRARY_PATH": str(folder),
        "FAKE_NVML_GPUS": "1",
        NOTES: str(folder / "notes"),
    }


def _build(folder: Path) -> Path:
    """The library that plays a GPU; what torch and Triton may call beside what it plays is a stub there."""
    packages = Path(torch.__file__).parents[1]
    library, objects = folder / "libplayedgpu.so", []
    for source in sorted(HERE.glob("*.cpp")):
        objects.append(str(folder / f"{source.stem}.o"))
        include = packages / "nvidia" / "cu13" / "include"
        compiler = ["g++", "-std=c++17", "-O1", "-fPIC", f"-I{include}", "-c", str(source), "-o", objects[-1]]
        subprocess.run(compiler, check=True)
    wanted = {name for file in (packages / "torch" / "lib").glob("*.so") for name in _undefined(file)}
    for file in (
        packages / "torch" / "lib" / "libc10_cuda.so",
        packages / "triton" / "backends" / "nvidia" / "driver.c",
    ):
        wanted |= {name.decode() for name in re.findall(rb"\bcu[A-Z][A-Za-z0-9_]+", file.read_bytes())}
    stubs = folder / "stubs.c"
    defined = subprocess.run(
        ["nm", "--defined-only", *objects], check=True, capture_output=True, text=True
    ).stdout
    missing = sorted(wanted - set(re.findall(r"\w+$", defined, re.MULTILINE)))
    stubs.write_text("".join(f"int {name}(void) {{ return 0; }}\n" for name in missing))
    subprocess.run(
        ["gcc", "-w", "-shared", "-fPIC", "-o", str(folder / "stubs.o"), "-c", str(stubs)], check=True
    )
    subprocess.run(["g++", "-shared", "-o", str(library), *objects, str(folder / "stubs.o")], check=True)
    return library


def _undefined(library: Path) -> Iterator[str]:
    """What a library calls of CUDA's."""
    listed = subprocess.run(
        ["nm", "-D", "--undefined-only", str(library)], check=True, capture_output=True, text=True
    ).stdout
    for line in listed.splitlines():
        name = line.split()[-1].partition("@")[0]
        if _CALLS.fullmatch(name):
            yield name


@pytest.fixture
def measure(home: Path, environment: dict[str, str]) -> Callable[..., Session]:
    """Run a sweep by command line, and give its session; the exit status is to be 0 unless another is named."""

    def run(sweep: str, *overrides: str, status: int = 0, **more: str) -> Session:
        path = home / f"{len(list(home.glob('*.json')))}.json"
        options = [f"--set={each}" for each in ("run.wait_for_quiet=off", *overrides, "measure.retries=0")]
        main = "from benchtui.tui.cli import main; main()"  # packages that were carried here bring no command
        command = [sys.executable, "-c", main, "run", sweep, "-o", str(path), *options]
        ran = subprocess.run(
            command,
            env=os.environ | environment | more,
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        assert ran.returncode == status, f"{ran.stdout}{ran.stderr}"
        assert "Traceback" not in ran.stderr
        return Session.load(path)

    return run
