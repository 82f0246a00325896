"""The installed command, as a user runs it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def benchtui(home: Path, command: str) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command without a terminal, to its end."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command, *arguments],
            cwd=home,
            capture_output=True,
            text=True,
            timeout=180,
            stdin=subprocess.DEVNULL,
        )

    return run


@pytest.fixture
def sweep_file(home: Path, tiny_model: Path) -> Path:
    """A sweep of two quick cases."""
    path = home / "tiny.toml"
    path.write_text(
        f'model = "{tiny_model}"\nweights = "random"\n'
        "[axes]\nbatch_size = [1, 2]\nsequence_length = 16\n[measure]\nwarmup = 1\niterations = 20\n"
    )
    return path
