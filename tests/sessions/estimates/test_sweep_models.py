"""Whether the models of a sweep are here is known before anything starts."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.estimates.sweep_models import (
    download_remark,
    missing_model,
    models_remark,
    require_hub,
    require_models,
    to_download,
)
from benchtui.sessions.sweep import Sweep
from benchtui.sessions.sweep.toml_reader import load_sweep


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Point the hub's cache to an empty folder."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def sweep() -> Callable[..., Sweep]:
    """Return a function that loads ``quick`` with overrides."""
    return lambda *overrides: load_sweep("quick", [*overrides])


@pytest.mark.parametrize("model", ["./missing", "../missing", "~/missing-model", "/no/model", "a\\b", "a/b/c"])
@pytest.mark.parametrize("weights", ["random", "pretrained"])
def test_a_folder_that_is_not_there_is_refused(sweep: Callable[..., Sweep], model: str, weights: str) -> None:
    with pytest.raises(BenchtuiError, match=r"^model .*: no such folder, and not in the cache of the hub$"):
        require_models(sweep(f"model='{model}'", f"weights={weights}"))


def test_each_of_several_models_is_checked(sweep: Callable[..., Sweep]) -> None:
    assert models_remark(sweep('model=["gpt2", "./missing"]')).startswith("./missing: no such folder")
    assert not missing_model(sweep('model=["gpt2", "distilgpt2"]'))


def test_a_folder_without_a_configuration_is_refused(sweep: Callable[..., Sweep], empty_cache: Path) -> None:
    (empty_cache / "mine").mkdir()
    assert missing_model(sweep("model=./mine")) == ("./mine", "no model in this folder: it has no config.json")
    (empty_cache / "mine" / "config.json").write_text("{}")
    assert not missing_model(sweep("model=./mine"))


def test_a_folder_without_weights_is_refused_unless_they_are_random(
    sweep: Callable[..., Sweep], empty_cache: Path
) -> None:
    (empty_cache / "mine").mkdir()
    (empty_cache / "mine" / "config.json").write_text("{}")
    (empty_cache / "mine" / "training_args.bin").write_bytes(b"x")
    with pytest.raises(
        BenchtuiError, match=r"^model ./mine: no weights in this folder, .*; weights = \"random\""
    ):
        require_models(sweep("model=./mine", "weights=pretrained"))
    require_models(sweep("model=./mine", "weights=random"))


def test_a_configuration_in_the_cache_is_no_model_without_its_weights(
    sweep: Callable[..., Sweep], empty_cache: Path
) -> None:
    folder = empty_cache / "cache" / "models--org--name"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("a1")
    (folder / "snapshots" / "a1").mkdir(parents=True)
    (folder / "snapshots" / "a1" / "config.json").write_text("{}")
    assert not to_download(sweep("model=org/name", "weights=random"))
    assert to_download(sweep("model=org/name", "weights=pretrained")) == ["org/name"]
    (folder / "snapshots" / "a1" / "model.safetensors").write_bytes(b"weights")
    assert not to_download(sweep("model=org/name", "weights=pretrained"))


@pytest.mark.parametrize("dataset", ["./texts", "texts.txt", "/no/texts.jsonl", "~/no-texts.csv"])
def test_a_dataset_that_is_not_there_is_refused(sweep: Callable[..., Sweep], dataset: str) -> None:
    with pytest.raises(
        BenchtuiError, match=rf"^dataset '{dataset}': no such file or folder; use an existing one"
    ):
        require_models(sweep(f"dataset={dataset}"))


@pytest.mark.parametrize("dataset", ["imdb", "imdb:test", "org/texts:main:train", "./here.txt", "synthetic"])
def test_a_dataset_that_is_here_or_may_be_on_the_hub_is_accepted(
    sweep: Callable[..., Sweep], empty_cache: Path, dataset: str
) -> None:
    (empty_cache / "here.txt").write_text("text\n")
    require_models(sweep(f"dataset={dataset}"))


def test_a_hub_that_does_not_answer_is_noticed_before_anything_starts(
    sweep: Callable[..., Sweep], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(BenchtuiError, match=r"^model org/name: not in the cache .*: hf download org/name$"):
        require_hub(sweep("model=org/name", "weights=pretrained"))
    with pytest.raises(BenchtuiError, match=r"^model org/name: not in the cache"):
        require_hub(sweep("model=org/name", "weights=random"))  # its configuration is needed
    require_hub(sweep("model=gpt2", "weights=random"))
    require_hub(sweep("model=org/name", "weights=pretrained", "run.executor=ray"))


def test_a_model_to_download_is_named(sweep: Callable[..., Sweep]) -> None:
    one = sweep("model=org/name", "weights=pretrained")
    assert download_remark(one).startswith("not in the cache of the hub: will be downloaded")
    several = sweep('model=["org/name", "gpt2"]', "weights=pretrained")
    assert download_remark(several).startswith("org/name, gpt2: not in the cache")
    assert not download_remark(sweep("model=gpt2", "weights=random"))


def test_login_is_named_unless_there_is_a_token(
    sweep: Callable[..., Sweep], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    login = "; a gated model needs `hf auth login` first"
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    one = sweep("model=org/name", "weights=pretrained")
    assert login in download_remark(one)
    (tmp_path / "token").write_text("hf_x")
    assert login not in download_remark(one)
    (tmp_path / "token").unlink()
    monkeypatch.setenv("HF_TOKEN", "hf_x")
    assert login not in download_remark(one)


@pytest.mark.parametrize("place", ["environment", "sweep"])
def test_without_a_network_a_model_that_is_not_cached_is_refused(
    sweep: Callable[..., Sweep], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    if place == "environment":
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    overrides = ["env.HF_HUB_OFFLINE=1"] if place == "sweep" else []
    remark = models_remark(sweep("model=org/name", "weights=pretrained", *overrides))
    assert remark.endswith("HF_HUB_OFFLINE is set; where there is a network, run: hf download org/name")


def test_a_step_of_ones_own_may_name_any_model(sweep: Callable[..., Sweep], empty_cache: Path) -> None:
    (empty_cache / "mine.py").write_text("def step(case): ...")
    assert not missing_model(sweep("task=mine.py:step", "model=./missing"))


def test_files_on_the_nodes_of_a_cluster_are_not_checked(sweep: Callable[..., Sweep]) -> None:
    require_models(sweep("model=./missing", "run.executor=ray"))
    require_models(sweep("task=missing.py:step", "run.executor=ray"))


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (None, "no file mine.py in "),
        ("def make_steps(case): ...", r"mine.py has no function make_step \(did you mean 'make_steps'\?\)"),
        ("class A:\n    def make_step(self): ...", "mine.py has no function make_step$"),
        ("x = make_step = 1 +", "mine.py:1: SyntaxError: invalid syntax"),
        ("\0", "mine.py"),
        ("(" * 9999, "mine.py"),
    ],
)
def test_a_step_that_cannot_be_loaded_is_refused_before_it_runs(
    sweep: Callable[..., Sweep], empty_cache: Path, code: str | None, reason: str
) -> None:
    if code is not None:
        (empty_cache / "mine.py").write_text(code)
    with pytest.raises(BenchtuiError, match=f"^task 'mine.py:make_step': {reason}"):
        require_models(sweep("task=mine.py:make_step"))


@pytest.mark.parametrize(
    "code",
    [
        "def make_step(case): ...",
        "async def make_step(case): ...",
        "class make_step: ...",
        "from steps import make_step",
        "import steps.make as make_step",
        "from steps import *",
        "if True:\n    make_step = print\nelse:\n    pass",
        "try:\n    from a import make_step\nexcept ImportError:\n    make_step = None",
        "make_step, other = print, print",
        "globals()['make_' + 'step'] = print",
        "def __getattr__(name): ...",
        "pattern = '\\d'\nmake_step: object = print",
    ],
)
def test_a_step_that_a_file_may_define_is_accepted(
    sweep: Callable[..., Sweep], empty_cache: Path, code: str
) -> None:
    (empty_cache / "mine.py").write_text(code)
    require_models(sweep("task=mine.py:make_step"))


def test_a_file_is_read_again_once_it_is_mended(sweep: Callable[..., Sweep], empty_cache: Path) -> None:
    (empty_cache / "mine.py").write_text("def other(case): ...")
    assert missing_model(sweep("task=mine.py:make_step"))
    (empty_cache / "mine.py").write_text("def make_step(case): ...")
    assert not missing_model(sweep("task=mine.py:make_step"))


def write_weights(folder: Path, *names: str) -> None:
    """Write a model with two shards, of which only these are there."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    shards = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    header = json.dumps({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    for name in names:
        (folder / shards[name]).write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))


def test_missing_shards_are_named(sweep: Callable[..., Sweep], empty_cache: Path) -> None:
    write_weights(empty_cache / "half", "a")
    write_weights(empty_cache / "whole", "a", "b")
    shard = "model-00002-of-00002.safetensors of model.safetensors.index.json missing; download the model again"
    assert missing_model(sweep("model=./half", "weights=pretrained")) == ("./half", shard)
    assert not missing_model(sweep("model=./half", "weights=random"))
    assert not missing_model(sweep("model=./whole", "weights=pretrained"))


def test_hub_sends_missing_shards_if_there_is_a_network(sweep: Callable[..., Sweep], empty_cache: Path) -> None:
    repository = empty_cache / "cache" / "models--org--name"
    write_weights(repository / "snapshots" / "1", "a")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("1")
    assert not missing_model(sweep("model=org/name", "weights=pretrained"))
    offline = missing_model(sweep("model=org/name", "weights=pretrained", "env.HF_HUB_OFFLINE=1"))
    assert offline is not None and offline[1].startswith("model-00002-of-00002.safetensors")


def test_truncated_weights_are_refused(sweep: Callable[..., Sweep], empty_cache: Path) -> None:
    write_weights(empty_cache / "mine", "a", "b")
    shard = empty_cache / "mine" / "model-00002-of-00002.safetensors"
    size = shard.stat().st_size
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(BenchtuiError, match=f"{shard.name} is truncated: {size - 1} of {size} bytes; download"):
        require_models(sweep("model=./mine", "weights=pretrained"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            b"version https://git-lfs.github.com/spec/v1\n",
            "is a pointer of Git LFS, not the weights; run git lfs",
        ),
        (b"", "has no header of safetensors; download it again"),
        (bytes(64), "has no header of safetensors; download it again"),
    ],
)
def test_file_that_is_not_safetensors_is_refused(
    sweep: Callable[..., Sweep], empty_cache: Path, content: bytes, reason: str
) -> None:
    (empty_cache / "mine").mkdir()
    (empty_cache / "mine" / "config.json").write_text("{}")
    (empty_cache / "mine" / "model.safetensors").write_bytes(content)
    assert reason in models_remark(sweep("model=./mine", "weights=pretrained"))
