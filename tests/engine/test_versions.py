import json
import subprocess
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchtui.engine.versions import commit, untested
from benchtui.sessions.events import Runtime


def runtime(torch: str = "2.4.1+cu121", transformers: str = "4.45.0") -> Runtime:
    return Runtime(t=0, torch=torch, transformers=transformers)


def test_tested_major_versions_need_no_warning() -> None:
    assert untested(runtime()) == []
    assert untested(runtime("2.99.0", "5.0.0.dev0")) == []


def test_untested_major_version_is_reported() -> None:
    words = untested(runtime(transformers="6.1.0"))
    assert words == ["transformers 6.1.0 is untested; tested: 4.57, 5.23"]
    assert untested(runtime(torch="nightly")) == ["torch nightly is untested; tested: 2.13"]


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
