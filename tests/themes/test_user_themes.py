from pathlib import Path

import pytest

from benchtui import themes
from benchtui.themes import user_themes

NIGHT = '[colors]\nbackground = "#000010"\nlines = ["#ffffff", "#ff0000"]\n'


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def test_user_themes_are_listed_after_bundled_ones(tmp_path: Path) -> None:
    path = put(tmp_path, "night", NIGHT)
    found = user_themes.load_all(tmp_path)
    assert list(found.themes) == [*themes.names(), "night"]
    assert found.sources["night"] == str(path) and found.sources[themes.DEFAULT] == user_themes.BUNDLED
    assert not found.problems


def test_older_name_of_the_table_is_read() -> None:
    assert user_themes.parse("night", NIGHT.replace("colors", "colours")) == user_themes.parse("night", NIGHT)


def test_missing_colors_come_from_the_bundled_theme(tmp_path: Path) -> None:
    put(tmp_path, "night", NIGHT)
    put(tmp_path, "paper", "dark = false\n")
    put(tmp_path, "mine", 'ansi = true\n[colors]\naccent = "ansi_bright_red"\n')
    found = user_themes.load_all(tmp_path).themes
    assert (
        found["night"].background == "#000010" and found["night"].accent == themes.load(themes.DEFAULT).accent
    )
    assert found["night"].lines == ("#ffffff", "#ff0000") * 3
    assert found["paper"].background == themes.load(themes.LIGHT).background and not found["paper"].dark
    assert found["mine"].accent == "ansi_bright_red" and found["mine"].background == "ansi_default"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dark = ", "Invalid value"),
        ("dark = 1\n", "dark: 1 is not a boolean; use true or false"),
        ('name = "x"\n', "unknown entry name; allowed: dark, ansi, colors"),
        ('[colors]\nacent = "#ffffff"\n', "unknown entry colors.acent"),
        ('[colors]\naccent = "red"\n', "colors.accent: 'red' is not a color; allowed: \"#rrggbb\""),
        ("[colors]\naccent = 3\n", "colors.accent: 3 is not a color"),
        ('ansi = true\n[colors]\naccent = "#ffffff"\n', "allowed: ansi_default"),
        ("[colors]\nlines = []\n", "colors.lines: [] is not a non-empty list of colors"),
        ("colors = 3\n", "colors: 3 is not a table"),
    ],
)
def test_invalid_theme_is_reported_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = put(tmp_path, "odd", text)
    found = user_themes.load_all(tmp_path)
    assert list(found.themes) == themes.names()
    assert found.problems["odd"].startswith(f"{path}: ") and said in found.problems["odd"]
    assert "\n" not in found.problems["odd"]


def test_unreadable_theme_files_are_reported(tmp_path: Path) -> None:
    put(tmp_path, themes.DEFAULT, NIGHT)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "readme.txt").write_text("no theme")
    found = user_themes.load_all(tmp_path)
    assert set(found.problems) == {themes.DEFAULT, "bytes", "folder"}
    assert "is bundled with benchtui" in found.problems[themes.DEFAULT]
    assert user_themes.load_all(tmp_path / "nowhere").problems == {}


def test_unknown_reason_explains_why_a_theme_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    user_themes.folder().mkdir(parents=True)
    put(user_themes.folder(), "odd", "dark = 1\n")
    put(user_themes.folder(), "night", NIGHT)
    assert user_themes.unknown_reason("night") is None and user_themes.unknown_reason(themes.DEFAULT) is None
    assert "odd.toml: dark: 1" in (user_themes.unknown_reason("odd") or "")
    assert "unknown theme 'nihgt'; available: benchtui-dark" in (user_themes.unknown_reason("nihgt") or "")
