"""Digests of files: of a whole file, of parts of a large one, and of several files together."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from benchtui.sessions.files.input_file import open_plain

DIGITS = 16
"""Recorded hexadecimal digits of a SHA-256."""
WHOLE_BYTES = 2**24
"""Largest file that is read in full, in bytes."""
START_BYTES = 2**20
"""Bytes read from the start of a larger file: safetensors has the names and shapes of all tensors there."""
SAMPLES, SAMPLE_BYTES = 64, 4096
"""Samples read from the rest of a larger file, evenly spaced, and the size of each."""
MOST_FILES = 1000
"""Maximum number of modules, or of files in a folder, to compute digests for."""

_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
"""Patterns of weight files; transformers prefers the first kind."""


def file_digest(path: Path) -> str | None:
    """Return the digest of a file: of all of it, or of its size, start and samples if it is large.

    None if it can't be read.
    """
    try:
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            return _shortened(file.read() if size <= WHOLE_BYTES else _excerpt(file, size))
    except (OSError, ValueError):
        return None


def _excerpt(file: IO[bytes], size: int) -> bytes:
    parts = [str(size).encode(), file.read(START_BYTES)]
    for sample in range(SAMPLES):
        file.seek(START_BYTES + (size - START_BYTES - SAMPLE_BYTES) * sample // (SAMPLES - 1))
        parts.append(file.read(SAMPLE_BYTES))
    return b"".join(parts)


def _shortened(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:DIGITS]


def weights_digest(folder: Path) -> str | None:
    """Return one digest of all files of weights; None if there are none."""
    kinds = (files_matching(folder, (pattern, f"{pattern}.index.json")) for pattern in _WEIGHTS)
    return combined_digest(next((paths for paths in kinds if paths), []))


def files_matching(folder: Path, patterns: Iterable[str]) -> list[Path]:
    """Return the files of a folder that match one of the patterns, sorted by name."""
    paths = {path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}
    return sorted(paths)[:MOST_FILES]


def combined_digest(paths: Iterable[Path]) -> str | None:
    """Return one digest of several files; None if there are none."""
    lines = [f"{path.name} {file_digest(path)}" for path in paths]
    return _shortened("\n".join(lines).encode()) if lines else None
