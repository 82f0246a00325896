"""Loader of the package."""

from common import BATCH, Rows
from torch.utils.data import DataLoader


def loader():
    return DataLoader(Rows(), BATCH)
