"""GPT-2's step as a plain script runs it: transformers and CUDA events, nothing of benchtui's."""

from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import torch
from agreement import Kernel
from torch.profiler import ProfilerActivity, profile
from transformers import AutoConfig, AutoModelForCausalLM

LEARNING_RATE = 5e-5
ROWS = 16
"""Rows that the steps use in turns."""


class PlainLoop:
    """A network with random weights in bf16, and rows of tokens, which benchtui pins in throughput mode."""

    def __init__(
        self, model: Path, batch: int, length: int, *, train: bool = False, pinned: bool = False
    ) -> None:
        config = AutoConfig.from_pretrained(str(model), local_files_only=True)
        network = AutoModelForCausalLM.from_config(config).to("cuda:0", torch.bfloat16)
        self._network = network.train() if train else network.eval()
        rows = torch.randint(config.vocab_size, (ROWS, batch, length))
        self._rows = rows.pin_memory() if pinned else rows
        trained = list(network.parameters())
        self._optimizer = torch.optim.AdamW(trained, lr=LEARNING_RATE, fused=True) if train else None
        self._at = 0

    def step(self) -> None:
        """Run one step over the next row. With pinned rows, the host doesn't wait for it."""
        row = self._rows[self._at % ROWS].to("cuda:0", non_blocking=True)
        self._at += 1
        if self._optimizer is None:
            with torch.inference_mode():
                self._network(input_ids=row, use_cache=False)
            return
        self._network(input_ids=row, labels=row, use_cache=False).loss.backward()
        self._optimizer.step()
        self._optimizer.zero_grad()

    def block(self) -> None:
        """Run a step for each row, without waiting in between."""
        for _ in range(ROWS):
            self.step()

    def times_ms(self, steps: int) -> tuple[list[float], list[float]]:
        """Return the time of each step by CUDA events and by the host's clock, synchronized at both ends."""
        by_events, by_host = [], []
        for _ in range(steps):
            event_ms, host_ms = timed(self.step)
            by_events.append(event_ms)
            by_host.append(host_ms)
        return by_events, by_host

    def kernels(self, steps: int) -> dict[str, Kernel]:
        """Profile steps with torch.profiler. Return runs and time per step of each kernel and copy."""
        with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as profiler:
            for _ in range(steps):
                self.step()
            torch.cuda.synchronize()
        found: dict[str, tuple[int, float]] = {}
        for event in profiler.events() or ():
            if event.device_type.name == "CUDA" and not getattr(event, "is_user_annotation", False):
                count, us = found.get(event.name, (0, 0.0))
                found[event.name] = (count + 1, us + event.time_range.end - event.time_range.start)
        return {name: Kernel(count / steps, us / 1000 / steps) for name, (count, us) in found.items()}


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return the milliseconds of one run by CUDA events, and by the host's clock."""
    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin_s = perf_counter()
    before.record()
    work()
    after.record()
    torch.cuda.synchronize()
    return before.elapsed_time(after), (perf_counter() - begin_s) * 1000
