"""Planted causes that were written after the rules, so that the rules couldn't be fitted to them."""

import copy
import logging
import multiprocessing
import os
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from plants import Step, plant, work
from plants import make as make  # the task of its sweep


def triangle(limit: int) -> int:
    """Return a sum that takes a few milliseconds in Python."""
    return sum(number * number % 11 for number in range(limit))


@plant("sleeping: process|sleeping: map")
def pool_map() -> Step:
    """Prepare samples in a pool of processes, and wait for them."""
    some, pool = work(), multiprocessing.get_context("fork").Pool(1)
    return lambda: (some(), pool.map(triangle, [100_000]))


@plant("sleeping: fsync|sleeping: file|reading: writes")
def flush_to_disk() -> Step:
    """Write a record and wait until it is on the disk."""
    some, file = work(), (Path(tempfile.mkdtemp()) / "log").open("wb")

    def step() -> None:
        some()
        file.write(bytes(300_000))
        file.flush()
        os.fsync(file.fileno())

    return step


@plant("Python gaps: findall|native code: findall")
def regular_expression() -> Step:
    """Split a text with a regular expression."""
    some, text = work(), "the quick brown fox, 17 lazy dogs; " * 4000
    return lambda: (some(), re.findall(r"\w+|[^\w\s]", text))


@plant("copies")
def grow_by_concatenation() -> Step:
    """Grow a result by concatenating in a loop, which copies it each time."""

    def step() -> None:
        grown = torch.zeros(0, 256)
        for _ in range(80):
            grown = torch.cat([grown, torch.ones(8, 256)])

    return step


@plant("Python gaps: log|kernel time: log|native code: log|reading: writes")
def log_lines() -> Step:
    """Log a line for each sample."""
    some, log = work(), logging.getLogger("plant")
    log.propagate = False
    log.addHandler(logging.FileHandler(Path(tempfile.mkdtemp()) / "log"))
    return lambda: (some(), [log.warning("sample %d", number) for number in range(1500)])


@plant("Python gaps: deepcopy")
def deep_copy() -> Step:
    """Copy a nested structure in each step."""
    some, rows = work(), [{"id": number, "values": [number] * 4} for number in range(1500)]
    return lambda: (some(), copy.deepcopy(rows))


@plant("other threads|sleeping: result")
def thread_pool() -> Step:
    """Wait for the result of Python code in another thread."""
    some, pool = work(), ThreadPoolExecutor(1)
    return lambda: (some(), pool.submit(triangle, 100_000).result())


@plant("gather")
def boolean_mask() -> Step:
    """Select rows by a mask."""
    x = torch.randn(200_000, 8)
    mask = torch.rand(200_000) > 0.5
    return lambda: x[mask]
