"""Step of a loop written with accelerate."""

import torch
from accelerate import Accelerator
from common import BATCH, Rows, endless, network
from torch.utils.data import DataLoader


class AccelerateStep:
    samples = BATCH

    def __init__(self, case):
        self._accelerator = Accelerator(cpu=True)
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
        loader = DataLoader(Rows(), BATCH, num_workers=1)
        self._net, self._optimizer, loader = self._accelerator.prepare(net, optimizer, loader)
        self._batches = endless(loader)

    def step(self):
        rows = next(self._batches)
        self._accelerator.backward((self._net(rows) - rows).square().mean())
        self._optimizer.step()
        self._optimizer.zero_grad()


def make(case):
    return AccelerateStep(case)
