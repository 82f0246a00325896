"""Settings file: parsed entry by entry; invalid entries are reported and never stop the app."""

from pathlib import Path

import pytest

from benchtui.tui.shell.preferences import Preferences
from benchtui.tui.shell.settings import Settings, read
from benchtui.tui.table.columns import DEFAULT_COLUMNS


def test_missing_file_gives_the_defaults(tmp_path: Path) -> None:
    assert read(tmp_path / "config.toml") == (Settings(), ())


def test_complete_file_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        'theme = "okabe-ito"\ncolumns = ["state", "p50"]\nsort = "-samples"\nquiet = "off"\n'
        'models = ["~/models"]\n'
        '[keys]\n"monitor.skip" = "f5"\n'
    )
    settings, problems = read(path)
    assert problems == ()
    assert (settings.theme, settings.quiet) == ("okabe-ito", "off")
    assert settings.columns == ("state", "p50") and settings.sort == "-samples"
    assert settings.models == ("~/models",)
    assert settings.keys == {"monitor.skip": "f5"}


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ('colour = "red"', "unknown entry 'colour'; allowed: theme, columns"),
        ('theme = "pink"', "theme: unknown theme 'pink'; available: benchtui-dark"),
        ('columns = ["p50", "colour"]', "columns: 'colour' is not allowed; allowed: state, p50"),
        ('sort = "notes"', "sort: 'notes' is not allowed"),
        ('sort = "-trace"', "sort: '-trace' is not allowed"),
        ('quiet = "loud"', "quiet = 'loud'"),
        ("keys = 3", "keys = 3: Expected `object`"),
    ],
)
def test_invalid_entry_is_reported_and_the_others_apply(tmp_path: Path, entry: str, told: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"notify = false\n{entry}\n")
    settings, (problem,) = read(path)
    assert told in problem and str(path) in problem and "\n" not in problem
    assert not settings.notify


def test_invalid_toml_is_reported_and_ignored(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("theme = ")
    settings, (problem,) = read(path)
    assert settings == Settings() and "the file is ignored" in problem


def test_choices_made_in_the_app_are_saved_outside_the_settings_file(tmp_path: Path) -> None:
    state = tmp_path / "state" / "screen.json"
    first = Preferences(Settings(columns=("p50",)), state)
    first.choose_theme("okabe-ito")
    first.choose_columns(("p99", "state"))
    again = Preferences(Settings(columns=("p50",)), state)
    assert (again.theme, again.columns) == ("okabe-ito", ("p99", "state"))
    assert [path.name for path in state.parent.iterdir()] == ["screen.json"]


def test_changed_settings_file_overrides_saved_choices(tmp_path: Path) -> None:
    state = tmp_path / "screen.json"
    Preferences(Settings(theme="benchtui-light"), state).choose_theme("okabe-ito")
    assert Preferences(Settings(theme="benchtui-light"), state).theme == "okabe-ito"
    assert Preferences(Settings(theme="high-contrast"), state).theme == "high-contrast"


@pytest.mark.parametrize(
    "content", ["[" * 100_000, "", "[]", '{"columns": {"value": ["gone"]}}', "\xff"], ids=range(5)
)
def test_invalid_state_file_is_ignored(tmp_path: Path, content: str) -> None:
    state = tmp_path / "screen.json"
    state.write_text(content, "latin-1")
    preferences = Preferences(None, state)
    assert preferences.columns == DEFAULT_COLUMNS and preferences.sorting is None


def test_unwritable_state_file_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    Preferences(None, tmp_path / "file" / "screen.json").choose_theme("okabe-ito")
