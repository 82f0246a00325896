"""The texts of a case: the bundled sample, or those of a dataset."""

import json
from dataclasses import dataclass
from pathlib import Path

from benchtui.sessions.sweep import SAMPLE

FILE = Path(__file__).parent / "data" / "sample.jsonl"


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts in the order of their source, none of them empty."""

    name: str
    """The dataset as it was asked for; with its configuration and split, if it came from the hub."""
    texts: list[str]
    marks: tuple[str, ...] = ()
    """What a reader must know before believing figures measured on them."""


def load_texts(dataset: str) -> Texts:
    """The texts of ``sample``, of a file or folder, or of a hub ``id``, ``id:split`` or ``id:config:split``.

    Raises BenchtuiError when there is no such dataset, when it cannot be read, or when no text is found in it.
    """
    if dataset == SAMPLE:
        lines = FILE.read_text("utf-8").splitlines()
        return Texts(dataset, [json.loads(line)["text"] for line in lines], ("sample text",))
    from benchtui.engine.workloads import stored_text  # over a second, which most sweeps need not spend

    name, texts = stored_text.load(dataset)
    return Texts(name, texts)
