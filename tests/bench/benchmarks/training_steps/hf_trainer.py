"""Own loop of transformers' Trainer."""

import tempfile

import torch
from common import BATCH, LoopStep, Rows, network
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments


class Named(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        return {"rows": Rows()[index]}


class WithLoss(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = network()

    def forward(self, rows):
        return {"loss": (self.net(rows) - rows).square().mean()}


class AfterStep(TrainerCallback):
    def __init__(self, call):
        self._call = call

    def on_step_end(self, *_, **__):
        self._call()


def make(case):
    arguments = TrainingArguments(
        output_dir=tempfile.mkdtemp(),
        per_device_train_batch_size=BATCH,
        dataloader_num_workers=1,
        report_to=[],
        use_cpu=True,
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
        remove_unused_columns=False,
    )
    trainer = Trainer(model=WithLoss(), args=arguments, train_dataset=Named())
    loop = LoopStep(trainer.train)
    trainer.add_callback(AfterStep(loop.after_step))
    return loop
