"""What only a played GPU can tell: who touched it, and how it is where there are two."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from benchtui.sessions.explain.as_json import ExplainedJson
from benchtui.sessions.explain.cases import SHARE
from benchtui.sessions.state.session import Session

pytestmark = pytest.mark.long
Measure = Callable[..., Session]

BLOCK = """
import ctypes, json, sys
import torch
from benchtui.engine.devices.registry import open_device
from benchtui.engine.job import THROUGHPUT_BLOCK
from benchtui.engine.workloads.registry import make_workload
from benchtui.sessions.sweep import cases
from benchtui.sessions.sweep.toml_reader import load_sweep

sweep = load_sweep("quick", sys.argv[1:])
device = open_device("cuda:0")
workload = make_workload(sweep, cases(sweep)[0].config, device)
for _ in range(2):
    workload.count(device.time(workload.step)[1])
workload.begin_measuring()
driver = ctypes.CDLL(None)
before = driver.played_waits()
device.time_block(workload.step, THROUGHPUT_BLOCK)
in_block = driver.played_waits() - before
print(json.dumps([in_block, device.waits(workload.step)]))
"""
"""Prints how often the host waits for the GPU in a block of steps, and in a step by torch's own account."""


def test_process_that_used_the_gpu_is_never_forked(measure: Measure, tmp_path: Path) -> None:
    notes, texts = tmp_path / "notes", tmp_path / "texts.txt"
    texts.write_text("good film\n" * 50)
    measure(
        "quick",
        "device=cuda:0",
        f"dataset={texts}",
        "batch_size=1,2",
        "sequence_length=32",
        PLAYED_GPU_NOTES=str(notes),
    )
    lines = notes.read_text().splitlines()
    assert len(lines) >= 4, "torch's question, the peaks, and two cases"
    assert all(line.endswith(" touched") for line in lines)
    assert len(set(lines)) == len(lines)


def test_cases_on_two_gpus_run_in_parallel(measure: Measure) -> None:
    session = measure(
        "quick",
        "device=cuda:*",
        "run.parallel=true",
        "precision=fp16",
        "batch_size=1,8",
        PLAYED_GPUS="2",
        FAKE_NVML_GPUS="2",
    )
    assert {case.state for case in session.cases} == {"ok"}
    assert {case.config.device for case in session.cases} == {"cuda:0", "cuda:1"}
    uuids = {case.prepared.gpu_uuid for case in session.cases if case.prepared}
    assert uuids == {gpu.uuid for gpu in session.start.host.gpus}


@pytest.fixture
def waits(environment: dict[str, str], home: Path) -> Callable[..., tuple[int, int]]:
    """Run a block of steps. Return the driver's waits in it, and those that torch reports for a step."""

    def run(*overrides: str) -> tuple[int, int]:
        command = [sys.executable, "-c", BLOCK, "device=cuda:0", "weights=random", *overrides]
        ran = subprocess.run(
            command, env=os.environ | environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert ran.returncode == 0, ran.stderr
        in_block, in_step = json.loads(ran.stdout.splitlines()[-1])
        return in_block, in_step

    return run


FULL_ROWS = ("mode=throughput", "dataset=synthetic", "batch_size=2", "sequence_length=32")
LM = ("model=gpt2", *FULL_ROWS)


@pytest.mark.parametrize(
    "task", [FULL_ROWS, (*LM, "task=generate", "precision=fp16", "new_tokens=4")], ids=["classify", "generate"]
)
def test_host_waits_only_at_both_ends_of_a_throughput_block(
    waits: Callable[..., tuple[int, int]], task: tuple[str, ...]
) -> None:
    assert waits(*task) == (2, 0)


@pytest.mark.parametrize(
    ("sweep", "most"),
    [
        ((*LM, "task=lm-forward", "precision=fp16"), 1),  # transformers looks for packed sequences
        ((*LM, "task=lm-train", "precision=fp32"), 1),
        ((*LM, "task=lm-train", "precision=amp-fp16"), 1),
    ],
    ids=["lm-forward", "lm-train", "scaled lm-train"],
)
def test_every_wait_in_a_throughput_block_is_counted(
    waits: Callable[..., tuple[int, int]], sweep: tuple[str, ...], most: int
) -> None:
    in_block, in_step = waits(*sweep)
    assert 0 < in_step <= most
    assert in_block == 2 + 16 * in_step


def test_padded_texts_in_throughput_mode_are_marked(measure: Measure, tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("good film\n")
    sweep = ("device=cuda:0", "mode=throughput", "batch_size=2", f"dataset={tmp_path / 'short.txt'}")
    session = measure("quick", *sweep)
    assert any(mark.startswith("waits for the GPU") for mark in session.cases[0].marks)


def explained(session: Session, environment: dict[str, str], path: Path) -> ExplainedJson:
    """Profile the session's first case."""
    main = "from benchtui.tui.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", main, "explain", str(path), "1", "--json"],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    return msgspec.json.decode(ran.stdout, type=ExplainedJson)


def test_kernels_copies_launches_and_idle_time_are_explained(
    measure: Measure, environment: dict[str, str], home: Path
) -> None:
    session = measure("quick", "device=cuda:0", "batch_size=2", "sequence_length=32")
    case = explained(session, environment, next(home.glob("*.json"))).cases[0]
    profile = case.profile
    assert profile
    assert sum(each.ms for each in profile.families) == pytest.approx(profile.step_ms, rel=0.03)
    products = [each for each in profile.kernels if each.name == "played_gemm"]
    assert sum(each.count for each in products) == 6 * 6 + 2, "six layers of six products, and the head's two"
    assert all(each.operator == "aten::addmm" and each.family == "matmul" and each.flops for each in products)
    copies = {each.name: each for each in profile.kernels if each.name.startswith("Memcpy")}
    assert {name: each.count for name, each in copies.items()} == {
        "Memcpy HtoD (Pageable -> Device)": 1,  # rows of full length have no mask
        "Memcpy DtoH (Device -> Pageable)": 1,
    }
    assert all((each.family, each.operator) == ("copy", "aten::copy_") for each in copies.values())
    assert all(each.bytes for each in copies.values())
    others = {each.operator: each.family for each in profile.kernels if each.name == "played_kernel"}
    assert others["aten::gather"] == "gather"
    assert others["aten::native_layer_norm"] == others["aten::gelu"] == "elementwise"
    assert others["aten::_efficient_attention_forward"] == "attention"
    assert "other" not in others.values(), "the operator says what a kernel's name doesn't"
    assert profile.launches == pytest.approx(sum(each.count for each in profile.kernels), abs=0.01)
    assert profile.busy_ms
    assert profile.busy_ms + sum(profile.idle_ms.values()) == pytest.approx(profile.step_ms, rel=0.03)
    assert 0 < (profile.launching_ms or 0) < profile.step_ms


def test_training_on_autograds_thread_is_no_sleep(
    measure: Measure, environment: dict[str, str], home: Path
) -> None:
    """The main thread waits in each backward pass, while autograd's thread launches kernels."""
    sweep = ("device=cuda:0", "model=gpt2", "task=lm-train", "dataset=synthetic", "activation_checkpointing=on")
    session = measure("quick", *sweep, "batch_size=1", "sequence_length=32", "iterations=5")
    case = explained(session, environment, next(home.glob("*.json"))).cases[0]
    assert case.profile and case.profile.launches > 1000
    assert case.profile.idle_ms.get("wait", 0.0) < SHARE * case.profile.step_ms, "less than is named as sleep"
    assert "sleeping" not in {finding.rule for finding in case.findings}
    assert case.profile.recomputed_ms > 0
