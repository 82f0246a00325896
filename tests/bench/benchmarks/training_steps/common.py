"""What the steps of this folder share: rows, a small network, and one optimizer step."""

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.utils.data import Dataset

torch.set_num_threads(1)  # threads that wait for one another would measure whoever else is on the machine
FEATURES, BATCH = 256, 64


class Rows(Dataset):
    """Rows that take a few microseconds to make, each the same in every process."""

    def __init__(self, size: int = 1_000_000) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((FEATURES,), index % 17 / 17)


def network() -> torch.nn.Module:
    """Return a network whose step takes some milliseconds on one thread."""
    torch.manual_seed(0)
    layers = [torch.nn.Linear(FEATURES, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(1024, FEATURES))


def endless(loader: Iterable[Any]) -> Iterator[Any]:
    """Begin the next epoch when the loader ends."""
    while True:
        yield from loader


class TrainStep:
    """An optimizer step on batches of a loader."""

    samples = BATCH

    def __init__(
        self, case: Any, loader: Iterable[torch.Tensor], call: Callable[..., Any] | None = None
    ) -> None:
        self._lap = case.lap
        self._batches = endless(loader)
        self._net = network()
        self._call = call(self._net) if call else self._net
        self._optimizer = torch.optim.SGD(self._net.parameters(), lr=1e-3)

    def step(self) -> None:
        """Run one step in parts."""
        rows = next(self._batches)
        self._lap("data")
        loss = (self._call(rows) - rows).square().mean()
        self._lap("forward")
        loss.backward()
        self._lap("backward")
        self._optimizer.step()
        self._optimizer.zero_grad()
        self._lap("optimizer")


class LoopStep:
    """Training loop of a library, in a thread that goes on for one step at a time.

    The loop calls ``after_step`` at the end of each step, and is timed from there to the next call.
    """

    samples = BATCH

    def __init__(self, train: Callable[[], object]) -> None:
        self._go, self._done = threading.Semaphore(0), threading.Semaphore(0)
        self._error: BaseException | None = None
        self._train = train
        threading.Thread(target=self._run, daemon=True).start()

    def step(self) -> None:
        """Let the loop go on, and wait for the end of its step."""
        self._go.release()
        self._done.acquire()
        if self._error:
            raise self._error

    def after_step(self) -> None:
        """Wait for the next step."""
        self._done.release()
        self._go.acquire()

    def _run(self) -> None:
        self._go.acquire()
        try:
            self._train()
            raise RuntimeError("the training loop has ended")
        except BaseException as error:
            self._error = error
            self._done.release()
