"""What tests of several folders share."""

import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def fake_nvml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a libnvidia-ml.so.1 that plays GPUs, for LD_LIBRARY_PATH of a child process.

    Which GPUs, and how they fail, is said by environment variables: see tests/nvml/nvml.c.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler (cc, gcc) to build the stand-in for the NVIDIA driver's library")
    folder = tmp_path_factory.mktemp("nvml")
    source = Path(__file__).parent / "nvml" / "nvml.c"
    library = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return folder
