"""Persistent workers over many short epochs."""

from common import BATCH, Rows, TrainStep
from torch.utils.data import DataLoader


def make(case):
    rows = Rows(20 * BATCH)
    return TrainStep(case, DataLoader(rows, BATCH, num_workers=1, persistent_workers=True, shuffle=True))
