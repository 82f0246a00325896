"""The site builds without a warning, and its pictures show the app as it is."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench.screenshots import make

ROOT = Path(__file__).parents[2]


def test_site_builds_without_warnings(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path / "site"],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "site/reference/commands/index.html").exists()
    home = (tmp_path / "site/index.html").read_text("utf-8")
    assert "https://fonts" not in home  # nothing is loaded from the network


@pytest.mark.parametrize("suffix", ["", pytest.param("-light", marks=pytest.mark.long)])
@pytest.mark.parametrize("picture", make.PICTURES, ids=lambda picture: picture.name)
def test_pictures_show_the_app_as_it_is(picture: make.Picture, suffix: str, tmp_path: Path) -> None:
    kept = (make.TARGET / f"{picture.name}{suffix}.svg").read_text("utf-8")
    assert asyncio.run(make.draw(picture, make.THEMES[suffix], tmp_path)) == kept, "run `make screenshots`"
