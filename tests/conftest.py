"""What tests of several folders share."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from forked import Forked
from watching import OWN, Watched, allowed

from benchtui.engine import client
from benchtui.sessions.profiles import FamilyTime, StepProfile
from benchtui.sessions.sweep import Sweep
from benchtui.sessions.sweep.toml_reader import parse_sweep

hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

# what a test starts is to have the usual signals, also under nohup or behind a shell's "&": children inherit a
# signal that is ignored, and not a handler
for _number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)

# OpenMP's threads otherwise spin while they wait; with more of them than cores that takes most of the time
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

ARCHITECTURES = Path(__file__).parents[1] / "sessions" / "stored_models" / "architectures"


@pytest.fixture(scope="session")
def fake_nvml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a libnvidia-ml.so.1 that plays GPUs, for LD_LIBRARY_PATH of a child process.

    Which GPUs, and how they fail, is said by environment variables: see tests/nvml/nvml.c.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler (cc, gcc) to build the stand-in for the NVIDIA driver's library")
    folder = tmp_path_factory.mktemp("nvml")
    source = Path(__file__).parent / "nvml" / "nvml.c"
    library = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A library of sessions and a runtime folder of this test's own, also for the processes it starts."""
    with tempfile.TemporaryDirectory(
        dir="/tmp", prefix="bt-"
    ) as runtime:  # a socket's path is at most 108 bytes
        monkeypatch.setenv("BENCHTUI_RUNTIME_DIR", runtime)
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        yield tmp_path


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A local folder with a DistilBERT of one narrow layer and the real tokenizer; no weights."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    shutil.copytree(ARCHITECTURES / "distilbert-base-uncased-finetuned-sst-2-english", folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"dim": 32, "hidden_dim": 64, "n_heads": 2, "n_layers": 1}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="session")
def tiny_gpt2(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Path:
    """A local folder with a GPT-2 of two narrow layers and DistilBERT's tokenizer; no weights, no dropout."""
    folder = tmp_path_factory.mktemp("models") / "tiny-gpt2"
    folder.mkdir()
    for name in ("vocab.txt", "tokenizer_config.json"):
        shutil.copy(tiny_model / name, folder)
    config = json.loads((ARCHITECTURES / "gpt2" / "config.json").read_text())
    config |= {"vocab_size": 30522, "n_positions": 64, "n_embd": 32, "n_layer": 2, "n_head": 2}
    config |= {"attn_pdrop": 0, "embd_pdrop": 0, "resid_pdrop": 0, "bos_token_id": 101, "eos_token_id": 102}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="session")
def trained_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A local folder with a tiny GPT-2 that was trained for two seconds, weights and tokenizer."""
    from trained_model import save_trained  # lazy import: torch, which most tests do without

    folder = tmp_path_factory.mktemp("models") / "trained"
    save_trained(folder)
    return folder


@pytest.fixture
def trained_sweep(trained_model: Path) -> Callable[..., Sweep]:
    """Make a sweep of the trained checkpoint, with overrides as on the command line."""

    def make(*overrides: str) -> Sweep:
        text = (
            f'model = "{trained_model}"\ntask = "lm-forward"\n[axes]\nsequence_length = 32\nthreads = 1\n'
            '[run]\nwait_for_quiet = "off"\n[measure]\nwarmup = 1\niterations = 3\npeaks = false\n'
        )
        return parse_sweep(text, "test", overrides, "trained")

    return make


@pytest.fixture
def lm_sweep(tiny_gpt2: Path) -> Callable[..., Sweep]:
    """Make a sweep of the tiny GPT-2, with overrides as on the command line."""

    def make(*overrides: str) -> Sweep:
        text = (
            f'model = "{tiny_gpt2}"\nweights = "random"\n[axes]\nsequence_length = 16\n'
            '[run]\nwait_for_quiet = "off"\n[measure]\nwarmup = 1\npeaks = false\n'
        )
        return parse_sweep(text, "test", ("task=lm-forward", "iterations=5", *overrides), "tiny")

    return make


@pytest.fixture
def tiny_sweep(tiny_model: Path) -> Callable[..., Sweep]:
    """Make a sweep of the tiny model, with overrides as on the command line."""

    def make(*overrides: str) -> Sweep:
        text = (
            f'model = "{tiny_model}"\nweights = "random"\n[axes]\nsequence_length = 16\n'
            '[run]\nwait_for_quiet = "off"\n[measure]\nwarmup = 1\npeaks = false\n'
        )
        return parse_sweep(text, "test", ("iterations=5", *overrides), "tiny")

    return make


@pytest.fixture
def start(home: Path) -> Iterator[Callable[[Sweep], Watched]]:
    """Start an engine; one that a test leaves running is killed, and its file closed."""
    started: list[Watched] = []

    def run(sweep: Sweep) -> Watched:
        path = home / f"session-{len(started)}.json"
        started.append(Watched(client.start(sweep, path, allowed(sweep))))
        return started[-1]

    yield run
    for watched in started:
        if watched.engine.alive():
            os.kill(watched.engine.pid, signal.SIGKILL)
        watched.close()


@pytest.fixture
def own(
    tmp_path: Path, tiny_sweep: Callable[..., Sweep], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Sweep]]:
    """A sweep of a step of one's own, whose ``make(case)`` has this body; it may run in this process."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", [*sys.argv])

    def make(body: str, *overrides: str) -> Sweep:
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        (tmp_path / "own.py").write_text(f"{OWN}def make(case):\n{lines}")
        sys.modules.pop("own", None)
        return tiny_sweep(f"task={tmp_path / 'own.py'}:make", *overrides)

    yield make
    sys.modules.pop("own", None)


@pytest.fixture
def command() -> str:
    """The installed command."""
    path = Path(sys.executable).with_name("benchtui")
    assert path.exists(), "benchtui is not installed beside this Python"
    return str(path)


@pytest.fixture(scope="session")
def forked() -> Iterator[Forked]:
    """Run commands in forks of one loaded program, which saves each its start-up."""
    with Forked() as made:
        yield made


@pytest.fixture
def make_profile() -> Callable[..., StepProfile]:
    """Make the profile of a step: milliseconds of each family, and further fields."""

    def make(families: dict[str, float], **fields: Any) -> StepProfile:
        step_ms = sum(families.values())
        times = [FamilyTime(family=name, ms=ms, launches=10.0) for name, ms in families.items()]  # type: ignore[arg-type]
        times.sort(key=lambda each: -each.ms)
        known = {"steps": 3, "step_ms": step_ms, "plain_steps": 6, "plain_ms": step_ms, "launches": 20.0}
        return StepProfile(**known | {"families": tuple(times)} | fields)  # type: ignore[arg-type]

    return make
