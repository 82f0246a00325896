"""Number of parameters of a model stored on this machine, from the headers of its safetensors files."""

import json
from math import prod
from pathlib import Path

from benchtui.sessions.files.input_file import open_plain, read_at_most

LARGEST_HEADER = 100_000_000
"""Maximum size of a header in bytes, as in the safetensors library."""
LENGTH_BYTES = 8
MOST_DIMENSIONS = 100
"""Maximum dimensions of a tensor; torch allows 64."""


def stored_parameters(folder: Path) -> int | None:
    """Return the number of parameters in a folder's safetensors files; None if none can be read.

    Format: https://huggingface.co/docs/safetensors: the header's length as a little-endian number of 8 bytes,
    then the header as JSON.
    """
    try:
        return sum(map(_parameters, folder.glob("*.safetensors"))) or None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _parameters(path: Path) -> int:
    with open_plain(path) as file:
        length = int.from_bytes(file.read(LENGTH_BYTES), "little")
        if length > LARGEST_HEADER:
            raise ValueError(f"header of {length} bytes")
        header = json.loads(read_at_most(file, length))
    return sum(_size(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__")


def _size(shape: list[int]) -> int:
    """Return the number of elements. The product of very many sizes would take quadratic time."""
    if len(shape) > MOST_DIMENSIONS:
        raise ValueError(f"{len(shape)} dimensions")
    return prod(shape)
