"""A child Python that sees the GPUs a test describes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PRELUDE = """
import pynvml
from benchtui.engine.telemetry.gpu.nvml import open_nvml

def calls(gpu, function):
    return pynvml.nvmlLib.fake_nvml_calls(gpu, function.encode())
"""
EPILOGUE = """
import msgspec, sys
sys.stdout.buffer.write(msgspec.json.encode(result))
"""


@pytest.fixture
def with_library() -> Callable[..., Any]:
    """Run a script with a folder's NVML library; what it leaves in ``result`` comes back as plain data."""

    def run(folder: Path, script: str, **settings: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", PRELUDE + script + EPILOGUE],
            env=os.environ | {"LD_LIBRARY_PATH": str(folder)} | settings,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return json.loads(done.stdout)

    return run


@pytest.fixture
def with_gpus(fake_nvml: Path, with_library: Callable[..., Any]) -> Callable[..., Any]:
    """Run a script on the GPUs that its settings (see tests/nvml/nvml.c) describe."""

    def run(script: str, **settings: str) -> Any:
        return with_library(fake_nvml, script, **settings)

    return run
