"""Digests of the files that a case depends on."""

import hashlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from benchtui.engine.files.digests import current_files, used_files
from benchtui.engine.files.model_location import locate
from benchtui.sessions.payloads import Data
from benchtui.sessions.stored_models import file_digests
from benchtui.sessions.stored_models.file_digests import file_digest
from benchtui.sessions.sweep import Config, Sweep

CPU = Config(device="cpu")
IMAGES = Data(dataset="synthetic", samples=1, processor="Fast")
TEXTS = Data(dataset="texts.txt", samples=1, tokenizer="Fast")


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("config.json", "tokenizer.json", "vocab.txt", "preprocessor_config.json", "README.md"):
        (folder / name).write_text(f'"{name}"')
    (folder / "model-1.safetensors").write_bytes(b"one")
    (folder / "model-2.safetensors").write_bytes(b"two")
    (folder / "pytorch_model.bin").write_bytes(b"not used")
    return folder


@pytest.fixture
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sweep:
    """Sweep of a step with a neighbor and a package; libraries below its folder are loaded, too."""
    (tmp_path / "pkg").mkdir()
    library = tmp_path / ".venv/lib/python3/site-packages"
    library.mkdir(parents=True)
    for path in (tmp_path / "sane.py", tmp_path / "near.py", tmp_path / "pkg/far.py", library / "lib.py"):
        path.write_text(f"# {path.name}")
    loaded = {"near": tmp_path / "near.py", "pkg.far": tmp_path / "pkg/far.py", "lib": library / "lib.py"}
    for name, file in loaded.items():
        module = ModuleType(name)
        module.__file__ = str(file)
        monkeypatch.setitem(sys.modules, name, module)
    return Sweep(name="s", model="m", task=f"{tmp_path}/sane.py:make")


def test_step_has_its_file_and_loaded_neighbors_but_no_libraries(step: Sweep) -> None:
    assert used_files(step, CPU, None) == {
        "sane.py": sha(b"# sane.py"),
        "near.py": sha(b"# near.py"),
        "pkg/far.py": sha(b"# far.py"),
    }


class Odd:
    """What a step may put in place of a module."""

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)


def test_odd_modules_and_a_removed_working_directory_end_no_case(
    step: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "odd", Odd())  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "none", None)  # type: ignore[arg-type]
    assert "near.py" in used_files(step, CPU, None)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    relative = Sweep(name="s", model="m", task="sane.py:make")
    assert used_files(relative, CPU, None) == {}
    assert current_files(relative, CPU, ("sane.py",)) == {"sane.py": None}


def test_present_files_are_found_by_their_recorded_names(step: Sweep, tmp_path: Path) -> None:
    recorded = used_files(step, CPU, None)
    assert current_files(step, CPU, recorded) == recorded
    (tmp_path / "pkg/far.py").write_text("changed")
    (tmp_path / "near.py").unlink()
    now = current_files(step, CPU, recorded)
    assert {name for name in recorded if now[name] != recorded[name]} == {"near.py", "pkg/far.py"}
    assert now["near.py"] is None


def test_recorded_names_outside_the_folder_are_not_read(step: Sweep) -> None:
    assert current_files(step, CPU, ("/etc/passwd", "../x", "pkg/../../x", "a\0b")) == {}


@pytest.mark.parametrize(
    ("weights", "data", "names"),
    [
        ("random", None, {"config.json"}),
        ("pretrained", None, {"config.json", "weights"}),
        ("random", TEXTS, {"config.json", "tokenizer.json", "vocab.txt"}),
        ("random", IMAGES, {"config.json", "preprocessor_config.json"}),
    ],
)
def test_model_has_the_files_that_the_case_loaded(
    model: Path, weights: str, data: Data | None, names: set[str]
) -> None:
    sweep = Sweep(name="s", model=str(model), weights=weights, dataset="synthetic")  # type: ignore[arg-type]
    found = used_files(sweep, CPU, data)
    assert set(found) == names
    assert current_files(sweep, CPU, found) == found


@pytest.mark.parametrize("shard", ["model-1.safetensors", "model-3.safetensors"])
def test_changed_or_added_shard_changes_the_weights(model: Path, shard: str) -> None:
    sweep = Sweep(name="s", model=str(model), weights="pretrained")
    before = used_files(sweep, CPU, None)["weights"]
    (model / "pytorch_model.bin").write_bytes(b"changed, and still not used")
    assert current_files(sweep, CPU, ("weights",)) == {"weights": before}
    (model / shard).write_bytes(b"changed")
    assert current_files(sweep, CPU, ("weights",)) != {"weights": before}


def test_draft_and_local_dataset_are_included(model: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("a text")
    sweep = Sweep(name="s", model=str(model), weights="pretrained", dataset=str(texts))
    config = Config(device="cpu", draft=str(model))
    found = used_files(sweep, config, Data(dataset=str(texts), samples=1))
    assert set(found) == {"config.json", "weights", "draft/config.json", "draft/weights", "dataset"}
    texts.write_text("other text")
    now = current_files(sweep, config, found)
    assert [name for name in found if now[name] != found[name]] == ["dataset"]


@pytest.mark.parametrize("place", [0, 500, 5_000, 9_999])
def test_large_file_is_sampled_from_start_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    monkeypatch.setattr(file_digests, "WHOLE_BYTES", 1_000)
    monkeypatch.setattr(file_digests, "START_BYTES", 1_000)
    monkeypatch.setattr(file_digests, "SAMPLE_BYTES", 200)  # 64 of them leave no gap here
    path = tmp_path / "weights"
    data = bytearray(10_000)
    path.write_bytes(data)
    before = file_digest(path)
    data[place] = 1
    path.write_bytes(data)
    assert file_digest(path) != before
    path.write_bytes(bytes(10_001))
    assert file_digest(path) != before


def test_file_that_cannot_be_read_has_no_digest(tmp_path: Path) -> None:
    assert file_digest(tmp_path / "none") is None
    assert file_digest(tmp_path) is None
    assert file_digest(Path("/dev/zero")) is None


def test_model_of_the_hub_is_the_cached_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    commit = "a" * 40
    snapshot = tmp_path / "models--me--tiny/snapshots" / commit
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text(json.dumps({}))
    refs = tmp_path / "models--me--tiny/refs"
    refs.mkdir()
    (refs / "main").write_text(commit)
    sweep = Sweep(name="s", model="me/tiny", weights="random")
    assert locate("me/tiny", "random").revision == commit
    assert used_files(sweep, CPU, None) == {"config.json": sha(b"{}")}
    absent = Sweep(name="s", model="me/other", weights="random")
    assert locate("me/other", "random").revision is None
    assert current_files(absent, CPU, ("config.json",)) == {}
