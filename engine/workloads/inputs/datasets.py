"""Texts of a case: the bundled sample or a dataset."""

import json
from pathlib import Path

import msgspec

from benchtui.sessions.sweep import SAMPLE

FILE = Path(__file__).parent / "data" / "sample.jsonl"
"""400 made-up reviews, generated once from a grammar; never to change, because results depend on them."""


class Texts(msgspec.Struct, frozen=True):
    """Non-empty texts in the order of their source."""

    name: str
    """Dataset as requested, with configuration and split if it came from the hub."""
    texts: list[str]
    marks: tuple[str, ...] = ()
    """Caveats about metrics measured on these texts."""


def load_texts(dataset: str) -> Texts:
    """Load ``sample``, a file or folder, or a hub ``id``, ``id:split`` or ``id:config:split``.

    Raises BenchtuiError if the dataset doesn't exist, can't be read or contains no text.
    """
    if dataset == SAMPLE:
        lines = FILE.read_text("utf-8").splitlines()
        return Texts(dataset, [json.loads(line)["text"] for line in lines], ("sample text",))
    from benchtui.engine.workloads.inputs import (
        stored_text,  # takes over a second, and most sweeps don't need it
    )

    name, texts = stored_text.load(dataset)
    return Texts(name, texts)
