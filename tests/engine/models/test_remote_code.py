"""Code that a model or a dataset contains never runs, and no loading call can ask for it."""

import ast
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pytest
from transformers import (
    AutoConfig,
    AutoFeatureExtractor,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.models.auto.image_processing_auto import AutoImageProcessor

from benchtui.engine.models import attention, loading
from benchtui.engine.models.drafts import Drafting
from benchtui.engine.models.network import Architecture, load_network
from benchtui.engine.workloads.inputs import stored_text
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import Config, Sweep

ENGINE = Path(loading.__file__).parents[1]
PLANTED = """
from pathlib import Path
Path(__file__ + ".ran").touch()
from transformers import PretrainedConfig as Planted
"""
KERNEL_ENTRIES = ("attn_implementation", "_attn_implementation_internal")
"""Entries of a configuration that name an attention kernel; transformers 5 reads the first, 4.45 the second."""
LOADERS = [AutoConfig, AutoTokenizer, AutoModel, AutoModelForCausalLM, AutoFeatureExtractor, AutoImageProcessor]


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let transformers copy code here before it runs it, and forget then whose models had code."""
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for base in (PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase):
        for kind in (base, *descendants(base)):
            if kind.__dict__.get("_auto_class"):  # a later save_pretrained would look for code
                kind._auto_class = None


def descendants(base: type[Any]) -> Iterator[Any]:
    for kind in base.__subclasses__():
        yield kind
        yield from descendants(kind)


def planted(folder: Path, tiny_model: Path, **config: object) -> Path:
    """A model folder with code for everything that transformers may load from it."""
    shutil.copytree(tiny_model, folder)
    (folder / "planted.py").write_text(PLANTED)
    names = ("AutoConfig", "AutoModel", "AutoModelForCausalLM", "AutoModelForSequenceClassification")
    code = {"auto_map": {name: "planted.Planted" for name in names}}
    write(folder / "config.json", code | config)
    write(
        folder / "tokenizer_config.json",
        {"auto_map": {"AutoTokenizer": ["planted.Planted", "planted.Planted"]}},
    )
    for name in ("AutoFeatureExtractor", "AutoImageProcessor"):
        write(folder / "preprocessor_config.json", {"auto_map": {name: "planted.Planted"}})
    return folder


def write(path: Path, entries: dict[str, Any]) -> None:
    before = json.loads(path.read_text()) if path.exists() else {}
    maps = before.get("auto_map", {}) | entries.get("auto_map", {})
    path.write_text(json.dumps(before | entries | {"auto_map": maps}))


@pytest.mark.parametrize("model_type", ["distilbert", "planted"])
@pytest.mark.parametrize("auto", LOADERS, ids=lambda auto: str(auto.__name__))
def test_code_in_a_model_folder_never_runs(
    tmp_path: Path, tiny_model: Path, auto: Any, model_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither with a type that transformers knows nor with one that it doesn't, and nobody is asked."""
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    folder = planted(tmp_path / "model", tiny_model, model_type=model_type)
    try:
        loading.load("model", loading.locate(str(folder), "pretrained"), auto.from_pretrained)
    except BenchtuiError as error:
        assert "\n" not in str(error)
    assert not list(tmp_path.rglob("*.ran"))


def test_planted_model_code_would_run_if_it_were_trusted(tmp_path: Path, tiny_model: Path) -> None:
    folder = planted(tmp_path / "model", tiny_model, model_type="planted")
    AutoConfig.from_pretrained(folder, trust_remote_code=True)
    assert list(tmp_path.rglob("*.ran"))


def _calls(tree: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def test_every_loader_goes_through_the_one_function_that_forbids_code() -> None:
    """``from_pretrained`` is only passed to ``loading.load``, and ``from_config`` gets the same."""
    direct, values = [], []
    for file in ENGINE.rglob("*.py"):
        tree = ast.parse(file.read_text("utf-8"))
        for call in _calls(tree):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            words = {word.arg: ast.unparse(word.value) for word in call.keywords}
            if "trust_remote_code" in words:
                values.append(words["trust_remote_code"])
            if name in ("from_pretrained", "from_config", "custom_generate", "pipeline"):
                direct.append((file.name, name, words.get("trust_remote_code")))
    assert values and set(values) == {"False"}
    assert sorted(direct, key=str) == [
        ("batches.py", "from_pretrained", None),  # inside a function that loading.load calls
        ("network.py", "from_config", "False"),
    ]


def test_no_text_of_the_engine_allows_remote_code() -> None:
    """Nor does any dictionary, string or attribute, except the switch of ``datasets`` that turns it off."""
    found = [
        line.strip()
        for file in ENGINE.rglob("*.py")
        for line in file.read_text("utf-8").splitlines()
        if "trust_remote_code" in line.lower() or "allow_all_kernels" in line.lower()
    ]
    assert all("trust_remote_code=False" in line or "TRUST_REMOTE_CODE = False" in line for line in found), (
        found
    )


def test_script_of_a_dataset_never_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions of the library before 4 would run it if the user's environment or a terminal said so."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_TRUST_REMOTE_CODE", True, raising=False)
    monkeypatch.setattr(stored_text.hub, "reachable", lambda: False)
    folder = tmp_path / "planted"
    folder.mkdir()
    (folder / "planted.py").write_text(PLANTED)
    for dataset in ("planted", "planted:train", "planted/planted.py", str(folder / "planted.py")):
        with pytest.raises(BenchtuiError):
            stored_text.load(dataset)
    assert not list(tmp_path.rglob("*.ran"))
    assert datasets.config.HF_DATASETS_TRUST_REMOTE_CODE is False


@pytest.mark.parametrize("inner", [False, True])
def test_attention_kernel_that_a_configuration_names_is_refused(inner: bool) -> None:
    """Transformers would download it and import it; only the sweep may name one, and the user is asked."""

    class Stated:
        _attn_implementation = "evil/kernel@main"
        sub_configs = {}  # noqa: RUF012

    class Around:
        _attn_implementation = "sdpa"
        sub_configs = {"text_config": object}  # noqa: RUF012
        text_config = Stated()

    with pytest.raises(BenchtuiError, match="names an attention kernel from the hub, 'evil/kernel@main'"):
        attention.require_no_hub_kernel("m", Around() if inner else Stated())


@pytest.mark.parametrize("weights", ["random", "pretrained"])
def test_model_with_a_kernel_in_its_configuration_is_not_loaded(
    tmp_path: Path, tiny_model: Path, weights: Any
) -> None:
    import torch

    folder = planted(tmp_path / "model", tiny_model, **dict.fromkeys(KERNEL_ENTRIES, "evil/kernel"))
    location = loading.locate(str(folder), weights)
    stated = loading.load("configuration", location, AutoConfig.from_pretrained)
    sweep = Sweep(name="s", model=str(folder), weights=weights)
    with pytest.raises(BenchtuiError, match="attention kernel from the hub"):
        load_network(
            AutoModelForSequenceClassification,
            Architecture(location, stated),
            sweep,
            Config(device="cpu"),
            torch.device("cpu"),
        )


def test_draft_with_a_kernel_in_its_configuration_is_not_loaded(
    tmp_path: Path, tiny_model: Path, tiny_gpt2: Path
) -> None:
    draft = planted(tmp_path / "draft", tiny_gpt2, **dict.fromkeys(KERNEL_ENTRIES, "evil/kernel"))
    config = Config(device="cpu", draft=str(draft))
    network = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(tiny_gpt2))
    with pytest.raises(BenchtuiError, match="attention kernel from the hub"):
        Drafting(network, config, "pretrained")
