from pathlib import Path

import pytest
from msgspec.structs import replace

from benchtui.sessions.sweep import Config
from benchtui.themes.symbols import UNICODE
from benchtui.tui.drawing.listing import entry_at, grouped_rows
from benchtui.tui.editor.open_dialog import MODELS, SweepFile, list_sweeps, offer_line
from benchtui.tui.pages.choice_screen import choice_lines
from benchtui.tui.shell.context import AppContext

SWEEP = 'model = "tiny-bert"\n[axes]\nbatch_size = [1, 2]\n'


def without_cuda(config: Config) -> str:
    return "no CUDA here: torch was built without it" if config.device != "cpu" else ""


def drawn_choices(offers: tuple[SweepFile, ...], chosen: int, width: int, height: int) -> list[str]:
    drawn = choice_lines(offers, chosen, offer_line, "", width, height, UNICODE)
    return ["".join(text for text, _ in row) for row in drawn]


def test_presets_are_listed_with_their_requirements(app_context: AppContext) -> None:
    found = {offer.name: offer for offer in list_sweeps(app_context)}
    assert "16 cases; cpu, cuda:0; no download" in found["quick"].about
    assert "downloads weights" in found["distilbert-sst2"].about
    assert "30 cases; cuda:0; no download" in found["gpt2-train"].about
    assert not any(offer.problem for offer in found.values())
    assert found["quick"].source == "quick"


def test_presets_that_cannot_run_here_say_so(app_context: AppContext) -> None:
    here = replace(app_context, missing_device=lambda: without_cuda)
    found = {offer.name: offer for offer in list_sweeps(here)}
    assert found["gpt2-train"].problem == "no CUDA here" and found["quick"].problem == ""
    drawn = drawn_choices((found["gpt2-train"], found["quick"]), 0, 80, 5)
    assert "○ no CUDA here   30 cases" in drawn[1] and "○" not in drawn[2]


def test_local_weights_and_models_of_the_cache_are_named(
    app_context: AppContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = tmp_path / "hub" / "models--org--small"
    (cached / "snapshots" / "1").mkdir(parents=True)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("1")
    (cached / "snapshots" / "1" / "config.json").write_text("{}")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    (app_context.folder / "own.toml").write_text('model = "org/small"\nweights = "pretrained"\n')
    found = {offer.name: offer for offer in list_sweeps(app_context)}
    assert "local weights" in found["own.toml"].about
    assert (found["org/small"].group, found["org/small"].source) == (MODELS, "org/small")


def test_sweeps_in_the_folder_are_listed_with_their_errors(app_context: AppContext) -> None:
    folder = app_context.folder
    (folder / "mine.toml").write_text(SWEEP)
    (folder / "broken.toml").write_text("model = [")
    (folder / "bad\x1b[2J.toml").write_bytes(b"\xff\xfe")
    (folder / "pyproject.toml").write_text("[project]\n")
    listed = [offer for offer in list_sweeps(app_context) if offer.group == "Sweeps in this folder"]
    assert [offer.name for offer in listed] == ["bad[2J.toml", "broken.toml", "mine.toml"]
    assert [bool(offer.problem) for offer in listed] == [True, True, False]
    assert "not valid TOML" in listed[1].problem and "\x1b" not in listed[0].problem
    assert listed[2].source == str(folder / "mine.toml")


def test_each_line_of_the_list_gives_its_sweep() -> None:
    offers = tuple(SweepFile(f"group {at // 4}", f"sweep-{at}", "") for at in range(20))
    for chosen, height in ((0, 30), (0, 7), (11, 7), (19, 7)):
        drawn = drawn_choices(offers, chosen, 60, height)
        rows = grouped_rows([offer.group for offer in offers], chosen, height)
        for y, row in enumerate(drawn):
            at = entry_at(rows, y)
            assert (at is None) == ("sweep" not in row)
            assert at is None or offers[at].name in row
        assert entry_at(rows, len(drawn)) is None
    assert entry_at(grouped_rows([], 0, 7), 0) is None
