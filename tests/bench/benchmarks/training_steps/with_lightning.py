"""Own loop of Lightning."""

import logging

import lightning
import torch
from common import BATCH, LoopStep, Rows, network
from torch.utils.data import DataLoader


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = network()

    def training_step(self, rows, index):
        return (self.net(rows) - rows).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3)


class AfterBatch(lightning.Callback):
    def __init__(self, call):
        self._call = call

    def on_train_batch_end(self, *_):
        self._call()


def make(case):
    logging.getLogger("lightning").setLevel(logging.ERROR)
    callbacks = []
    trainer = lightning.Trainer(
        max_epochs=-1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=callbacks,
    )
    loop = LoopStep(lambda: trainer.fit(Module(), DataLoader(Rows(), BATCH, num_workers=1)))
    trainer.callbacks.append(AfterBatch(loop.after_step))
    return loop
