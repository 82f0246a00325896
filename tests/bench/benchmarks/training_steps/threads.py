"""Step that starts threads: one prepares the next batch while the network trains."""

from concurrent.futures import ThreadPoolExecutor

from common import BATCH, Rows, TrainStep, endless
from torch.utils.data import DataLoader


def prefetched(loader):
    with ThreadPoolExecutor(1) as pool:
        batches = endless(loader)
        coming = pool.submit(next, batches)
        while True:
            batch = coming.result()
            coming = pool.submit(next, batches)
            yield batch


def make(case):
    return TrainStep(case, prefetched(DataLoader(Rows(), BATCH)))
