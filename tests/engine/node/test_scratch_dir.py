"""The folder of an engine's cases, and what is left of one that was killed."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from benchtui.engine.node.scratch_dir import PREFIX, Scratch

HOLDS = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from benchtui.engine.node.scratch_dir import Scratch
scratch = Scratch()
(scratch.path / "cache").write_text("large")
print(scratch.path, flush=True)
sys.stdin.read()
"""

MAKES_MANY = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from benchtui.engine.node.scratch_dir import Scratch
for _ in range(200):
    scratch = Scratch()
    (scratch.path / "cache").write_text("mine")
    assert (scratch.path / "cache").exists()
    scratch.remove()
"""


@pytest.fixture(autouse=True)
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_next_engine_removes_the_scratch_of_a_killed_one(parent: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(parent)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as engine:
        left = Path(engine.stdout.readline().strip() if engine.stdout else "")
        Scratch().remove()
        assert (left / "cache").exists()  # its engine lives
        engine.kill()
    Scratch().remove()
    assert list(parent.iterdir()) == []


def test_scratch_is_private_and_removed_with_the_engine(parent: Path) -> None:
    scratch = Scratch()
    (scratch.path / "inductor").mkdir()
    assert scratch.path.parent == parent and scratch.path.stat().st_mode & 0o777 == 0o700
    scratch.remove()
    assert not scratch.path.exists()


def test_cleanup_keeps_links_files_and_other_folders(parent: Path) -> None:
    elsewhere = parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine").write_text("kept")
    (parent / f"{PREFIX}link").symlink_to(elsewhere)
    (parent / f"{PREFIX}file").write_text("kept")
    Scratch().remove()
    assert {each.name for each in parent.iterdir()} == {"elsewhere", f"{PREFIX}link", f"{PREFIX}file"}
    assert (elsewhere / "mine").exists()


def test_concurrent_engines_keep_each_others_scratch(parent: Path) -> None:
    engines = [
        subprocess.Popen([sys.executable, "-c", MAKES_MANY, str(parent)], stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = [engine.communicate(timeout=60)[1] for engine in engines]
    assert [engine.returncode for engine in engines] == [0] * 4, said
    assert list(parent.iterdir()) == []
