"""The pictures of README and docs show the app as it is."""

import asyncio
from pathlib import Path

import pytest
from bench.screenshots import make, recording


@pytest.mark.parametrize("suffix", ["", pytest.param("-light", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "picture",
    [
        pytest.param(picture, id=picture.name, marks=pytest.mark.long if "-narrow" in picture.name else ())
        for picture in make.PICTURES
    ],
)
def test_pictures_show_the_app_as_it_is(picture: make.Picture, suffix: str, tmp_path: Path) -> None:
    kept = (make.TARGET / f"{picture.name}{suffix}.svg").read_text("utf-8")
    assert asyncio.run(make.draw(picture, make.THEMES[suffix], tmp_path)) == kept, "run `make screenshots`"


def test_recording_shows_every_scene_for_its_time() -> None:
    kept = (make.TARGET / "demo.svg").read_text("utf-8")
    assert kept.count('class="frame ') == len(recording.SCENES)
    assert sum(seconds for _, seconds in recording.SCENES) == 20
    assert "20s step-end infinite" in kept and "@font-face" not in kept
    assert "SIMULATED" in kept and len(kept) < 2_000_000
