"""Tiny models of the tasks about images and audio, and workloads made from options as on the command line."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchtui.engine.devices.registry import open_device
from benchtui.engine.workloads.registry import make_workload
from benchtui.sessions.sweep import cases
from benchtui.sessions.sweep.toml_reader import parse_sweep

ARCHITECTURES = Path(__file__).parents[3] / "sessions" / "stored_models" / "architectures"
TINY = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}


def tiny(folder: Path, bundled: str, **smaller: Any) -> Path:
    """Copy a bundled architecture, with a smaller configuration."""
    shutil.copytree(ARCHITECTURES / bundled, folder)
    config = json.loads((folder / "config.json").read_text()) | smaller
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture
def tiny_vit(tmp_path: Path) -> Path:
    folder = tiny(tmp_path / "vit", "vit-base-patch16-224", **TINY, image_size=32, patch_size=8, num_labels=10)
    processor = json.loads((folder / "preprocessor_config.json").read_text())
    processor["size"] = {"height": 32, "width": 32}
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    return folder


@pytest.fixture
def tiny_wav2vec2(tmp_path: Path) -> Path:
    convolutions: dict[str, Any] = {"conv_dim": [16] * 3, "conv_stride": [5, 4, 4], "conv_kernel": [10, 4, 4]}
    convolutions["num_feat_extract_layers"] = 3
    positions = {"num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 2}
    return tiny(tmp_path / "wav2vec2", "wav2vec2-base-960h", **TINY, **convolutions, **positions)


@pytest.fixture
def tiny_whisper(tmp_path: Path) -> Path:
    layers = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in _LAYERS.items()}
    return tiny(tmp_path / "whisper", "whisper-tiny", d_model=32, vocab_size=50300, **layers)


_LAYERS = {"layers": 1, "attention_heads": 2, "ffn_dim": 64}


@pytest.fixture
def made() -> Callable[..., Any]:
    """Make the workload of a sweep's only case."""

    def make(task: str, model: Path, *overrides: str) -> Any:
        text = f'model = "{model}"\nweights = "random"\ntask = "{task}"\n'
        (case,) = cases(parse_sweep(text, "test", overrides, "tiny"))
        assert case.skip is None
        return make_workload(parse_sweep(text, "test", overrides, "tiny"), case.config, open_device("cpu"))

    return make
