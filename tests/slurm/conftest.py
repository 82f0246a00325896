"""A Slurm for the tests of this folder, installed where that can be done."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from slurm_here import DAEMONS, Slurm, found

PACKAGES = ("slurm-wlm", "munge")


@pytest.fixture(scope="session")
def slurm() -> Iterator[Slurm]:
    """A Slurm that runs jobs on this machine; its commands find it by themselves."""
    _require_slurm()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp", prefix="slurm-")))
        folder.chmod(0o755)
        made = Slurm(folder)
        stack.enter_context(pytest.MonkeyPatch.context()).setenv("SLURM_CONF", str(made.configuration))
        stack.callback(made.stop)
        made.start()
        yield made


def _require_slurm() -> None:
    missing = [name for name in DAEMONS if found(name) is None]
    if os.geteuid() != 0:
        pytest.skip("Slurm's daemons are started by root alone")
    if missing and shutil.which("apt-get") is None:
        pytest.skip(f"no {', '.join(missing)}, and no apt-get to install them")
    if missing:
        _install()


def _install() -> None:
    for command in (["update"], ["install", "-y", "--no-install-recommends", *PACKAGES]):
        done = subprocess.run(
            ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", *command],
            env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"{', '.join(PACKAGES)} can't be installed: {done.stderr.strip()}")
