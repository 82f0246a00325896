"""Sequence classification: tokenize a batch of texts, copy it over, one forward pass, copy the logits back."""

from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from benchtui.engine import models, precision
from benchtui.engine.devices import Device, Lap
from benchtui.engine.workloads.text import load_texts
from benchtui.sessions.errors import BenchtuiError
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
        network = self._network(sweep, place)
        self.model = _describe(network, place, sweep)
        self.data = Data(dataset=texts.name, samples=len(texts.texts), tokenizer=type(self._tokenizer).__name__)
        self.effective, asked_in_vain = _effective(network, config, self._device)
        random = ("random weights",) if sweep.weights == "random" else ()
        self.marks = (*random, *texts.marks, *asked_in_vain)
        self._network_call = _compiled(network, config)
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
            logits = self._network_call(**inputs).logits
        lap("forward")
        logits.cpu()
        lap("result")
        return mask

    def tokens(self, done: torch.Tensor) -> int:
        """Real tokens of a batch: the sum of its attention mask."""
        return int(done.sum())

    def _network(self, sweep: Sweep, place: models.Place) -> Any:  # noqa: ANN401  (transformers' models are untyped)
        config = models.load("configuration", place, AutoConfig.from_pretrained)
        most = getattr(config, "max_position_embeddings", None)
        if most and self._config.sequence_length > most:
            raise BenchtuiError(
                f"sequence_length {self._config.sequence_length}: {place.name} takes at most {most}"
            )
        dtype = precision.weights_dtype(self._config.precision)
        options = {} if self._config.attention == "auto" else {"attn_implementation": _attention(self._config)}
        if sweep.weights == "random":
            with models.random_weights() as fill:
                network = AutoModelForSequenceClassification.from_config(config, **options)
            fill(network)
        else:
            network = models.load(
                "model", place, lambda path: AutoModelForSequenceClassification.from_pretrained(path, **options)
            )
        return network.to(device=self._device, dtype=dtype).eval()


def _attention(config: Config) -> str:
    return "flash_attention_2" if config.attention == "flash" else config.attention


def _compiled(network: Any, config: Config) -> Any:  # noqa: ANN401
    if config.compile == "off":
        return network
    mode = None if config.compile == "default" else config.compile
    return torch.compile(network, mode=mode)


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


def _effective(network: Any, config: Config, device: torch.device) -> tuple[Effective, tuple[str, ...]]:  # noqa: ANN401
    """Read back what is in force, and name what was asked for in vain."""
    weights = next(network.parameters()).dtype
    computed = precision.computed_dtype(network, config.precision, device)
    attention = getattr(network.config, "_attn_implementation", None)
    effective = Effective(
        weights_dtype=_short(weights),
        autocast_dtype=_short(computed) if config.precision.startswith("amp-") else None,
        output_dtype=_short(computed),
        attention=attention,
        compiled=config.compile != "off",
        threads=torch.get_num_threads(),
    )
    vain = []
    expected = precision.expected_dtype(config.precision)
    if computed not in (None, expected):
        vain.append(f"asked for {config.precision}, computed in {_short(computed)}")
    if config.attention != "auto" and attention != _attention(config):
        vain.append(f"asked for attention {config.attention}, got {attention}")
    return effective, tuple(vain)


def _short(dtype: torch.dtype | None) -> str | None:
    return str(dtype).removeprefix("torch.") if dtype else None
