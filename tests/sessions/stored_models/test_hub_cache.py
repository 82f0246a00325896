"""The hub's cache, read without the hub's library, and as that library reads it."""

from pathlib import Path

import pytest
from huggingface_hub import try_to_load_from_cache

from benchtui.sessions.stored_models.hub_cache import cache_folder, cached_models, snapshot, stored_folder


def add(cache: Path, model: str, commit: str = "c0ffee", config: bool = True) -> Path:
    folder = cache / f"models--{model.replace('/', '--')}"
    files = folder / "snapshots" / commit
    files.mkdir(parents=True)
    (folder / "refs").mkdir(exist_ok=True)
    (folder / "refs" / "main").write_text(commit)
    if config:
        (files / "config.json").write_text("{}")
    return files


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("model", ["org/one", "plain", "org/partial", "org/none"])
def test_snapshot_is_where_the_hubs_library_finds_it(cache: Path, model: str) -> None:
    for name in ("org/one", "plain"):
        add(cache, name, "old")
        add(cache, name, "new")
    add(cache, "org/partial", config=False)
    known = try_to_load_from_cache(model, "config.json", cache_dir=cache)
    assert snapshot(model) == (Path(known).parent if isinstance(known, str) else None)


def test_models_are_listed_by_id(cache: Path) -> None:
    for name in ("org/two", "one", "org/a-name"):
        add(cache, name)
    (cache / "datasets--org--texts").mkdir()
    assert list(cached_models()) == ["one", "org/a-name", "org/two"]


def test_cache_that_is_not_there_has_no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", "/no/such/folder")
    assert list(cached_models()) == [] and snapshot("org/one") is None


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"HF_HUB_CACHE": "/a", "HF_HOME": "/b"}, "/a"),
        ({"HUGGINGFACE_HUB_CACHE": "/a", "HF_HOME": "/b"}, "/a"),
        ({"HF_HOME": "/b", "XDG_CACHE_HOME": "/c"}, "/b/hub"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/huggingface/hub"),
        ({"HOME": "/h"}, "/h/.cache/huggingface/hub"),
    ],
)
def test_variables_choose_the_folder(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], folder: str
) -> None:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(folder)


@pytest.mark.parametrize("name", ["~nobody-here/model", "x" * 5000, "a\0b"])
def test_name_that_no_file_can_have_is_nowhere(cache: Path, name: str) -> None:
    assert stored_folder(name) is None
