"""Artifacts of backends, each built once and only used whole."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from benchtui.sessions.errors import BenchtuiError, os_error_text
from benchtui.sessions.library.artifacts import RECORD, About, Record, beyond_limit, folder, locked, remove
from benchtui.sessions.payloads import Artifact
from benchtui.sessions.stored_models.file_digests import file_digest

LEAST_FREE_MB = 100
"""Free space below which a library's failure is taken for that of a full disk, which not all of them state."""


def stored_or_built(
    key: str, build: Callable[[Path], Artifact], about: About | None = None
) -> tuple[Path, Artifact]:
    """Return the folder of an artifact and how it was built: the stored one if it is whole, or a new one.

    Others that want the same artifact wait. A build that is killed leaves a partial folder, which the next one
    replaces. Raises BenchtuiError if the artifact can't be stored.
    """
    place = folder() / key
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(place, wait=True):
            if (built := _whole(place)) is not None:
                os.utime(place / RECORD)
                return place, replace(built, stored=True)
            corrupt = place.exists()
            built = _build(place, build, about or About())
        remove(artifact for artifact in beyond_limit() if artifact.path != place)
        return place, replace(built, corrupt=corrupt)
    except OSError as error:
        raise BenchtuiError(f"{place}: the artifact can't be stored: {os_error_text(error)}") from error


def _build(place: Path, build: Callable[[Path], Artifact], about: About) -> Artifact:
    partial = place.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(place, ignore_errors=True)
    try:
        partial.mkdir(mode=0o700)
        built = build(partial)
        files = {path.name: file_digest(path) or "" for path in partial.iterdir()}
        size_mb = sum(path.stat().st_size for path in partial.iterdir()) / 1e6
        built = replace(built, size_mb=round(size_mb, 3))
        (partial / RECORD).write_bytes(msgspec.json.encode(Record(built, files, about)))
        partial.replace(place)
    except RuntimeError as error:
        free_mb = shutil.disk_usage(partial).free / 1e6
        if free_mb < LEAST_FREE_MB:
            raise BenchtuiError(f"{place}: {free_mb:.0f} MB are left for the artifact: {error}") from error
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return built


def _whole(place: Path) -> Artifact | None:
    """Return how an artifact was built; None if it isn't there, or its files have changed."""
    with suppress(OSError, msgspec.MsgspecError):
        record = msgspec.json.decode((place / RECORD).read_bytes(), type=Record)
        if all(file_digest(place / name) == digest for name, digest in record.files.items()):
            return record.built
    return None
