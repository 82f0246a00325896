"""Artifacts of backends in the user's cache folder: what is there, and which are removed."""

import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import platformdirs

from benchtui.sessions.files.input_file import read_plain
from benchtui.sessions.files.locked_file import lock
from benchtui.sessions.payloads import Artifact

VARIABLE, OFF = "BENCHTUI_ARTIFACTS", "off"
"""Environment variable that names another folder, or ``off`` to store nothing."""
KEY = re.compile(r"[0-9a-f]{32}(\.partial)?")
"""Name of an artifact's folder, also while it is built."""
RECORD = "artifact.json"
"""File of an artifact that is written last. Its time is that of the last use."""
MOST_MB = 5000.0
"""Size of all artifacts above which those that weren't used for the longest time are removed."""


class About(msgspec.Struct, frozen=True):
    """Origin of an artifact."""

    model: str = ""
    backend: str = ""
    precision: str = ""


class Record(msgspec.Struct, frozen=True):
    """Content of ``RECORD``."""

    built: Artifact
    files: dict[str, str]
    """Digests of the other files."""
    about: About = About()


class Stored(msgspec.Struct, frozen=True):
    """Artifact on the disk."""

    path: Path
    about: About | None
    """None for what a build left that was killed."""
    size_mb: float
    used_s: float
    """Time of the last use, in seconds since the epoch."""


def folder() -> Path:
    """Return the folder of all artifacts."""
    named = os.environ.get(VARIABLE, "")
    if named in ("", OFF):
        return Path(platformdirs.user_cache_dir("benchtui")) / "artifacts"
    return Path(named)


def stored() -> list[Stored]:
    """Return the artifacts, the last used first."""
    try:
        paths = [path for path in folder().iterdir() if path.is_dir()]
    except OSError:
        return []
    return sorted(filter(None, map(_stored, paths)), key=lambda artifact: artifact.used_s, reverse=True)


def _stored(path: Path) -> Stored | None:
    about = None
    with suppress(OSError, msgspec.MsgspecError):
        about = msgspec.json.decode(read_plain(path / RECORD), type=Record).about
    if about is None and not KEY.fullmatch(path.name):
        return None  # a folder of the user's, who named another place
    with suppress(OSError):
        size_mb = sum(file.stat().st_size for file in path.iterdir()) / 1e6
        used_s = (path / RECORD if about else path).stat().st_mtime
        return Stored(path, about, size_mb, used_s)
    return None  # removed meanwhile


def remove(artifacts: Iterable[Stored]) -> list[Stored]:
    """Remove artifacts, and return those that were removed. One that is being built or checked stays."""
    return [artifact for artifact in artifacts if _remove(artifact.path)]


def _remove(path: Path) -> bool:
    with suppress(OSError), locked(path, wait=False):
        shutil.rmtree(path)
        return True
    return False


def beyond_limit() -> list[Stored]:
    """Return the artifacts that weren't used for the longest time and don't fit into ``MOST_MB``."""
    total_mb, beyond = 0.0, list[Stored]()
    for artifact in stored():
        total_mb += artifact.size_mb
        if total_mb > MOST_MB:
            beyond.append(artifact)
    return beyond


def unused(days: float) -> list[Stored]:
    """Return the artifacts that weren't used for this many days."""
    until_s = time.time() - days * 86_400
    return [artifact for artifact in stored() if artifact.used_s <= until_s]


@contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[None]:
    """Lock an artifact. Raises BlockingIOError if another process has it locked, unless ``wait``.

    The lock's file is removed if there is no artifact afterwards. Only its holder removes it.
    """
    file = path.with_suffix(".lock")
    descriptor = _lock(file, wait=wait)
    try:
        yield
    finally:
        if not path.exists():
            file.unlink(missing_ok=True)
        os.close(descriptor)


def _lock(file: Path, *, wait: bool) -> int:
    """Return the descriptor of the locked file. One that was removed while waiting locks nothing: try again."""
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            lock(descriptor, wait=wait)
            with suppress(FileNotFoundError):
                if os.path.samestat(file.stat(), os.fstat(descriptor)):
                    return descriptor
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)
