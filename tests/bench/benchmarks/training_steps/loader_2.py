"""DataLoader with two workers, as forked by default."""

from common import BATCH, Rows, TrainStep
from torch.utils.data import DataLoader


def make(case):
    return TrainStep(case, DataLoader(Rows(), BATCH, num_workers=2))
