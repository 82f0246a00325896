"""Two files that import each other: this one and mutual_rows."""

import mutual_rows
from common import BATCH, TrainStep
from torch.utils.data import DataLoader

SIZE = 1_000_000


def make(case):
    return TrainStep(case, DataLoader(mutual_rows.rows(), BATCH))
