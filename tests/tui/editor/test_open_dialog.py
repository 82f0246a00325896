from pathlib import Path

from benchtui.themes.symbols import UNICODE
from benchtui.tui.drawing.listing import entry_at, grouped_rows
from benchtui.tui.editor.open_dialog import Choices, SweepFile, choice_lines, list_sweeps

SWEEP = 'model = "tiny-bert"\n[axes]\nbatch_size = [1, 2]\n'


def test_presets_are_listed_with_their_requirements(tmp_path: Path) -> None:
    found = {offer.name: offer for offer in list_sweeps(tmp_path)}
    assert "16 cases; cpu, cuda:0; no download" in found["quick"].about
    assert "downloads weights" in found["distilbert-sst2"].about
    assert "30 cases; cuda:0; no download" in found["gpt2-train"].about
    assert not any(offer.problem for offer in found.values())
    assert found["quick"].source == "quick"


def test_sweeps_in_the_folder_are_listed_with_their_errors(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(SWEEP)
    (tmp_path / "broken.toml").write_text("model = [")
    (tmp_path / "bad\x1b[2J.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    listed = [offer for offer in list_sweeps(tmp_path) if offer.group == "Sweeps in this folder"]
    assert [offer.name for offer in listed] == ["bad[2J.toml", "broken.toml", "mine.toml"]
    assert [bool(offer.problem) for offer in listed] == [True, True, False]
    assert "not valid TOML" in listed[1].problem and "\x1b" not in listed[0].problem
    assert listed[2].source == str(tmp_path / "mine.toml")


def test_each_line_of_the_list_gives_its_sweep() -> None:
    offers = tuple(SweepFile(f"group {at // 4}", f"sweep-{at}", "") for at in range(20))
    for chosen, height in ((0, 30), (0, 7), (11, 7), (19, 7)):
        choices = Choices(offers, chosen)
        drawn = ["".join(text for text, _ in line) for line in choice_lines(choices, 60, height, UNICODE)]
        for y, row in enumerate(drawn):
            at = entry_at(grouped_rows([offer.group for offer in choices.offers], choices.chosen, height), y)
            assert (at is None) == ("sweep" not in row)
            assert at is None or offers[at].name in row
        assert (
            entry_at(
                grouped_rows([offer.group for offer in choices.offers], choices.chosen, height), len(drawn)
            )
            is None
        )
    assert entry_at(grouped_rows([], 0, 7), 0) is None
