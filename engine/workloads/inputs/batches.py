"""Batches of token ids, tokenized from texts or drawn at random."""

from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from time import monotonic
from typing import Any, Literal

import msgspec
import psutil
import torch
from transformers import AutoTokenizer

from benchtui.engine.devices.base import Lap, no_lap
from benchtui.engine.job import SEARCH_S
from benchtui.engine.models import loading
from benchtui.engine.workloads.inputs.datasets import load_texts
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.payloads import Data
from benchtui.sessions.stored_models.measurable import NO_TOKENIZER, has_tokenizer
from benchtui.sessions.sweep import SYNTHETIC, Config

Side = Literal["left", "right"]

CHECKED_TEXTS = 256
"""Number of texts used to estimate the share of truncated texts."""
_PADDINGS = {"max": "max_length", "longest": "longest", "packed": False}
"""Values of the tokenizer's argument ``padding``."""
ROWS = 256
"""Rows of random tokens, or the batch size if that is larger."""


class Batch(msgspec.Struct, frozen=True):
    """A batch on the host."""

    inputs: dict[str, torch.Tensor]
    """Inputs of the network, without an attention mask if no row is padded. Without a mask, torch has faster
    attention kernels, and transformers doesn't read the mask, which would make the host wait for a GPU."""
    mask: torch.Tensor
    """Attention mask with shape (batch, length), used to count tokens."""


class Batches:
    """An endless series of batches."""

    data: Data
    marks: tuple[str, ...] = ()
    tokenizer_threads: int | None = None
    """Threads that tokenize a batch; None if nothing is tokenized."""

    def draw(self, lap: Lap) -> Batch:
        """Return the next batch."""
        raise NotImplementedError

    def rewind(self) -> None:
        """Return to the first batch."""
        raise NotImplementedError


class TextBatches(Batches):
    """Texts of a dataset, repeated endlessly and tokenized with the model's tokenizer."""

    def __init__(self, location: loading.ModelLocation, dataset: str, config: Config, side: Side) -> None:
        """Load texts and tokenizer. Raises BenchtuiError if either is unavailable."""
        texts = load_texts(dataset)
        self._texts = texts.texts
        self._tokenizer, self.tokenizer_threads = _tokenizer(location, side)
        self._batch_size = config.batch_size
        self._packed = config.padding == "packed"
        self._options = {
            "truncation": True,
            "padding": _PADDINGS[config.padding],
            "max_length": config.sequence_length,
            "return_tensors": None if self._packed else "pt",
        }
        traced = config.compile != "off" or config.backend != "torch"
        self._masks_full_rows = traced and self._may_pad(config)
        checked = texts.texts[:CHECKED_TEXTS]
        rows = self._tokenizer(checked, truncation=True, max_length=config.sequence_length + 1)["input_ids"]
        self.data = Data(
            dataset=texts.name,
            samples=len(texts.texts),
            tokenizer=type(self._tokenizer).__name__,
            checked=len(checked),
            truncated=sum(len(row) > config.sequence_length for row in rows),
        )
        self.marks = texts.marks
        self.rewind()

    def draw(self, lap: Lap) -> Batch:
        """Tokenize the next texts. This is a timed part of the step.

        A compiled or exported network gets a mask with every batch if any may be padded. Otherwise it would be
        recompiled, or run without the input that it was exported with.
        """
        inputs = dict(self._tokenizer(list(islice(self._next_texts, self._batch_size)), **self._options))
        if self._packed:
            rows = inputs["input_ids"]
            ids = torch.tensor([token for row in rows for token in row])[None]
            positions = torch.tensor([place for row in rows for place in range(len(row))])[None]
            batch = Batch({"input_ids": ids, "position_ids": positions}, torch.ones_like(ids))
            lap("tokenize")
            return batch
        mask = inputs["attention_mask"]
        if not self._masks_full_rows and bool(mask.all()):
            del inputs["attention_mask"]
        lap("tokenize")
        return Batch(inputs, mask)

    def _may_pad(self, config: Config) -> bool:
        """Return whether a row may be padded, judging by the shortest text."""
        if config.padding == "longest" and config.batch_size == 1:
            return False
        length, shortest = config.sequence_length, min(self._texts, key=len)
        return len(self._tokenizer(shortest, truncation=True, max_length=length)["input_ids"]) < length

    def rewind(self) -> None:
        """Return to the first text."""
        self._next_texts: Iterator[str] = cycle(self._texts)


class SyntheticBatches(Batches):
    """Random token ids from a seeded generator, in rows of full length. Nothing is tokenized."""

    def __init__(self, vocabulary: int, config: Config) -> None:
        rows, shape = max(ROWS, config.batch_size), (config.batch_size, config.sequence_length)
        generator = torch.Generator().manual_seed(0)
        ids = torch.randint(vocabulary, (rows, config.sequence_length), generator=generator)
        self._ids = torch.cat((ids, ids[: config.batch_size]))
        """Rows, with the first ones again at the end, so that every batch is a slice. Picking rows by number
        copies them in several threads: milliseconds per step while other processes use the machine."""
        self._mask = torch.ones(shape, dtype=torch.long)
        self._rows, self._batch_size, self._at = rows, config.batch_size, 0
        self.data = Data(dataset=SYNTHETIC, samples=rows)
        self.marks = ("synthetic tokens",)

    def draw(self, lap: Lap) -> Batch:
        """Return the next rows, wrapping around at the end."""
        ids = self._ids[self._at : self._at + self._batch_size]
        self._at = (self._at + self._batch_size) % self._rows
        return Batch({"input_ids": ids}, self._mask)

    def rewind(self) -> None:
        """Return to the first row."""
        self._at = 0


def find_step(batches: Batches, count: int, padded_tokens: int) -> tuple[list[Batch], int]:
    """Draw steps of ``count`` batches. Return the one closest to this many tokens, and its number of tokens."""
    until_s = monotonic() + SEARCH_S
    step, tokens = _draw_step(batches, count)
    while tokens != padded_tokens and monotonic() < until_s:
        other, size = _draw_step(batches, count)
        if abs(size - padded_tokens) < abs(tokens - padded_tokens):
            step, tokens = other, size
    return step, tokens


def _draw_step(batches: Batches, count: int) -> tuple[list[Batch], int]:
    drawn = [batches.draw(no_lap) for _ in range(count)]
    return drawn, sum(batch.mask.numel() for batch in drawn)


def _tokenizer(location: loading.ModelLocation, side: Side) -> tuple[Any, int]:
    """Load the tokenizer; return it with the number of threads that it uses for a batch."""
    if location.source != "hub" and not has_tokenizer(Path(location.path)):
        raise _no_tokenizer(location)
    tokenizer = loading.load(
        "tokenizer",
        location,
        lambda path, **options: AutoTokenizer.from_pretrained(path, padding_side=side, **options),
    )
    before = psutil.Process().num_threads()
    # transformers 5 creates an empty tokenizer if it finds no tokenizer files
    letters = set(tokenizer("the", add_special_tokens=False)["input_ids"]) - {tokenizer.unk_token_id}
    # the first text starts all threads that a Rust tokenizer will use; a Python tokenizer starts none
    threads = max(1, psutil.Process().num_threads() - before)
    if not letters:
        raise _no_tokenizer(location)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer, threads


def _no_tokenizer(location: loading.ModelLocation) -> BenchtuiError:
    return BenchtuiError(f"model {location.name!r} has no tokenizer; {NO_TOKENIZER}")
