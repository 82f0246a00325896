"""Base of the built-in tasks: a network that is fed batches of token ids."""

from collections.abc import Iterator
from functools import partial
from itertools import cycle
from typing import Any, ClassVar

import msgspec
import torch
from msgspec.structs import replace
from transformers import AutoConfig

from benchtui.engine.devices.base import Device, Lap, no_lap
from benchtui.engine.job import THROUGHPUT_BLOCK
from benchtui.engine.models import attention, compilation, loading, precision, quantization
from benchtui.engine.models.backends.opening import Opened, open_backend
from benchtui.engine.models.network import Architecture, load_network
from benchtui.engine.workloads.base import Output, StepCounts, Workload
from benchtui.engine.workloads.inputs.batches import Batches, Side, SyntheticBatches, TextBatches, find_step
from benchtui.sessions.errors import BenchtuiError, CaseSkippedError
from benchtui.sessions.payloads import AnswerKind, Effective
from benchtui.sessions.sweep import SYNTHETIC, Config, Sweep, task_named
from benchtui.sessions.sweep.options import BY_NAME

LONGEST_ANSWER_S = 15.0
"""Longest time for answering the probe, estimated from the steps."""
LONGEST_PART_S = 30.0
"""Longest time for the smallest part of the probe, if even that takes longer than the whole should."""


class ProbeBatch(msgspec.Struct, frozen=True):
    """Batch of the probe on the device, shaped like the measured ones so that nothing is recompiled."""

    rows: int
    """Number of its first samples that belong to the probe: rows, unless the batch is packed."""
    mask: torch.Tensor
    """Attention mask on the host, with shape (batch, length)."""
    inputs: dict[str, torch.Tensor]

    @property
    def samples(self) -> list[tuple[int, torch.Tensor]]:
        """Row of the output and mask over its positions, for each sample of the probe."""
        if "position_ids" not in self.inputs:
            return [(row, self.mask[row]) for row in range(self.rows)]
        number = (self.inputs["position_ids"][0].cpu() == 0).cumsum(0) - 1
        return [(0, number == sample) for sample in range(self.rows)]


class StepOutput(msgspec.Struct, frozen=True):
    """Result of a step, for counting tokens and loss."""

    masks: tuple[torch.Tensor, ...]
    """Attention mask of each batch, on the host, with shape (batch, length); empty if samples aren't texts."""
    loss: torch.Tensor | None = None
    """Scalar on the device. None if the task has no loss."""


class NetworkTask(Workload):
    """Network and batches of one case. A subclass defines the step."""

    auto: ClassVar[Any]
    """One of transformers' Auto classes, which loads the network."""
    padding_side: Side = "right"
    generates = False
    """Whether each sample is a prompt, followed by new tokens."""
    probe_rows = 4
    """Number of rows at the start of the data set that form the probe."""
    output = "logits"
    """Name of the network's output that the task reads."""
    answer_kind: AnswerKind = "logits"
    _shortened: str | None = None
    """What the probe consists of if there isn't time for all of it."""
    _splits = False
    """Whether the probe is fed as a part of a batch, because a whole one would take too long."""

    def __init__(self, sweep: Sweep, config: Config, device: Device) -> None:
        """Load network and batches. Raises BenchtuiError if either is unavailable."""
        self._config = config = sweep.resolve(config)
        self._device = device.torch_device
        self._task = sweep.task
        throughput = sweep.measure.mode == "throughput"
        self._pins = throughput and self._device.type == "cuda" and task_named(sweep.task).pins
        self._results: torch.Tensor | None = None
        self.samples = config.batch_size
        self.new_tokens = config.new_tokens if self.generates else None
        location = loading.locate(config.model, sweep.weights)
        configuration = loading.load("configuration", location, AutoConfig.from_pretrained)
        configuration.architectures = configuration.architectures or []  # iterated over for some types
        architecture = Architecture(location, configuration)
        self._require_room(architecture)
        self._batches = self._make_batches(sweep, architecture)
        self._draw = self._batches.draw
        self._load = partial(load_network, self._auto(), architecture, sweep, config)
        network = self._load(self._device)
        self.model = network.model
        self.data = self._batches.data
        self.marks = (*network.marks, *self._batches.marks)
        self._network = self._extend(network.module)
        self._call = (
            self._open_backend()
            if config.backend != "torch"
            else compilation.compile_network(self._network, config.compile)
        )
        self._called = False
        self._shorter = self._padded = self._packed = False
        if config.padding == "packed":
            self._require_packing()
        self.effective = self.read_back()

    def read_back(self) -> Effective:
        """Read the applied options back from network, torch and batches, or from the backend."""
        if self.opened:
            return replace(
                self.opened.read_back(),
                attention=attention.read_back(self._network),
                padding=self._padding(),
                others=self._others(),
            )
        computed = precision.computed_dtype(self._network, self._config.precision, self._device)
        autocast = self._config.precision.startswith("amp-")
        return Effective(
            weights_dtype=_short(precision.stored_dtype(self._network)),
            autocast_dtype=_short(computed) if autocast else None,
            output_dtype=_short(computed),
            tf32=precision.rounds_to_tf32(self._device) if computed == torch.float32 else None,
            attention=attention.read_back(self._network),
            weights_mb=round(quantization.weights_mb(self._network), 3),
            layers=quantization.layer_classes(self._network),
            compiled=self._compiled(),
            threads=torch.get_num_threads(),
            padding=self._padding(),
            others=self._others(),
        )

    def begin_warmup(self) -> None:
        """Pin memory for a block of batches if the task copies through pinned memory."""
        if self._pins:
            self._fill_pinned_pool()
            self._batches.rewind()

    def begin_measuring(self) -> None:
        """Return to the first batch."""
        self._batches.rewind()

    def count(self, done: StepOutput) -> StepCounts:
        """Count a step's tokens by its attention masks, plus generated tokens, and read its loss.

        Without masks, the samples aren't texts, and there is nothing to count.
        """
        if not done.masks:
            return StepCounts()
        for mask in done.masks:
            self._note_padding(mask)
        generated = self._generated
        return StepCounts(
            tokens=sum(int(mask.sum()) for mask in done.masks) + generated,
            padded_tokens=sum(mask.numel() for mask in done.masks) + generated,
            loss=None if done.loss is None else done.loss.item(),
        )

    def repeat_step(self, padded_tokens: int, *, one_batch: bool = False) -> int | None:
        """Repeat the batches, or one, of a step with about this many tokens. Return its number of tokens."""
        wanted = padded_tokens - self._generated
        self._batches.rewind()
        copies = self.accumulated if one_batch else 1
        batches, step = find_step(self._batches, self.accumulated // copies, wanted // copies)
        repeated = cycle(batches)
        self._draw = lambda lap: next(repeated)
        return copies * step + self._generated

    def answer(self, step_s: float) -> Output:
        """Return the answers of the batches with the first rows, one below the other."""
        answers = []
        for batch in self._probe(step_s):
            with torch.inference_mode(), self._autocast():
                answers.append(self._answer(batch).cpu())
        return Output(self.answer_kind, torch.cat(answers), self._shortened)

    def _answer(self, batch: ProbeBatch) -> torch.Tensor:
        """Return the answer of a batch, with a row for each row of the probe unless the task says otherwise."""
        logits: torch.Tensor = self._forward(**batch.inputs).logits
        return logits[: batch.rows].float()

    def _probe(self, step_s: float) -> Iterator[ProbeBatch]:
        """Yield batches with the first rows of the data set. Raises BenchtuiError if one takes too long."""
        rows = self._begin_probe(step_s)
        for done in range(0, rows, self._config.batch_size):
            mask, inputs = self._next(no_lap)
            if self._splits:
                mask, inputs = mask[:rows], {name: tensor[:rows] for name, tensor in inputs.items()}
            yield ProbeBatch(min(rows - done, self._config.batch_size), mask, inputs)

    def _begin_probe(self, step_s: float) -> int:
        """Return to the first batch. Return the number of rows that there is time for.

        Raises BenchtuiError if even the smallest part of the probe would take too long.
        """
        batch, slow = self._config.batch_size, step_s > LONGEST_ANSWER_S / self.probe_rows
        passes = max(1, int(LONGEST_ANSWER_S / step_s)) if slow else self.probe_rows
        rows = min(self.probe_rows, passes * batch)
        self._splits = step_s > LONGEST_ANSWER_S and self._can_split
        if self._splits:
            rows = max(1, min(rows, int(batch * LONGEST_ANSWER_S / step_s)))
        self._require_time(step_s * (rows / batch if self._splits else 1))
        if rows < self.probe_rows:
            self._shortened = f"{rows} of {self.probe_rows} inputs"
        self._batches.rewind()
        self._draw = self._batches.draw
        return rows

    @property
    def _can_split(self) -> bool:
        """Whether a part of a batch can be fed: nothing is compiled for its size, and samples have own rows."""
        return self._config.compile == "off" and not self._packed

    @staticmethod
    def _require_time(least_s: float) -> None:
        """Raise BenchtuiError if the smallest part of the probe would take too long."""
        if least_s > LONGEST_PART_S:
            raise BenchtuiError(
                f"the smallest part of the probe would take {least_s:.0f} s; at most {LONGEST_PART_S:g} s are"
                " spent on it"
            )

    def _auto(self) -> Any:  # noqa: ANN401
        return self.auto

    def _open_backend(self) -> Opened:
        """Return the network in the case's backend. Torch's weights are freed."""
        inputs = {name: self._to_device(tensor) for name, tensor in self._draw(no_lap).inputs.items()}
        self._batches.rewind()
        self.opened = open_backend(self._network, self._config, inputs, self.output)
        self.marks = (*self.marks, *self.opened.marks)
        self._network.to("meta")
        if self._device.type == "cuda":
            torch.cuda.empty_cache()
        return self.opened

    def _extend(self, network: Any) -> Any:  # noqa: ANN401  (a model of transformers)
        """Return the network with the layers that the task adds before compilation."""
        return network

    @property
    def _generated(self) -> int:
        return self.samples * (self.new_tokens or 0)

    def _require_room(self, architecture: Architecture) -> None:
        """Raise CaseSkippedError if the model is too short for prompt and new tokens."""
        architecture.require_room(self._config.sequence_length, self.new_tokens or 0)

    def _make_batches(self, sweep: Sweep, architecture: Architecture) -> Batches:
        if sweep.dataset == SYNTHETIC:
            return SyntheticBatches(architecture.vocabulary, self._config)
        return TextBatches(architecture.location, sweep.dataset, self._config, self.padding_side)

    def _next(self, lap: Lap) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Return the next batch: its attention mask on the host, and all inputs on the device."""
        batch = self._draw(lap)
        self._packed = "position_ids" in batch.inputs
        inputs = {name: self._to_device(tensor) for name, tensor in batch.inputs.items()}
        lap("transfer")
        return batch.mask, inputs

    def _to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        """Copy an input to the device. The host waits for a copy only if its memory isn't pinned."""
        if self._pins:
            moved = tensor.pin_memory().to(self._device, non_blocking=True)
        else:
            moved = tensor.to(self._device)
        dtype = precision.weights_dtype(self._config.precision)
        return moved.to(dtype) if moved.is_floating_point() else moved

    def _to_host(self, result: torch.Tensor) -> None:
        """Copy a result to the host; in throughput mode on a GPU, to one pinned buffer for all steps."""
        if not self._pins:
            result.cpu()
            return
        if self._results is None or self._results.shape != result.shape:
            self._results = torch.empty_like(result, device="cpu", pin_memory=True)
        self._results.copy_(result, non_blocking=True)

    def _fill_pinned_pool(self) -> None:
        """Pin and release the batches of a block, because pinning new memory while measuring takes time."""
        count = THROUGHPUT_BLOCK * self.accumulated
        batches = [self._batches.draw(no_lap) for _ in range(count)]
        pinned = [tensor.pin_memory() for batch in batches for tensor in batch.inputs.values()]
        pinned.clear()

    def _autocast(self) -> Any:  # noqa: ANN401  (a context manager)
        return precision.autocast(self._config.precision, self._device)

    def _forward(self, **inputs: object) -> Any:  # noqa: ANN401  (the output's class depends on the network)
        output = self._call(**inputs)
        self._called = True
        return output

    def _others(self) -> dict[str, str | int]:
        threads = self._batches.tokenizer_threads
        others: dict[str, str | int] = {"quantization": quantization.read_back(self._network)}
        if self._task in BY_NAME["backend"].tasks:
            others["backend"] = self._config.backend if self.opened else "torch"
        return others if threads is None else others | {"tokenizer_threads": threads}

    def _compiled(self) -> bool | None:
        if self._config.compile == "off":
            return False
        return compilation.graphs() > 0 if self._called else None

    def _padding(self) -> str | None:
        if self._packed:
            return "packed"
        return "longest" if self._shorter else "max" if self._padded else None

    def _require_packing(self) -> None:
        """Raise CaseSkippedError if one sample of a packed row changes the logits of another."""
        places = torch.arange(4, device=self._device)
        positions, second = places.repeat(2)[None], places + 5
        logits = []
        for first in (places, places + 9):
            row = torch.cat((first, second))[None]
            with torch.inference_mode(), self._autocast():
                output = self._network(input_ids=row, position_ids=positions, use_cache=False)
            logits.append(output.logits[0, 4:])
        if not torch.equal(*logits):
            used = attention.read_back(self._network)
            raise CaseSkippedError(
                f"padding=packed: {self.model.architecture} with {used} attention mixes the samples of a row"
            )

    def _note_padding(self, mask: torch.Tensor) -> None:
        width, longest = mask.shape[1], int(mask.sum(1).max())
        self._shorter = self._shorter or width < self._config.sequence_length
        self._padded = self._padded or longest < width


def _short(dtype: torch.dtype | None) -> str | None:
    return str(dtype).removeprefix("torch.") if dtype else None
