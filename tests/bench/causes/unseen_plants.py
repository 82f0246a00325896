"""Planted causes of kinds that no rule was written for, to see how general the rules are.

Their expectation is what a reader needs to know; ``*`` stands for any rule whose sentence has the word.
"""

import asyncio
import gc
import os
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import torch
from plants import Step, plant, work
from plants import make as make  # the task of its sweep
from torch.utils.checkpoint import checkpoint


@plant("*: sort")
def sorted_values() -> Step:
    """Sort a large tensor in each step."""
    some, x = work(), torch.randn(300_000)
    return lambda: (some(), torch.sort(x))


@plant("*: svd")
def singular_values() -> Step:
    """Decompose a matrix in each step."""
    some, x = work(), torch.randn(160, 160)
    return lambda: (some(), torch.linalg.svd(x))


@plant("*: normal_|*: random")
def random_noise() -> Step:
    """Draw noise for each step."""
    some = work()
    noise = torch.empty(1_000_000)
    return lambda: (some(), noise.normal_())


def small_network() -> tuple[torch.nn.Module, torch.Tensor]:
    """Return layers and their input."""
    net = torch.nn.Sequential(
        *(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()) for _ in range(40))
    )
    return net, torch.randn(8, 64)


@plant("*: anomaly")
def anomaly_mode() -> Step:
    """Train with autograd's anomaly detection left on."""
    net, x = small_network()
    torch.autograd.set_detect_anomaly(True)
    return lambda: net(x).sum().backward()


@plant("*: setprofile|*: setting trace|*: trace function|*: profile function")
def profiled_python() -> Step:
    """Leave a hook of a tracer installed, which Python calls for each of its calls."""
    some, calls = work(), [0]

    def hook(*_: object) -> None:
        calls[0] += 1

    def small(number: int) -> int:
        return number + 1

    def step() -> None:
        sys.setprofile(hook)
        some()
        for number in range(20_000):
            small(number)

    return step


@plant("sleeping: process|sleeping: child|kernel time: fork|*: os.fork|*: waitpid")
def fork_per_step() -> Step:
    """Fork a process for each step, and wait for it."""
    some, ballast = work(), bytearray(os.urandom(1_000_000) * 60)

    def step() -> None:
        some()
        child = os.fork()
        if child == 0:
            os._exit(ballast[0] * 0)
        os.waitpid(child, 0)

    return step


@plant("reading|page faults: file|*: memmap")
def mapped_file() -> Step:
    """Map and read a file in every step."""
    some, path = work(), Path(tempfile.mkdtemp()) / "data.bin"
    path.write_bytes(os.urandom(1_000_000) * 32)
    return lambda: (some(), int(np.memmap(path, dtype=np.uint8)[::512].sum()))


@plant("Python gaps: torch.tensor|native code: torch.tensor|*: torch.tensor")
def list_to_tensor() -> Step:
    """Make a tensor of a list of Python's numbers."""
    some, numbers = work(), [float(number) for number in range(100_000)]
    return lambda: (some(), torch.tensor(numbers))


@plant("sleeping: asyncio|sleeping: sleep")
def event_loop() -> Step:
    """Wait in an event loop for a timer."""
    some = work()
    return lambda: (some(), asyncio.run(asyncio.sleep(0.012)))


@plant("*: checkpoint|*: recomput")
def recomputed() -> Step:
    """Compute the forward pass again in the backward pass, to save memory that isn't short."""
    net = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(6)))
    x = torch.randn(128, 512, requires_grad=True)
    return lambda: checkpoint(net, x, use_reentrant=False).sum().backward()


@plant("other threads")
def background_inference() -> Step:
    """Run another model in a thread of the same process."""
    some, x = work(512), torch.randn(512, 512)

    def infer() -> None:
        while True:
            x @ x

    threading.Thread(target=infer, daemon=True, name="second model").start()
    return some


class Node:
    """Object that refers to itself, so that only the collector frees it."""

    def __init__(self) -> None:
        self.me = self


@plant("garbage collection")
def cyclic_garbage() -> Step:
    """Create cycles next to many living objects, which the collector looks at over and over."""
    some, living = work(), [[number] for number in range(400_000)]
    gc.set_threshold(200, 2, 1)
    return lambda: (some(), len(living), [Node() for _ in range(1200)])
