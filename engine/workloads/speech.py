"""Speech recognition: features of audio clips, then one pass of a CTC model, or greedy decoding."""

from typing import Any

import torch
from transformers import AutoModelForCTC, AutoModelForSpeechSeq2Seq
from transformers.modeling_outputs import BaseModelOutput

from benchtui.engine.devices.base import Device, Lap, no_lap
from benchtui.engine.models.network import Architecture
from benchtui.engine.workloads.base import StepCounts
from benchtui.engine.workloads.inputs.signals import SignalBatches, audio_batches
from benchtui.engine.workloads.lm_forward import POSITIONS, spaced
from benchtui.engine.workloads.transformer_task import NetworkTask, ProbeBatch, StepOutput
from benchtui.sessions.errors import CaseSkippedError
from benchtui.sessions.sweep import Config, Sweep

Inputs = dict[str, torch.Tensor]


class Speech(NetworkTask):
    """A transformers speech recognition model, fed with random audio.

    A CTC model classifies each frame. A model with a decoder generates a fixed number of tokens per clip, since
    random audio has no words that would end generation.
    """

    _decodes = False
    """Whether the model has a decoder."""
    _generated_tokens = 0

    def __init__(self, sweep: Sweep, config: Config, device: Device) -> None:
        """Load model and batches. Raises BenchtuiError if either is unavailable."""
        super().__init__(sweep, config, device)
        if config.new_tokens and not self._decodes:
            raise CaseSkippedError(
                f"new_tokens={config.new_tokens}: {self.model.architecture} generates no tokens"
            )
        # a sample is a second of audio, so that clips of different lengths have comparable rates
        self.samples = self._config.batch_size * self._config.audio_seconds

    def step(self, lap: Lap) -> StepOutput:
        """Recognize the next batch of clips, and copy tokens or the classes of the frames back."""
        _, inputs = self._next(lap)
        with torch.inference_mode(), self._autocast():
            if self._decodes:
                result = self._generate(inputs, lap)
            else:
                result = self._forward(**inputs).logits.argmax(-1)
                lap("forward")
        self._to_host(result)
        lap("result")
        return StepOutput(())

    def count(self, done: StepOutput) -> StepCounts:
        """Count the generated tokens, if any. The clips themselves have none."""
        return StepCounts(tokens=self._config.batch_size * self._config.new_tokens if self._decodes else None)

    def _answer(self, batch: ProbeBatch) -> torch.Tensor:
        """Return the tokens of the first clips, or the logits of evenly spaced frames (frames, vocabulary)."""
        if self._decodes:
            return self._generate(batch.inputs, no_lap)[: batch.rows]
        logits: torch.Tensor = self._forward(**batch.inputs).logits[: batch.rows]
        frames = spaced(torch.ones(logits.shape[1]), POSITIONS // self.probe_rows)
        return logits[:, frames].flatten(0, 1).float()

    def _generate(self, inputs: Inputs, lap: Lap) -> torch.Tensor:
        """Return the likeliest tokens of each clip, with shape (batch, new_tokens)."""
        first = self._first_tokens(len(next(iter(inputs.values()))))
        output = self._forward(**inputs, decoder_input_ids=first, use_cache=True)
        encoded = BaseModelOutput(last_hidden_state=output.encoder_last_hidden_state)
        mask = {name: inputs[name] for name in ("attention_mask",) if name in inputs}
        tokens = [output.logits[:, -1:].argmax(-1)]
        lap("encode")
        for _ in range(self._config.new_tokens - 1):
            output = self._forward(
                encoder_outputs=encoded,
                decoder_input_ids=tokens[-1],
                past_key_values=output.past_key_values,
                use_cache=True,
                **mask,
            )
            tokens.append(output.logits[:, -1:].argmax(-1))
        lap("decode")
        self._generated_tokens = len(tokens)
        return torch.cat(tokens, 1)

    def _auto(self) -> Any:  # noqa: ANN401
        return AutoModelForSpeechSeq2Seq if self._decodes else AutoModelForCTC

    def _first_tokens(self, clips: int) -> torch.Tensor:
        """Return the token that each decoder starts from, with shape (clips, 1)."""
        start = getattr(self._network.config, "decoder_start_token_id", None) or 0
        return torch.full((clips, 1), start, device=self._device)

    def _make_batches(self, sweep: Sweep, architecture: Architecture) -> SignalBatches:
        return audio_batches(architecture.location, self._config.audio_seconds, self._config.batch_size)

    def _others(self) -> dict[str, str | int]:
        generated = self._generated_tokens
        return {**super()._others(), **({"new_tokens": generated} if generated else {})}

    def _require_room(self, architecture: Architecture) -> None:
        self._decodes = bool(getattr(architecture.config, "is_encoder_decoder", False))
        if not self._decodes:
            return
        self.answer_kind = "tokens"
        most, new = getattr(architecture.config, "max_target_positions", None), self._config.new_tokens
        if most and new > most:
            raise CaseSkippedError(f"{new} new tokens: {architecture.location.name} supports at most {most}")
        if self._config.uses_cuda_graphs:
            raise CaseSkippedError(
                f"{self._config.compile} uses CUDA graphs, which require fixed shapes, but the cache grows"
            )
