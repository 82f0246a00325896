"""Batches of synthetic images and audio, processed by the model's own processor."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from transformers import AutoFeatureExtractor

# transformers 5.17 itself exports a placeholder for this class that requires torchvision
from transformers.models.auto.image_processing_auto import AutoImageProcessor

from benchtui.engine.devices.base import Lap
from benchtui.engine.models import loading
from benchtui.engine.workloads.inputs.batches import Batch, Batches
from benchtui.sessions.errors import BenchtuiError, CaseSkippedError
from benchtui.sessions.payloads import Data
from benchtui.sessions.stored_models.measurable import PROCESSORS
from benchtui.sessions.sweep import SYNTHETIC

KEPT = 16
"""Number of images or clips to draw, or the batch size if that is larger. They are repeated."""
RAW_SIZE = (480, 640)
"""Height and width of a synthetic image before processing: a common size of photos in data sets."""
USUAL_SIZE = 224
"""Height and width of an image if the configuration has no size."""
CHANNELS = 3

Samples = NDArray[Any]
Process = Callable[[list[Samples]], dict[str, torch.Tensor]]


class SignalBatches(Batches):
    """Samples of one shape, repeated endlessly. Each batch is processed as a timed part of the step."""

    def __init__(
        self, samples: Samples, batch_size: int, process: tuple[str, Process | None], data: Data, *marks: str
    ) -> None:
        """Store the samples, which are along the first axis. Without a process they are inputs unchanged."""
        self._part, self._process = process
        self._samples = samples
        self._first = self._at = numpy.arange(batch_size)
        self._mask = torch.ones((batch_size, 1), dtype=torch.long)
        self.data, self.marks = data, marks

    def draw(self, lap: Lap) -> Batch:
        """Process the next samples, wrapping around at the end. The mask has one position per sample."""
        chosen = self._samples[self._at]
        self._at = (self._at + len(self._at)) % len(self._samples)
        if self._process is None:
            return Batch({"pixel_values": torch.from_numpy(chosen)}, self._mask)
        inputs = self._process(list(chosen))
        lap(self._part)
        return Batch(inputs, self._mask)

    def rewind(self) -> None:
        """Return to the first sample."""
        self._at = self._first


def image_batches(location: loading.ModelLocation, config: Any, batch_size: int) -> SignalBatches:  # noqa: ANN401
    """Return batches of random 8-bit images for the model's image processor.

    Without such a processor, or without Pillow and torchvision, they are random inputs of the model's size.
    """
    processor, absent = _image_processor(location)
    count, generator = max(KEPT, batch_size), numpy.random.default_rng(0)
    if processor is None:
        height, width, channels = _image_shape(config)
        drawn = generator.standard_normal((count, channels, height, width), dtype=numpy.float32)
        data = Data(dataset=SYNTHETIC, samples=count, shape=f"{height} x {width} x {channels}")
        unprocessed = f"images aren't processed: {absent}"
        return SignalBatches(drawn, batch_size, ("preprocess", None), data, "synthetic images", unprocessed)
    raw = generator.integers(0, 256, (count, *RAW_SIZE, CHANNELS), dtype=numpy.uint8)

    def process(images: list[Samples]) -> dict[str, torch.Tensor]:
        return {"pixel_values": processor(images=images, return_tensors="pt")["pixel_values"]}

    _, channels, height, width = process([raw[0]])["pixel_values"].shape
    data = Data(
        dataset=SYNTHETIC,
        samples=count,
        processor=type(processor).__name__,
        shape=f"{RAW_SIZE[0]} x {RAW_SIZE[1]}, processed to {height} x {width} x {channels}",
    )
    return SignalBatches(raw, batch_size, ("preprocess", process), data, "synthetic images")


def audio_batches(location: loading.ModelLocation, seconds: int, batch_size: int) -> SignalBatches:
    """Return batches of random audio clips for the model's feature extractor.

    Raises:
        BenchtuiError: If the model has no feature extractor.
        CaseSkippedError: If it truncates clips of this length.
    """
    extractor: Any = loading.load("feature extractor", location, AutoFeatureExtractor.from_pretrained)
    rate = getattr(extractor, "sampling_rate", None)
    if not rate:
        raise BenchtuiError(f"model {location.name!r}: its {type(extractor).__name__} isn't for audio")
    longest = getattr(extractor, "chunk_length", None)
    if longest and seconds > longest:
        raise CaseSkippedError(
            f"audio_seconds {seconds}: {location.name} accepts at most {longest} s of audio at once"
        )
    count = max(KEPT, batch_size)
    drawn = numpy.random.default_rng(0).standard_normal((count, seconds * rate), dtype=numpy.float32) * 0.1

    def process(clips: list[Samples]) -> dict[str, torch.Tensor]:
        return dict(extractor(clips, sampling_rate=rate, return_tensors="pt"))

    data = Data(
        dataset=SYNTHETIC,
        samples=count,
        processor=type(extractor).__name__,
        shape=f"{seconds} s at {rate:,} Hz",
    )
    return SignalBatches(drawn, batch_size, ("features", process), data, "synthetic audio")


def _image_processor(location: loading.ModelLocation) -> tuple[Any, str]:
    """Return the image processor, or None with the reason."""
    if find_spec("PIL") is None and find_spec("torchvision") is None:
        return None, "neither Pillow nor torchvision is installed"
    try:
        return loading.load("image processor", location, AutoImageProcessor.from_pretrained), ""
    except BenchtuiError as error:
        files = (loading.optional_file(location, name) for name in PROCESSORS)
        return None, str(error) if any(files) else "the model has no image processor"


def _image_shape(config: Any) -> tuple[int, int, int]:  # noqa: ANN401  (a configuration of transformers)
    config = getattr(config, "vision_config", None) or config
    size = getattr(config, "image_size", None) or USUAL_SIZE
    height, width = (size, size) if isinstance(size, int) else tuple(size)[:2]
    return height, width, getattr(config, "num_channels", CHANNELS)
