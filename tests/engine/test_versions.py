import json
import subprocess
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchtui.engine import versions
from benchtui.engine.versions import commit, require_packages, untested
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Runtime
from benchtui.sessions.sweep import Sweep


def runtime(torch: str = "2.4.1+cu121", transformers: str = "4.45.0") -> Runtime:
    return Runtime(t=0, torch=torch, transformers=transformers)


def test_untested_major_version_is_reported() -> None:
    words = untested(runtime(transformers="6.1.0"))
    assert words == ["transformers 6.1.0 is untested; tested: 4.57, 5.23"]
    assert untested(runtime(torch="nightly")) == ["torch nightly is untested; tested: 2.13"]


INSTALL = "not installed here; run: pip install 'benchtui[run]'"


@pytest.mark.parametrize(
    ("sweep", "absent", "message"),
    [
        ({"dataset": "synthetic"}, "datasets", None),
        ({"dataset": "sample"}, "datasets", None),
        ({"dataset": "glue:sst2"}, "datasets", f"dataset 'glue:sst2' needs datasets, {INSTALL}"),
        ({"task": "step.py:make"}, "transformers huggingface_hub datasets", None),
        ({"task": "step.py:make", "dataset": "glue"}, "datasets", None),
        ({"task": "step.py:make"}, "torch", f"running a sweep needs torch, {INSTALL}"),
        (
            {"task": "embed"},
            "transformers huggingface_hub",
            f"task 'embed' needs transformers, huggingface_hub, {INSTALL}",
        ),
        (
            {"dataset": "glue"},
            "torch transformers datasets",
            "running a sweep needs torch; task 'classify' needs transformers;"
            f" dataset 'glue' needs datasets, {INSTALL}",
        ),
    ],
)
def test_packages_are_required_when_a_sweep_needs_them(
    monkeypatch: pytest.MonkeyPatch, sweep: dict[str, Any], absent: str, message: str | None
) -> None:
    monkeypatch.setattr(versions, "is_installed", lambda name: name not in absent.split())
    wanted = Sweep(name="a", model="gpt2", **sweep)
    if message is None:
        require_packages(wanted)
    else:
        with pytest.raises(BenchtuiError) as raised:
            require_packages(wanted)
        assert str(raised.value) == message


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    done = subprocess.run(("git", *who, "-C", folder, *words), capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_commit_of_a_checkout_says_whether_files_were_changed(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert commit(tmp_path) is None  # nothing is committed yet
    (tmp_path / "a.py").write_text("1\n")
    git(tmp_path, "add", "a.py")
    git(tmp_path, "commit", "-qm", "one")
    git(tmp_path, "tag", "v9")
    head = git(tmp_path, "rev-parse", "HEAD")[:12]
    assert commit(tmp_path) == head
    (tmp_path / "a.py").write_text("2\n")
    assert commit(tmp_path) == f"{head}-dirty"


def test_commit_without_git_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", "")
    assert commit(tmp_path) is None


@pytest.mark.parametrize(
    ("origin", "known"),
    [
        (None, None),
        ("{", None),
        (json.dumps({"url": "file:///a", "dir_info": {}}), None),
        (json.dumps({"url": "https://a", "vcs_info": {"vcs": "git", "commit_id": "0" * 40}}), "0" * 12),
    ],
    ids=["from an index", "torn", "from a folder", "from git"],
)
def test_commit_of_an_installed_package_is_that_of_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: str | None, known: str | None
) -> None:
    installed = SimpleNamespace(read_text=lambda _: origin)
    monkeypatch.setattr(metadata, "distribution", lambda _: installed)
    assert commit(tmp_path) == known
