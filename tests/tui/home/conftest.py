"""A machine with played GPUs, and a cache of the hub with made-up models."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from played_machine import PlayedMachine, add_model

from benchtui.sessions.advice.find_sweep import DeviceSupport
from benchtui.tui.shell.context import AppContext


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub, in a folder whose path doesn't differ between runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", "hub")
    Path("hub").mkdir()
    return Path("hub")


@pytest.fixture(scope="session")
def thousand_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a cache of 1,000 models."""
    folder = tmp_path_factory.mktemp("thousand")
    add_model(folder / "hub", "meta-llama/Llama-3.1-70B", "LlamaForCausalLM", 141_107_412_000)
    for number in range(999):
        kind = "BertModel" if number % 2 else "LlamaForCausalLM"
        add_model(folder / "hub", f"org-{number // 100}/model-{number:03}", kind)
    return folder


@pytest.fixture
def machine(request: pytest.FixtureRequest) -> PlayedMachine:
    return PlayedMachine(getattr(request, "param", 0))


@pytest.fixture
def home_context(app_context: AppContext, machine: PlayedMachine) -> AppContext:
    """Context of the played machine."""
    support = DeviceSupport(device="cuda:0" if machine.gpus else "cpu", processors=2)
    return replace(
        app_context, watch=machine.watch, device_support=lambda: support, hostname="box", folder=Path.cwd()
    )
