"""Worker that raises."""

from common import BATCH, Rows, TrainStep
from torch.utils.data import DataLoader


class Broken(Rows):
    def __getitem__(self, index):
        if index == 40 * BATCH:
            raise ValueError(f"row {index} is broken")
        return super().__getitem__(index)


def make(case):
    return TrainStep(case, DataLoader(Broken(), BATCH, num_workers=1))
