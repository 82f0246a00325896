"""Planted causes written together with ``unseen_plants.py``, but run only once the rules had changed."""

import copy
import hashlib
import os
import socket
import tempfile
import threading
import time
from pathlib import Path

import torch
from plants import Step, plant, work
from plants import make as make  # the task of its sweep


@plant("*: sparse")
def sparse_product() -> Step:
    """Multiply by a sparse matrix."""
    some, dense = work(), torch.randn(3000, 16)
    places = torch.randint(0, 3000, (2, 200_000))
    sparse = torch.sparse_coo_tensor(places, torch.randn(200_000), (3000, 3000)).coalesce()
    return lambda: (some(), torch.sparse.mm(sparse, dense))


@plant("*: fft")
def fourier() -> Step:
    """Transform a signal in each step."""
    some, x = work(), torch.randn(32, 9973)
    return lambda: (some(), torch.fft.fft(x))


@plant("*: tolist|items")
def to_list() -> Step:
    """Turn a tensor into a list of Python's numbers."""
    some, x = work(), torch.randn(200_000)
    return lambda: (some(), x.tolist())


@plant("copies|page faults|*: deepcopy")
def model_copy() -> Step:
    """Copy a model in each step, as for an average of its weights."""
    some, net = work(), torch.nn.Sequential(*(torch.nn.Linear(400, 400) for _ in range(8)))
    return lambda: (some(), copy.deepcopy(net))


@plant("sleeping: wait|other threads")
def wait_for_event() -> Step:
    """Wait for another thread's signal, which comes late."""
    some, asked, answered = work(), threading.Event(), threading.Event()

    def answer() -> None:
        while True:
            asked.wait()
            asked.clear()
            time.sleep(0.01)
            answered.set()

    def step() -> None:
        some()
        asked.set()
        answered.wait()
        answered.clear()

    threading.Thread(target=answer, daemon=True).start()
    return step


@plant("Python gaps: compile|native code: compile")
def source_compiled() -> Step:
    """Compile Python's source in each step."""
    some, source = work(), "\n".join(f"def f{number}(x):\n    return x + {number}" for number in range(400))
    return lambda: (some(), compile(source, "<generated>", "exec"))


@plant("reading|*: torch.load")
def checkpoint_loaded() -> Step:
    """Load a checkpoint in each step."""
    some, path = work(), Path(tempfile.mkdtemp()) / "state.pt"
    torch.save({f"w{number}": torch.randn(200_000) for number in range(8)}, path)
    return lambda: (some(), torch.load(path))


@plant("reading|sleeping: network|*: recv")
def download() -> Step:
    """Receive megabytes over a socket."""
    some, listening = work(), socket.create_server(("127.0.0.1", 0))
    client, (server, _) = socket.create_connection(listening.getsockname()), listening.accept()
    size = 12_000_000

    def serve() -> None:
        payload = os.urandom(size)
        while server.recv(1):
            server.sendall(payload)

    def step() -> None:
        some()
        client.send(b"?")
        missing = size
        while missing:
            missing -= len(client.recv(1 << 20))

    threading.Thread(target=serve, daemon=True).start()
    return step


@plant("native code: sha256|Python gaps: sha256")
def hashing() -> Step:
    """Compute a digest in each step."""
    some, data = work(), os.urandom(8_000_000)
    return lambda: (some(), hashlib.sha256(data).hexdigest())


@plant("*: unique")
def unique_values() -> Step:
    """Find the distinct values of a tensor."""
    some, x = work(), torch.randint(0, 5000, (300_000,))
    return lambda: (some(), torch.unique(x, return_inverse=True))
