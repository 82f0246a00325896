"""Planted causes: steps with one known cause each, as a user's file would have them.

``make`` is the function of a sweep's task; the parameter ``plant`` names the step. A plant's function prepares
it. ``EXPECTED`` says what the first finding must be: ``rule`` or ``rule: word``, alternatives
separated by ``|``. Sound steps expect no finding.
"""

import gc
import io
import json
import os
import queue
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from itertools import count, cycle
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

Step = Callable[[], object]
PLANTS: dict[str, Callable[[], Step]] = {}
EXPECTED: dict[str, str] = {}


def plant(expected: str) -> Callable[[Callable[[], Step]], Callable[[], Step]]:
    """Register a plant under its function's name."""

    def register(made: Callable[[], Step]) -> Callable[[], Step]:
        PLANTS[made.__name__], EXPECTED[made.__name__] = made, expected
        return made

    return register


class Made:
    """The step of a case."""

    samples = 1

    def __init__(self, step: Step) -> None:
        self.step = step


def make(case: Any) -> Made:
    """Prepare the plant that the case names."""
    return Made(PLANTS[str(case.parameters["plant"])]())


def work(size: int = 192) -> Step:
    """Return sound work that a step does next to its cause, about 1 ms on two processors."""
    left, right = torch.randn(size, size), torch.randn(size, size)
    return lambda: [left @ right for _ in range(4)]


# The 26 causes of an earlier audit.


@plant("sleeping: sleep")
def sleep() -> Step:
    some = work()
    return lambda: (some(), time.sleep(0.02))


@plant("sleeping: lock|other threads")
def lock() -> Step:
    """Wait for a lock under which another thread writes what the step has left."""
    some, held, written, begun = work(512), threading.Lock(), queue.Queue[int](), threading.Semaphore(0)

    def write() -> None:
        while True:
            written.get()
            with held:
                begun.release()
                time.sleep(0.01)

    def step() -> None:
        some()
        written.put(1)
        begun.acquire()
        with held:
            pass

    threading.Thread(target=write, daemon=True).start()
    return step


class Slow(Dataset[torch.Tensor]):
    """Samples that take 10 ms each to prepare."""

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> torch.Tensor:
        end = time.perf_counter() + 0.01
        while time.perf_counter() < end:
            pass
        return torch.ones(64)


def batches(workers: int) -> Iterator[torch.Tensor]:
    """Yield batches of slow samples for ever."""
    loader = DataLoader(Slow(), batch_size=2, num_workers=workers, persistent_workers=workers > 0)
    while True:
        yield from loader


@plant("input")
def loader() -> Step:
    some, rows = work(), batches(1)
    return lambda: (some(), next(rows))


@plant("Python gaps|native code")
def python_arithmetic() -> Step:
    some = work()
    return lambda: (some(), sum(number * number % 7 for number in range(60_000)))


@plant("float64")
def double() -> Step:
    x = torch.randn(384, 384, dtype=torch.float64)
    return lambda: [x @ x for _ in range(4)]


@plant("many operators")
def loop_of_products() -> Step:
    x = torch.randn(8, 8)
    return lambda: [x @ x for _ in range(1500)]


@plant("copies")
def transposed_copies() -> Step:
    x = torch.randn(1024, 1024)
    return lambda: [x.t().contiguous() for _ in range(2)]


@plant("copies")
def casts() -> Step:
    x, y, half = torch.randn(160, 160), torch.randn(100, 100), torch.empty(160, 160, dtype=torch.half)
    return lambda: ([y @ y for _ in range(4)], [x.copy_(half.copy_(x)) for _ in range(60)])


@plant("few threads")
def one_thread() -> Step:
    torch.set_num_threads(1)
    x = torch.randn(512, 512)
    return lambda: [x @ x for _ in range(4)]


@plant("kept activation")
def leak() -> Step:
    some, kept = work(512), list[torch.Tensor]()
    x = torch.randn(300, 1000)
    return lambda: (some(), kept.append(x * 2))


@plant("items|many operators: item")
def item() -> Step:
    some, x = work(), torch.randn(500)
    return lambda: (some(), sum(value.item() for value in x))


@plant("reading")
def read_file() -> Step:
    some, path = work(), Path(tempfile.mkdtemp()) / "data.bin"
    path.write_bytes(os.urandom(1_000_000) * 32)
    return lambda: (some(), len(path.read_bytes()))


@plant("page faults")
def fresh_tensors() -> Step:
    some = work()
    return lambda: (some(), [torch.ones(16_000_000) for _ in range(1)])


@plant("page faults")
def numpy_pages() -> Step:
    some = work()
    return lambda: (some(), np.ones(8_000_000))


@plant("native code")
def numpy_products() -> Step:
    some, x = work(), np.random.default_rng(0).random((500, 500))
    return lambda: (some(), [x @ x for _ in range(3)])


@plant("denormals")
def denormals() -> Step:
    """Take square roots: some processors multiply denormal numbers as fast as others."""
    x = torch.full((1000, 1000), 1e-41)
    return lambda: [x.sqrt() for _ in range(2)]


@plant("garbage collection")
def collect() -> Step:
    some, living = work(), [[number] for number in range(200_000)]
    return lambda: (some(), len(living), gc.collect())


@plant("Python gaps: json|native code: json")
def read_json() -> Step:
    some, text = work(), json.dumps([{"id": number, "name": f"n{number}"} for number in range(20_000)])
    return lambda: (some(), json.loads(text))


@plant("unfused")
def elementwise() -> Step:
    x = torch.randn(400, 400)
    return lambda: [((x * 2 + 1).tanh() * x + 3).relu() for _ in range(8)]


@plant("gather")
def gather() -> Step:
    table, rows = torch.randn(50_000, 32), torch.randint(0, 50_000, (100_000,))
    return lambda: table[rows]


@plant("other threads")
def busy_thread() -> Step:
    some = work(512)

    def spin() -> None:
        for number in count():
            _ = number * number

    threading.Thread(target=spin, daemon=True, name="spinner").start()
    return some


@plant("recompiles")
def recompile() -> Step:
    torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 10_000
    compiled = torch.compile(lambda x: (x * 2 + 1).sum(), backend="eager", dynamic=False)
    lengths = count(16)
    return lambda: compiled(torch.ones(next(lengths)))


@plant("graph breaks")
def graph_break() -> Step:
    def broken(x: torch.Tensor) -> torch.Tensor:
        for _ in range(8):
            x = x * 2
            torch._dynamo.graph_break()
        return x + 1

    compiled, x = torch.compile(broken, backend="eager"), torch.ones(64)
    return lambda: [compiled(x) for _ in range(5)]


@plant("too many threads")
def oversubscribed() -> Step:
    torch.set_num_threads(16)
    x = torch.randn(256, 256)
    return lambda: [(x @ x).relu() for _ in range(4)]


@plant("sleeping: child|sleeping: process")
def child_process() -> Step:
    some = work()
    return lambda: (some(), subprocess.run([sys.executable, "-S", "-c", "sum(range(10**6))"], check=True))


@plant("strided")
def strided() -> Step:
    x = torch.randn(2000, 4096)
    return lambda: x[:, ::16].exp().sum()


# 14 more; the last three are sound.


@plant("sleeping: network|sleeping: process or the network")
def slow_server() -> Step:
    """Wait for an answer over a socket."""
    some, listening = work(), socket.create_server(("127.0.0.1", 0))
    client, (server, _) = socket.create_connection(listening.getsockname()), listening.accept()

    def serve() -> None:
        while server.recv(1):
            time.sleep(0.015)
            server.send(b"x")

    threading.Thread(target=serve, daemon=True).start()
    return lambda: (some(), client.send(b"?"), client.recv(1))


@plant("sleeping: filled.get")
def slow_producer() -> Step:
    """Wait for a queue that another thread fills slowly."""
    some, filled = work(), queue.Queue[int](1)

    def fill() -> None:
        while True:
            time.sleep(0.015)
            filled.put(1)

    threading.Thread(target=fill, daemon=True).start()
    return lambda: (some(), filled.get())


@plant("reading: writes")
def checkpoint() -> Step:
    """Write a checkpoint in every step."""
    some, path, state = work(), Path(tempfile.mkdtemp()) / "state.bin", os.urandom(16_000_000)
    return lambda: (some(), path.write_bytes(state))


@plant("native code: compress|Python gaps: compress")
def compression() -> Step:
    """Compress samples with zlib, which releases Python's lock."""
    some, text = work(), os.urandom(200_000) + b"a" * 400_000
    return lambda: (some(), zlib.compress(text, 6))


@plant("kernel time|Python gaps: os.stat")
def many_stats() -> Step:
    """Make thousands of small system calls, of which the kernel takes a third and Python the rest."""
    some = work()
    return lambda: (some(), [os.stat("/proc/self/status") for _ in range(8_000)])


@plant("Python gaps: sorted|native code: sorted")
def sorting() -> Step:
    """Sort objects with a key in Python."""
    some, rows = work(), [(number * 7919 % 10_007, str(number)) for number in range(40_000)]
    return lambda: (some(), sorted(rows, key=lambda row: row[0]))


@plant("Python gaps: execute|native code: execute")
def database() -> Step:
    """Query a database in memory."""
    some, database = work(), sqlite3.connect(":memory:", check_same_thread=False)
    database.execute("create table t (a integer)")
    database.executemany("insert into t values (?)", ((number % 1000,) for number in range(60_000)))
    return lambda: (some(), database.execute("select sum(a * a), count(distinct a) from t").fetchall())


@plant("input")
def loader_in_main_process() -> Step:
    """Prepare samples in the step's own process."""
    some, rows = work(), batches(0)
    return lambda: (some(), next(rows))


@plant("optimizer")
def large_optimizer() -> Step:
    """Train a layer that is used for one row only."""
    layer = torch.nn.Linear(1500, 1500)
    optimizer = torch.optim.Adam(layer.parameters(), foreach=False)
    x = torch.randn(1, 1500)

    def step() -> None:
        optimizer.zero_grad(set_to_none=False)
        layer(x).sum().backward()
        optimizer.step()

    return step


@plant("gather: scatter|gather: index")
def scatter() -> Step:
    """Add values at random places."""
    sums, places, values = torch.zeros(50_000), torch.randint(0, 50_000, (400_000,)), torch.randn(400_000)
    return lambda: sums.scatter_add_(0, places, values)


@plant("Python gaps: save|native code: save|copies|page faults|many operators")
def serialization() -> Step:
    """Serialize tensors in every step."""
    some, state = work(), {f"w{number}": torch.randn(40) for number in range(150)}
    return lambda: (some(), torch.save(state, io.BytesIO()))


@plant("")
def sound_products() -> Step:
    x = torch.randn(768, 768)
    return lambda: [x @ x for _ in range(3)]


@plant("")
def sound_convolution() -> Step:
    """Convolve small images: larger outputs would be mapped and cleared again by the kernel in each step."""
    net = torch.nn.Conv2d(32, 64, 3, padding=1)
    x = torch.randn(1, 32, 20, 20)

    def step() -> None:
        with torch.inference_mode():
            for _ in range(16):
                net(x)

    return step


@plant("")
def sound_layers() -> Step:
    net = torch.nn.Sequential(*(torch.nn.Linear(640, 640) for _ in range(6)))
    x, lengths = torch.randn(32, 640), cycle((1, 2))

    def step() -> None:
        with torch.inference_mode():
            net(x)
            next(lengths)

    return step
