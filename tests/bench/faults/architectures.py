"""Takes one step of tiny models of every architecture in every task, and compares that with the plan.

``python tests/bench/faults/architectures.py --seconds 180`` prints how many pairs of model type and task ended
in which way, and each pair that the plan lets pass and whose step is refused or raises an exception, with exit
status 1. The order is random by ``--seed``, so that a part of the pairs is a sample of all; ``--results`` names
a file that collects parts. A configuration is that of transformers with small sizes; some architectures can't
be built that small and show nothing.

``--run`` takes well-known types instead, and runs a sweep over all of them with ``benchtui run``, for each
task: each case must be skipped with the plan's sentence, or be measured.
"""

import argparse
import json
import logging
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from transformers import CONFIG_MAPPING, FEATURE_EXTRACTOR_MAPPING, AutoConfig

from benchtui.engine.devices.base import no_lap
from benchtui.engine.devices.registry import open_device
from benchtui.engine.models import network
from benchtui.engine.workloads.registry import make_workload
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.state.session import Session
from benchtui.sessions.stored_models.measurable import _words
from benchtui.sessions.sweep import cases
from benchtui.sessions.sweep.tasks import TASKS
from benchtui.sessions.sweep.toml_reader import parse_sweep

SIZES = {
    32: "hidden_size d_model n_embd dim embed_dim embedding_size moe_intermediate_size"
    " shared_expert_intermediate_size",
    64: "intermediate_size ffn_dim d_ff n_inner encoder_ffn_dim decoder_ffn_dim hidden_dim image_size"
    " max_position_embeddings n_positions vision_intermediate_size",
    128: "vocab_size",
    4: "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers"
    " num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads"
    " num_key_value_heads num_experts n_routed_experts num_local_experts",
    2: "num_experts_per_tok",
    1: "n_group topk_group",
    8: "head_dim patch_size state_size qk_nope_head_dim qk_rope_head_dim v_head_dim kv_lora_rank q_lora_rank"
    " rotary_dim",
}
"""Small values, and the entries of configurations that get them."""
SMALL = {name: size for size, names in SIZES.items() for name in names.split()}
ATTEMPTS = (
    SMALL,
    {name: size for name, size in SMALL.items() if not name.endswith(("layers", "layer"))},
    {name: size for name, size in SMALL.items() if name.endswith(("layers", "layer", "vocab_size"))},
    {},
)
"""Sizes to try, because some don't go together with other entries of a configuration."""
SHAPE = ("batch_size=2", "sequence_length=16")
OF_TASK = {
    "generate": ("new_tokens=3",),
    "serve-batch": ("new_tokens=3",),
    "speech": ("new_tokens=3", "audio_seconds=1"),
}
MISSING = {"num_experts_per_tok": 2, "sliding_window": 8}
"""Entries that some configurations need although their default is none."""
VOCABULARY = 128
MOST_PARAMETERS = 160_000_000
LONGEST_S = 15
"""Time of a pair in seconds, which a loop in Python would exceed at full size."""

_RUN = (
    "albert bart beit bert bert-generation big_bird biogpt bloom camembert clip codegen cohere ctrl"
    " data2vec-text deepseek_v2 deepseek_v3 dinov2 distilbert electra ernie esm falcon falcon_mamba gemma"
    " gemma2 gemma3_text git glm gpt2 gpt_bigcode gpt_neo gpt_neox gptj granite hubert jamba llama mamba"
    " marian mbart mistral mixtral mobilebert modernbert mpnet mpt olmo2 olmoe openai-gpt opt pegasus"
    " persimmon phi phi3 qwen2 qwen3 qwen3_moe recurrent_gemma roberta segformer siglip smollm3 stablelm"
    " starcoder2 t5 vit wav2vec2 whisper xglm xlm-roberta"
)
RUN = _RUN.split()
"""Types of models that are run with the real command."""
RUN_ENTRIES = """\
weights = "random"
dataset = "synthetic"
[measure]
warmup = 1
iterations = 2
peaks = false
answers = false
timeout = "60s"
[run]
wait_for_quiet = "off"
[axes]
device = "cpu"
"""


class TooLargeError(Exception):
    """A model that remains large although its known sizes are small, or slow."""


def main() -> int:
    """Play pairs until the time is over. Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--task", choices=TASKS, action="append", help="only this task; may be repeated")
    parser.add_argument("--results", type=Path, help="file of ended pairs, which are not played again")
    parser.add_argument("--run", action="store_true", help="run sweeps over well-known types")
    options = parser.parse_args()
    prepare()
    if options.run:
        return run_all(options.task or TASKS)
    ended = _read(options.results)
    for task, kind in _pairs(options.task or TASKS, options.seed, options.seconds):
        if (task, kind) in ended:
            continue
        ended[task, kind] = end, why = play(task, kind)
        if options.results:
            with options.results.open("a") as file:
                print(json.dumps([task, kind, end, why]), file=file)
    for (task, kind), (end, why) in ended.items():
        if end in ("raised", "refused"):
            print(f"{task} {kind}: {end}: {why}")
    for (task, end), count in sorted(Counter((task, end) for (task, _), (end, _) in ended.items()).items()):
        print(f"{task:12} {end:12} {count}")
    return int(any(end in ("raised", "refused") for end, _ in ended.values()))


def prepare() -> None:
    """Make this process quiet, single-threaded, and able to end slow steps."""
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, _interrupt)


def run_all(tasks: list[str]) -> int:
    """Run a sweep over the well-known types for each task. Return the exit status."""
    disagreeing = 0
    for task in tasks:
        with tempfile.TemporaryDirectory() as folder:
            ends = list(_run(task, Path(folder)))
        for kind, expected, end in ends:
            if end != expected:
                print(f"{task} {kind}: the plan says {expected}, but the run: {end}")
                disagreeing += 1
        measured = sum(end == "ok" for _, _, end in ends)
        print(
            f"{task:12} {len(ends)} types: {measured} measured, {len(ends) - measured} skipped or failed",
            flush=True,
        )
    return int(disagreeing > 0)


def _run(task: str, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield each type with what the plan says and how its case ended: ok, or the reason why not."""
    for kind in RUN:
        (folder / kind).mkdir()
        if task == "speech":
            with suppress(KeyError):
                FEATURE_EXTRACTOR_MAPPING[CONFIG_MAPPING[kind]]().save_pretrained(folder / kind)
        (folder / kind / "config.json").write_text(json.dumps(_built(task, kind)))
    models = [str(folder / kind) for kind in RUN]
    (folder / "s.toml").write_text(
        f'name = "tiny"\ntask = "{task}"\nmodel = {json.dumps(models)}\n{RUN_ENTRIES}'
    )
    entries = (*SHAPE, *OF_TASK.get(task, ()))
    plan = cases(parse_sweep((folder / "s.toml").read_text(), "tiny", entries, "tiny"))
    command = [sys.executable, "-m", "benchtui", "run", "s.toml", "-o", "s.json"]
    subprocess.run(
        [*command, *(word for entry in entries for word in ("--set", entry))],
        cwd=folder,
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    ended = Session.load(folder / "s.json").cases
    for kind, case, state in zip(RUN, plan, ended, strict=True):
        reason = state.finished.reason if state.finished else None
        yield kind, case.skip or "ok", state.state if state.state == "ok" else str(reason)


def _built(task: str, kind: str) -> dict[str, Any]:
    """Return the first of the small configurations that can be built."""
    for sizes in ATTEMPTS:
        config = tiny(kind, sizes)
        if _attempt(task, kind, sizes, planned=True)[0] in ("measured", "skipped"):
            return config
    return tiny(kind, ATTEMPTS[0])


def _read(results: Path | None) -> dict[tuple[str, str], tuple[str, str]]:
    lines = results.read_text().splitlines() if results and results.exists() else []
    return {(task, kind): (end, why) for task, kind, end, why in map(json.loads, lines)}


def _pairs(tasks: list[str], seed: int, seconds: float) -> Iterator[tuple[str, str]]:
    pairs = [(task, kind) for task in tasks for kind in _words()]
    random.Random(seed).shuffle(pairs)
    end = time.monotonic() + seconds
    for pair in pairs:
        if time.monotonic() > end:
            return
        yield pair


def play(task: str, kind: str) -> tuple[str, str]:
    """Return how a pair ended, and why: skipped by the plan, or as its trial ended."""
    return trial(task, kind, planned=True)


def trial(task: str, kind: str, *, planned: bool = False) -> tuple[str, str]:
    """Return how a step of a tiny model ended, and why. With ``planned``, the plan may skip it."""
    ends = []
    for sizes in ATTEMPTS:
        end, why = _attempt(task, kind, sizes, planned=planned)
        if end in ("measured", "skipped", "refused"):
            return end, why
        ends.append((end, why))
    return next((result for result in ends if result[0] == "raised"), ends[0])


def _attempt(task: str, kind: str, sizes: dict[str, int], *, planned: bool) -> tuple[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        signal.alarm(LONGEST_S)
        try:
            return _trial(task, tiny(kind, sizes), Path(folder), planned=planned)
        except TooLargeError as error:
            return "too large", str(error)
        except Exception as error:  # noqa: BLE001  (whatever a configuration raises that isn't meant to be this small)
            return "not built", _line(error)
        finally:
            signal.alarm(0)


def _trial(task: str, config: dict[str, Any], folder: Path, *, planned: bool) -> tuple[str, str]:
    text = f'model = "{folder}"\nweights = "random"\ntask = "{task}"\ndataset = "synthetic"\n'
    sweep = parse_sweep(text, "tiny", (*SHAPE, *OF_TASK.get(task, ())), "tiny")
    if task == "speech":
        with suppress(KeyError):  # a type without speech recognition
            FEATURE_EXTRACTOR_MAPPING[CONFIG_MAPPING[config["model_type"]]]().save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(config))
    (case,) = cases(sweep)
    if planned and case.skip:
        return "skipped", case.skip
    AutoConfig.from_pretrained(folder)
    return _step(sweep, case.config)


def _step(sweep: Any, config: Any) -> tuple[str, str]:
    built = False
    load = network._random

    def load_small(auto: Any, architecture: Any, options: dict[str, Any]) -> network.Loaded:
        nonlocal built
        with torch.device("meta"):
            module = auto.from_config(architecture.config)
        if sum(parameter.numel() for parameter in module.parameters()) > MOST_PARAMETERS:
            raise TooLargeError("parameters")
        built = True
        return load(auto, architecture, options)

    network._random = load_small
    try:
        workload = make_workload(sweep, config, open_device("cpu"))
        workload.count(workload.step(no_lap))
    except BenchtuiError as error:
        return "refused", str(error)
    except TooLargeError:
        raise
    except RuntimeError as error:  # of torch: small sizes that don't go together
        return "not built", _line(error)
    except Exception as error:  # noqa: BLE001  (that is what the program looks for)
        return "raised" if built else "not built", _line(error)
    finally:
        network._random = load
    return "measured", ""


def tiny(kind: str, sizes: dict[str, int]) -> dict[str, Any]:
    """Return the configuration of a type of model with small sizes; without any if that can't be built."""
    try:
        config = CONFIG_MAPPING[kind]().to_dict()
    except Exception:  # noqa: BLE001  (whatever a configuration raises without a value that it needs)
        config = {}
    return {**_small(config, sizes), "model_type": kind}


def _small(config: dict[str, Any], sizes: dict[str, int]) -> dict[str, Any]:
    return {name: _smaller(str(name), value, sizes) for name, value in config.items()}  # labels have numbers


def _smaller(name: str, value: object, sizes: dict[str, int]) -> object:
    if isinstance(value, dict):
        return _small(value, sizes)
    if name in sizes and isinstance(value, int) and value > sizes[name]:
        return sizes[name]
    if name in MISSING and value is None:
        return MISSING[name]
    if name.endswith("_token_id") and isinstance(value, int):
        return min(value, VOCABULARY - 1)
    if name == "mrope_section":
        return [1, 1, 2]  # of the 4 frequencies that a head of this size has
    if name in ("layer_types", "mlp_layer_types") and isinstance(value, list) and "num_hidden_layers" in sizes:
        return (list(dict.fromkeys(value)) * 4)[:4]
    return value


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0][:160]}"


def _interrupt(*_: object) -> None:
    raise TooLargeError("time")


if __name__ == "__main__":
    sys.exit(main())
