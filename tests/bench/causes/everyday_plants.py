"""Planted causes as they stand in training scripts, which no rule was written for."""

import copy
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator

import numpy as np
import torch
from plants import Step, plant, work
from plants import make as make  # the task of its sweep
from torch.utils.data import DataLoader, Dataset

PRODUCER = """
import sys, time
while True:
    time.sleep(0.02)
    sys.stdout.buffer.write(bytes(1 << 16))
    sys.stdout.flush()
"""
"""A program that passes on 64 KiB every 20 ms."""


@plant("Python gaps: finditer|native code: finditer")
def regular_expressions() -> Step:
    """Split a text into words by a regular expression in each step."""
    some, pattern, text = work(), re.compile(r"\w+|[^\w\s]"), "A sentence, as it stands in a file. " * 1500
    return lambda: (some(), [word.group() for word in pattern.finditer(text)])


@plant("reading: fsync|sleeping: fsync|kernel time: fsync")
def synchronized_log() -> Step:
    """Write a line of a log to the disk in each step, and wait until it is there."""
    some, log = work(), tempfile.TemporaryFile("w")  # noqa: SIM115

    def step() -> None:
        some()
        log.write("loss 0.5\n" * 100)
        log.flush()
        os.fsync(log.fileno())

    return step


@plant("sleeping: lock")
def shared_lock() -> Step:
    """Wait for a lock that another thread has nearly all the time, as a writer of metrics."""
    some, lock = work(), threading.Lock()

    def write() -> None:
        while True:
            with lock:
                time.sleep(0.012)
            time.sleep(0.001)

    threading.Thread(target=write, daemon=True).start()

    def step() -> None:
        some()
        with lock:
            pass

    return step


@plant("kept activation|page faults")
def kept_outputs() -> Step:
    """Keep each step's output in a list, for a mean at the end of the epoch."""
    outputs, x = list[torch.Tensor](), torch.randn(512, 512)
    return lambda: outputs.append(x @ x)


@plant("copies|page faults|*: deepcopy")
def copied_model() -> Step:
    """Copy the model in each step, to keep the best one."""
    some, layers = work(), torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(12)))
    return lambda: (some(), copy.deepcopy(layers))


@plant("native code: normal|Python gaps: normal")
def augmentation() -> Step:
    """Add NumPy's noise to a batch of images."""
    some, images = work(), np.zeros((16, 3, 96, 96))
    return lambda: (some(), torch.from_numpy(images + np.random.normal(0.0, 0.1, images.shape)))


@plant("kernel time|Python gaps: flush|native code: flush|*: print")
def progress_bar() -> Step:
    """Redraw a progress bar for each sample, and flush it."""
    some, terminal = work(), open(os.devnull, "w")  # noqa: SIM115

    def step() -> None:
        some()
        for sample in range(4000):
            print(f"\r{sample}", end="", file=terminal, flush=True)

    return step


@plant("items|many operators")
def clipping() -> Step:
    """Clip the gradients of each parameter by a norm that Python reads."""
    some, gradients = work(), [torch.randn(64) for _ in range(400)]

    def step() -> None:
        some()
        for gradient in gradients:
            if gradient.norm() > 1.0:
                gradient.mul_(1.0 / gradient.norm().item())

    return step


@plant("sleeping: read|reading: read")
def slow_pipe() -> Step:
    """Read a batch from a program that comes late."""
    some = work()
    program = subprocess.Popen([sys.executable, "-c", PRODUCER], stdout=subprocess.PIPE)
    stream = program.stdout
    assert stream is not None
    return lambda: (some(), stream.read(1 << 16))


class _Remote(Dataset[torch.Tensor]):
    """Samples from a slow disk."""

    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(0.006)
        return torch.full((64,), float(index))


@plant("input|sleeping: next(")
def workers_behind() -> Step:
    """Wait for two workers, which deliver two batches at a time."""
    some = work(384)
    rows: Iterator[torch.Tensor] = iter(DataLoader(_Remote(), batch_size=4, num_workers=2))
    return lambda: (some(), next(rows))
