"""A machine with played GPUs, and models in a cache of the hub, for tests and pictures of Home."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from msgspec.structs import replace
from simulated.box import Box

from benchtui.sessions.events import Telemetry
from benchtui.sessions.payloads import Host, HostReadings, MachineUsers, Neighbor

KINDS = {
    "BertModel": {
        "hidden_size": 384,
        "num_hidden_layers": 6,
        "num_attention_heads": 12,
        "intermediate_size": 1536,
    },
    "LlamaForCausalLM": {
        "hidden_size": 2048,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "intermediate_size": 8192,
        "dtype": "bfloat16",
    },
}
SIZES = {"BertModel": 90_868_376, "LlamaForCausalLM": 2_471_645_608}
PROCESSOR_ONLY = Host(
    hostname="box",
    cpu_count=2,
    memory_mb=25_000.0,
    packages={"torch": "2.13.0+cpu", "transformers": "5.23.0"},
    absent={"gpu": "no NVIDIA driver on this machine", "rapl": "no counters"},
)


def add_model(cache: Path, model: str, architecture: str, size: int | None = None) -> Path:
    """Add a model to a cache of the hub; its weights are a file of holes. Return its files."""
    folder = cache / f"models--{model.replace('/', '--')}"
    files = folder / "snapshots" / "c0ffee"
    files.mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("c0ffee")
    (files / "config.json").write_text(json.dumps({"architectures": [architecture], **KINDS[architecture]}))
    (files / "tokenizer.json").write_text("{}")
    with (files / "model.safetensors").open("wb") as weights:
        weights.truncate(SIZES[architecture] if size is None else size)
    return files


class PlayedMachine:
    """Machine whose readings are played at once when it is watched."""

    def __init__(self, gpus: int) -> None:
        self.gpus = gpus
        self.watched = 0
        self.ended = 0

    def watch(self, emit: Callable[[Any], None]) -> Callable[[], None]:
        self.watched += 1
        if self.gpus:
            box = Box(self.gpus, Random(0), emit)
            described = box.describe()
            gpus = (replace(gpu, name="NVIDIA H100 80GB HBM3") for gpu in described.gpus)
            emit(replace(described, gpus=tuple(gpus), packages=PROCESSOR_ONLY.packages))
            box.advance(30.0)
            box.flush()
        else:
            emit(PROCESSOR_ONLY)
            at_s = [float(second) for second in range(30)]
            host = HostReadings(
                cpu_percent=[40.0 + 5 * (second % 7) for second in range(30)],
                memory_used_mb=[3_700.0] * 30,
                others_cpu_percent=[8.0] * 30,
            )
            emit(Telemetry(t=30.0, at_s=at_s, host=host))
        users = (Neighbor(name="vllm", user="alice"),)
        busiest = (Neighbor(name="python", user="bob", cpu_percent=153.0),)
        emit(
            MachineUsers(
                gpus={place: users if place == 2 else () for place in range(self.gpus)}, busiest=busiest
            )
        )
        return self._end

    def _end(self) -> None:
        self.ended += 1
