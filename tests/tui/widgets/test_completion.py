"""Completion of paths and models, as in a shell."""

from pathlib import Path

import pytest

from benchtui.tui.widgets.completion import Completion, completed, model_completer, path_completer


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("a", Completion("alp", ("alpha", "alpine"))),
        ("alph", Completion("alpha")),
        ("b", Completion("beta")),
        ("x", Completion("x")),
        ("", Completion("", ("alpha", "alpine", "beta"))),
    ],
)
def test_text_is_extended_as_far_as_all_names_agree(text: str, after: Completion) -> None:
    assert completed(text, ["beta", "alpine", "alpha", "alpha"]) == after


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "hub" / "models--org--cached").mkdir(parents=True)
    (tmp_path / "models" / "mine").mkdir(parents=True)
    (tmp_path / "models" / "mine" / "config.json").write_text("{}")
    (tmp_path / "models" / "more").mkdir()
    (tmp_path / "models" / ".hidden").mkdir()
    (tmp_path / "models" / "notes.txt").write_text("")
    return tmp_path


def test_models_are_folders_cached_ids_and_known_names(folder: Path) -> None:
    complete = model_completer(folder, lambda: ["gpt2"])
    assert complete("mod") == Completion("models/")
    assert complete("models/") == Completion("models/m", ("models/mine", "models/more/"))
    assert complete("models/mi") == Completion("models/mine")
    assert complete("org") == Completion("org/cached")
    assert complete("gp") == Completion("gpt2")
    assert complete("models/.") == Completion("models/.hidden/")


def test_paths_include_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    complete = path_completer(folder / "models")
    assert complete("no") == Completion("notes.txt")
    assert complete(f"{folder}/mod") == Completion(f"{folder}/models/")
    assert complete("~/models/no") == Completion("~/models/notes.txt")
    assert complete("~nobody-here/x") == Completion("~nobody-here/x")
