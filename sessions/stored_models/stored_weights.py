"""Stored weights of a model: their number of parameters, and whether files are missing or damaged."""

import json
import os
import zipfile
from collections.abc import Mapping
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import IO, Any

from benchtui.sessions.files.input_file import open_plain, read_at_most, read_text

LARGEST_HEADER = 100_000_000
"""Maximum size of a header in bytes, as in the safetensors library."""
LENGTH_BYTES = 8
MOST_DIMENSIONS = 100
"""Maximum dimensions of a tensor; torch allows 64."""
_MALFORMED = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
_SAFETENSORS = ".safetensors"
_PREFERRED = ("model.safetensors", "pytorch_model.bin")
"""Files of weights in the order in which transformers looks for them; each may be split into shards."""
_POINTER = b"version https://git-lfs"
"""Beginning of the file that git leaves in place of a large one."""


def stored_parameters(folder: Path) -> int | None:
    """Return the number of parameters in a folder's safetensors files; None if none can be read."""
    try:
        return sum(map(_parameters, folder.glob("*.safetensors"))) or None
    except (OSError, *_MALFORMED):
        return None


def missing_shards(folder: Path) -> str:
    """Return why the weights are incomplete; empty if all files that their index lists are there."""
    index, shards = _weight_files(folder)
    missing = [name for name in shards if not os.path.exists(folder / name)]  # of any length
    more = f" and {len(missing) - 1} more" if missing[1:] else ""
    return f"{missing[0]}{more} of {index} missing; download the model again" if missing else ""


def damaged_weights(folder: Path) -> str:
    """Return why a file of the weights can't be loaded; empty if nothing is known to be wrong with any."""
    _, shards = _weight_files(folder)
    return next(filter(None, (_damage(folder / name) for name in shards)), "")


def _weight_files(folder: Path) -> tuple[str, list[str]]:
    """Return the index of the weights that transformers would load, if they have one, and the files."""
    for name in _PREFERRED:
        if (folder / name).exists():
            return "", [name]
        index = f"{name}.index.json"
        if (folder / index).exists():
            return index, _listed(folder / index)
    return "", []


def _listed(index: Path) -> list[str]:
    """Return the files that an index lists; none if it can't be read."""
    try:
        return sorted({str(name) for name in json.loads(read_text(index))["weight_map"].values()})
    except (OSError, *_MALFORMED):
        return []


def _damage(path: Path) -> str:
    try:
        status = path.stat()
        return _damage_of(path, status.st_size, status.st_mtime_ns)
    except (OSError, ValueError):
        return ""


@lru_cache(maxsize=256)
def _damage_of(path: Path, size: int, _modified_ns: int) -> str:
    """Return what is wrong with a file of this size. It is read again once it is modified."""
    with open_plain(path) as file:
        if file.read(len(_POINTER)) == _POINTER:
            return f"{path.name} is a pointer of Git LFS, not the weights; run git lfs pull"
        if path.suffix == ".bin":
            return _damage_of_archive(path.name, file)
    if path.suffix != _SAFETENSORS:
        return ""
    try:
        length, tensors = _header(path)
        begins = LENGTH_BYTES + length
        stated = begins + max((tensor["data_offsets"][1] for tensor in tensors.values()), default=0)
    except _MALFORMED:
        return f"{path.name} has no header of safetensors; download it again"
    if size >= stated:
        return ""
    return f"{path.name} is truncated: {size:,} of {stated:,} bytes; download it again"


def _damage_of_archive(name: str, file: IO[bytes]) -> str:
    """Return what is wrong with a file of torch.save: a ZIP archive, which ends with a list, or a pickle."""
    file.seek(0)
    magic = file.read(2)
    if magic[:1] == b"\x80" or zipfile.is_zipfile(file):
        return ""
    if magic == b"PK":
        return f"{name} is truncated: its end is missing; download it again"
    return f"{name} isn't a file of torch.save; download it again"


def _parameters(path: Path) -> int:
    return sum(_size(tensor["shape"]) for tensor in _header(path)[1].values())


def _header(path: Path) -> tuple[int, Mapping[str, Any]]:
    """Return the length of a file's header in bytes, and its tensors by name.

    Format: https://huggingface.co/docs/safetensors: the header's length as a little-endian number of 8 bytes,
    then the header as JSON.
    """
    with open_plain(path) as file:
        length = int.from_bytes(file.read(LENGTH_BYTES), "little")
        if length > LARGEST_HEADER:
            raise ValueError(f"header of {length} bytes")
        header = json.loads(read_at_most(file, length))
    return length, {name: tensor for name, tensor in header.items() if name != "__metadata__"}


def _size(shape: list[int]) -> int:
    """Return the number of elements. The product of very many sizes would take quadratic time."""
    if len(shape) > MOST_DIMENSIONS:
        raise ValueError(f"{len(shape)} dimensions")
    return prod(shape)
