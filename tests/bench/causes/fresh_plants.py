"""Planted causes that were written before the last change of the rules, and counted before and after it."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed
from plants import Step, plant, work
from plants import make as make  # the task of its sweep

PEER = """
import sys, time, torch, torch.distributed as group
torch.set_num_threads(1)
group.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=1, world_size=2)
while True:
    time.sleep(0.01)
    group.all_reduce(torch.ones(1000))
"""
"""The slow one of two processes that sum their gradients."""


@plant("copies|*: bfloat16")
def autocast() -> Step:
    """Cast the weights to bfloat16 in each step, since they are kept in float32."""
    layers, x = [torch.nn.Linear(1024, 1024) for _ in range(4)], torch.randn(1, 1024)

    def step() -> None:
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
            for layer in layers:
                layer(x)

    return step


@plant("too many threads")
def one_processor() -> Step:
    """Leave two threads on the only processor that the process may use."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    x = torch.randn(256, 256)
    return lambda: [(x @ x).relu() for _ in range(4)]


@plant("*: reduce|sleeping: process|sleeping: lock|sleeping: network|sleeping: event")
def slow_peer() -> Step:
    """Sum gradients with another process, which comes late."""
    some, place = work(), tempfile.mktemp()
    subprocess.Popen([sys.executable, "-c", PEER, place])
    torch.distributed.init_process_group("gloo", init_method=f"file://{place}", rank=0, world_size=2)
    gradients = torch.ones(1000)
    return lambda: (some(), torch.distributed.all_reduce(gradients))


@plant("many operators|items|Python gaps: repr|Python gaps: tensor|native code: repr")
def printed_tensor() -> Step:
    """Turn a tensor into text, as a log line does."""
    some, x = work(), torch.randn(30, 30)
    return lambda: (some(), repr(x))


@plant("many operators")
def recurrent_cells() -> Step:
    """Call a recurrent cell for each position."""
    cell, x = torch.nn.LSTMCell(32, 32), torch.randn(120, 4, 32)

    def step() -> None:
        state = None
        with torch.inference_mode():
            for row in x:
                state = cell(row, state)

    return step


@plant("page faults|unfused|*: aten::sub|*: aten::pow")
def pairwise_differences() -> Step:
    """Subtract all pairs of rows, which takes hundreds of times their memory."""
    some, x = work(), torch.randn(300, 64)
    return lambda: (some(), (x[:, None] - x[None]).pow(2).sum(-1))


@plant("sleeping: sleep")
def polled_file() -> Step:
    """Look again and again for a file that another process writes."""
    some, path = work(), Path(tempfile.mkdtemp()) / "done"
    code = "import pathlib, sys, time\nwhile True: time.sleep(0.015), pathlib.Path(sys.argv[1]).touch()"
    subprocess.Popen([sys.executable, "-S", "-c", code, path])

    def step() -> None:
        some()
        while not path.exists():
            time.sleep(0.001)
        path.unlink()

    return step


@plant("*: upsample")
def resized_images() -> Step:
    """Resize images in the step instead of ahead of it."""
    some, images = work(), torch.rand(2, 3, 96, 96)
    return lambda: (some(), torch.nn.functional.interpolate(images, (224, 224), mode="bicubic"))
