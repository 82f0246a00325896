"""Step compiled by torch.compile."""

import torch
from common import BATCH, Rows, TrainStep
from torch.utils.data import DataLoader


def make(case):
    return TrainStep(case, DataLoader(Rows(), BATCH), torch.compile)
