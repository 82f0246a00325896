"""Built-in tasks: the table with one row per task.

A new task is a row of ``BUILT_IN`` here, a workload in ``engine/workloads/``, and the report sections that only
it has. Parsers, the editor, units of rates, and which entries and options apply are derived from it.
"""

from functools import lru_cache
from typing import Literal

import msgspec


class Task(msgspec.Struct, frozen=True):
    """Task, and what the rest of the code needs to know about it."""

    name: str
    sample: str = "samples"
    """Name of the samples of a step, in the plural. ``audio-s`` are seconds of audio."""
    headline: Literal["samples", "tokens"] = "samples"
    """Unit of its main rate: samples, or tokens (new ones if it generates)."""
    entries: str = ""
    """Table of the sweep with the entries of this task, such as ``generate``."""
    inputs: Literal["texts", "images", "audio"] = "texts"
    """Kind of its samples. Images and audio are drawn at random and have no sequence length."""
    packs: bool = False
    """Whether several samples fit into one row (``padding = "packed"``)."""
    pads: bool = True
    """Whether the samples of a batch are padded to one length."""
    pins: bool = True
    """Whether a built-in task copies through pinned memory in throughput mode on a GPU."""
    defaults: tuple[tuple[str, int], ...] = ()
    """Values of axes that replace the usual defaults."""
    positions: int = 0
    """Typical positions of a sample without a sequence length, for estimates before any measurement."""

    @property
    def texts(self) -> bool:
        """Whether samples are sequences of tokens."""
        return self.inputs == "texts"

    @property
    def unit(self) -> str:
        """Unit of samples per second."""
        return f"{self.sample}/s"

    @property
    def one_sample(self) -> str:
        """Name of one sample, such as ``image``."""
        return self.sample if self.sample.endswith("-s") else self.sample.removesuffix("s")


BUILT_IN = (
    Task("classify"),
    Task("lm-forward", headline="tokens", packs=True),
    Task("lm-train", headline="tokens", packs=True, entries="train"),
    Task("generate", headline="tokens", entries="generate"),
    Task("serve-batch", "requests", headline="tokens", entries="generate", pads=False, pins=False),
    Task("embed", "embeddings"),
    Task("image", "images", inputs="images", positions=197),
    Task(
        "speech",
        "audio-s",
        entries="generate",
        inputs="audio",
        defaults=(("audio_seconds", 10),),
        positions=500,
    ),
)
"""All built-in tasks. They need no user code."""
TASKS = tuple(task.name for task in BUILT_IN)
SERVE = Task("serve", "requests", headline="tokens")
"""Requests to a server, with a whole run as a step. Only imported sessions have this task."""
_BY_NAME = {task.name: task for task in (*BUILT_IN, SERVE)}


@lru_cache(maxsize=64)  # names come from session files
def task_named(name: str) -> Task:
    """Return the row of a task. A user-defined step, or a task of another tool, gets a default row."""
    return _BY_NAME.get(name) or Task(name)
