"""Sequence classification: tokenize a batch of texts, copy it over, one forward pass, copy the logits back."""

from collections.abc import Iterator
from functools import partial
from itertools import cycle, islice
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from benchtui.engine import compiled, models, precision
from benchtui.engine.devices import Device, Lap
from benchtui.engine.workloads.text import load_texts
from benchtui.sessions.errors import CaseSkippedError
from benchtui.sessions.events import Data, Effective, Model
from benchtui.sessions.sweep import Config, Sweep


class Classify:
    """A transformers sequence-classification model with its tokenizer, on real text."""

    def __init__(self, sweep: Sweep, config: Config, device: Device) -> None:
        """Load everything; raises BenchtuiError where something can't be had."""
        self._config = config
        self._device = device.torch_device
        place = models.locate(sweep.model, sweep.weights)
        texts = load_texts(sweep.dataset)
        self._tokenizer = models.load("tokenizer", place, AutoTokenizer.from_pretrained)
        network, drawn = self._load_network(sweep, place)
        self.model = _describe(network, place, sweep)
        self.data = Data(dataset=texts.name, samples=len(texts.texts), tokenizer=type(self._tokenizer).__name__)
        self.marks = (*drawn, *texts.marks)
        self._network = network
        self._call = compiled.network(network, config.compile)
        self._called = False
        self.effective = self.read_back()
        self._texts: Iterator[str] = cycle(texts.texts)

    def step(self, lap: Lap) -> torch.Tensor:
        """Classify the next batch of texts; gives the attention mask on the host."""
        texts = list(islice(self._texts, self._config.batch_size))
        batch = self._tokenizer(
            texts,
            truncation=True,
            padding="max_length",
            max_length=self._config.sequence_length,
            return_tensors="pt",
        )
        lap("tokenize")
        mask: torch.Tensor = batch["attention_mask"]
        inputs = {name: tensor.to(self._device) for name, tensor in batch.items()}
        lap("transfer")
        with torch.inference_mode(), precision.autocast(self._config.precision, self._device):
            logits = self._call(**inputs).logits
        self._called = True
        lap("forward")
        logits.cpu()
        lap("result")
        return mask

    def read_back(self) -> Effective:
        """Read back dtypes, attention and compiling from the network."""
        computed = precision.computed_dtype(self._network, self._config.precision, self._device)
        autocast = self._config.precision.startswith("amp-")
        return Effective(
            weights_dtype=_short(next(self._network.parameters()).dtype),
            autocast_dtype=_short(computed) if autocast else None,
            output_dtype=_short(computed),
            attention=getattr(self._network.config, "_attn_implementation", None),
            compiled=self._compiled(),
            threads=torch.get_num_threads(),
        )

    def _compiled(self) -> bool | None:
        if self._config.compile == "off":
            return False
        return compiled.graphs() > 0 if self._called else None

    def tokens(self, done: torch.Tensor) -> int:
        """Real tokens of a batch: the sum of its attention mask."""
        return int(done.sum())

    def _load_network(self, sweep: Sweep, place: models.Place) -> tuple[Any, tuple[str, ...]]:
        """The network on its device, and a mark for weights that weren't trained."""
        config = models.load("configuration", place, AutoConfig.from_pretrained)
        most = getattr(config, "max_position_embeddings", None)
        if most and self._config.sequence_length > most:
            raise CaseSkippedError(
                f"sequence_length {self._config.sequence_length}: {place.name} takes at most {most}"
            )
        asked = _attention(self._config)
        options = {} if asked is None else {"attn_implementation": asked}
        make = _random if sweep.weights == "random" else _pretrained
        network, marks = make(place, config, options)
        dtype = precision.weights_dtype(self._config.precision)
        return network.to(device=self._device, dtype=dtype).eval(), marks


def _random(place: models.Place, config: Any, options: dict[str, str]) -> tuple[Any, tuple[str, ...]]:  # noqa: ANN401
    with models.random_weights() as fill:
        network = AutoModelForSequenceClassification.from_config(config, **options)
    fill(network)
    return network, ("random weights",)


def _pretrained(place: models.Place, config: Any, options: dict[str, str]) -> tuple[Any, tuple[str, ...]]:  # noqa: ANN401
    load = partial(AutoModelForSequenceClassification.from_pretrained, output_loading_info=True, **options)
    network, loading = models.load("model", place, load)
    missing = ", ".join(sorted(loading["missing_keys"]))
    return network, ((f"random weights for {missing}: not in the checkpoint",) if missing else ())


def _attention(config: Config) -> str | None:
    """The attention implementation to ask transformers for; None leaves it the choice."""
    return {"auto": None, "flash": "flash_attention_2"}.get(config.attention, config.attention)


def _describe(network: Any, place: models.Place, sweep: Sweep) -> Model:  # noqa: ANN401
    config = network.config
    return Model(
        name=sweep.model,
        architecture=type(network).__name__,
        parameters=sum(parameter.numel() for parameter in network.parameters()),
        hidden_size=getattr(config, "hidden_size", None),
        hidden_layers=getattr(config, "num_hidden_layers", None),
        attention_heads=getattr(config, "num_attention_heads", None),
        weights=sweep.weights,
        source=place.source,
    )


def _short(dtype: torch.dtype | None) -> str | None:
    return str(dtype).removeprefix("torch.") if dtype else None
