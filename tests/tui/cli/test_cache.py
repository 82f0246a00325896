"""``benchtui cache`` and ``run --no-cache``."""

import json
import os
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

import benchtui.tui.cli.run as run_module
from benchtui.sessions.library import artifacts
from benchtui.sessions.payloads import Artifact
from benchtui.tui.cli import app


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(artifacts.VARIABLE, str(tmp_path))
    about = artifacts.About("org/name", "openvino", "fp32")
    path = tmp_path / "one"
    path.mkdir()
    record = artifacts.Record(Artifact(export_s=1.0, convert_s=1.0), {}, about)
    (path / artifacts.RECORD).write_bytes(msgspec.json.encode(record))
    (path / "model").write_bytes(bytes(2_000_000))
    (tmp_path / f"{16 * 'ab'}.partial").mkdir()
    return tmp_path


def test_artifacts_are_listed_and_removed(stored: Path) -> None:
    listed = CliRunner().invoke(app, ["cache"])
    lines = listed.stdout.splitlines()
    assert lines[0].endswith("2.0 MB     0.0 days ago  openvino  fp32  org/name") or "killed" in lines[0]
    assert sorted("killed" in line for line in lines) == [False, True]
    assert f"2 artifacts, 2 MB in {stored}, which keeps at most 5,000 MB" in listed.stderr
    assert CliRunner().invoke(app, ["cache", "--remove", "--unused", "1"]).stdout == ""
    removed = json.loads(CliRunner().invoke(app, ["cache", "--remove", "--json"]).stdout)
    assert len(removed["artifacts"]) == 2
    assert not [path for path in stored.iterdir() if path.is_dir()]


def test_no_cache_reaches_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(artifacts.VARIABLE, "")
    seen: list[str] = []
    monkeypatch.setattr(
        run_module, "run_to_end", lambda *given, **more: seen.append(os.environ[artifacts.VARIABLE])
    )
    CliRunner().invoke(app, ["run", "quick", "--no-cache"])
    assert seen == ["off"]
