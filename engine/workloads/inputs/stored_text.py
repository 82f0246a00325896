"""Stored texts: local files and hub datasets, read with ``datasets``."""

import glob
import logging
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import datasets
from datasets.exceptions import DatasetsError
from huggingface_hub.utils.tqdm import disable_progress_bars

from benchtui.engine.exception_text import text_of
from benchtui.engine.models import hub
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.stored_models.hub_names import MISSING_DATASET, may_be_dataset

TEXT_COLUMNS = ("text", "sentence", "review", "content")
"""Names of the text column, in order of preference."""
READERS: dict[str, Callable[..., datasets.IterableDataset]] = {
    ".jsonl": datasets.Dataset.from_json,
    ".json": datasets.Dataset.from_json,
    ".csv": datasets.Dataset.from_csv,
    ".tsv": partial(datasets.Dataset.from_csv, sep="\t"),
    ".txt": datasets.Dataset.from_text,
    ".parquet": datasets.Dataset.from_parquet,
}
"""Readers of local files, one for each of ``TEXT_SUFFIXES``. In ``.txt``, each line is a text."""

STRING_TYPES = {"string", "large_string", "string_view"}
ROWS = 1000
UNREADABLE = (OSError, ValueError, TypeError, RuntimeError, DatasetsError)
"""Base classes of the exceptions that ``datasets``, pyarrow and pandas raise about data."""


def load(dataset: str) -> tuple[str, list[str]]:
    """Return the full name of a dataset and its texts.

    Raises BenchtuiError if the dataset doesn't exist, can't be read or contains no text.
    """
    _silence()
    path = os.path.expanduser(dataset)
    if os.path.exists(path):
        return dataset, _read_local(Path(path))
    if not _may_be_hub_id(dataset):
        raise BenchtuiError(f"dataset {dataset!r}: {MISSING_DATASET}")
    return _read_hub(dataset)


def _may_be_hub_id(dataset: str) -> bool:
    # Given a builder's name such as "text", the library would read files in the working directory.
    repository = dataset.split(":")[0]
    if any(os.path.isdir(os.path.join(folder, repository)) for folder in datasets.packaged_modules.__path__):
        return False
    return may_be_dataset(dataset)


def _silence() -> None:
    """Silence the libraries. An error reaches the user as the one line raised here."""
    datasets.disable_progress_bars()
    disable_progress_bars()
    for library in ("datasets", "huggingface_hub"):
        logging.getLogger(library).setLevel(logging.CRITICAL)


def _read_local(path: Path) -> list[str]:
    """Stream the texts of a file or folder, bypassing the cache so that concurrent readers share nothing."""
    try:
        files = [file for file in _files(path) if file.stat().st_size]
        if not files:
            raise BenchtuiError(f"dataset {str(path)!r} contains no text")
        reader = READERS[files[0].suffix.lower()]
        patterns = [glob.escape(str(file)) for file in files]  # the library treats names as patterns
        with tempfile.TemporaryDirectory() as cache:
            rows = reader(patterns, cache_dir=cache, streaming=True)
            return _texts(rows, str(path))
    except UNREADABLE as error:
        raise BenchtuiError(f"dataset {str(path)!r}: can't read it: {_one_line(error)}") from error


def _files(path: Path) -> list[Path]:
    """Return the files to read, all of one type, sorted by name."""
    if path.is_file() and path.suffix.lower() not in READERS:
        raise BenchtuiError(f"dataset {str(path)!r}: unsupported file type; supported: {', '.join(READERS)}")
    if path.is_file():
        return [path]
    files = sorted(file for file in path.iterdir() if file.is_file() and file.suffix.lower() in READERS)
    if not files:
        raise BenchtuiError(
            f"dataset {str(path)!r}: no supported file in this folder; supported: {', '.join(READERS)}"
        )
    kinds = sorted({file.suffix.lower() for file in files})
    if len(kinds) > 1:
        raise BenchtuiError(
            f"dataset {str(path)!r}: files of several types ({', '.join(kinds)}); specify a single file"
        )
    return files


def _read_hub(dataset: str) -> tuple[str, list[str]]:
    repository, *options = dataset.split(":")
    config = options[0] if len(options) == 2 else None
    datasets.config.HF_DATASETS_TRUST_REMOTE_CODE = False  # versions before 4 could run a dataset's script
    try:
        with _offline_if_unreachable():
            split = options[-1] if options else _default_split(repository)
            rows = datasets.load_dataset(repository, config, split=split)
    except ConnectionError as error:
        raise BenchtuiError(
            f"dataset {dataset!r} is neither a local file nor cached, and the hub is unreachable"
            ' (or HF_HUB_OFFLINE is set); use a local file or folder, or "sample"'
        ) from error
    except UNREADABLE as error:
        raise BenchtuiError(
            f'dataset {dataset!r}: {_one_line(error)}; use another dataset, a local file or folder, or "sample"'
        ) from error
    name = ":".join(part for part in (repository, config, split) if part)
    return name, _texts(rows, name)


def _default_split(repository: str) -> str:
    splits: list[str] = datasets.get_dataset_split_names(repository)
    return "test" if "test" in splits else splits[0]


@contextmanager
def _offline_if_unreachable() -> Iterator[None]:
    """Work offline if the hub is unreachable. The library would retry for 23 s before using its cache."""
    before = datasets.config.HF_HUB_OFFLINE
    datasets.config.HF_HUB_OFFLINE = before or not hub.reachable()
    try:
        yield
    finally:
        datasets.config.HF_HUB_OFFLINE = before


def _texts(rows: datasets.Dataset | datasets.IterableDataset, source: str) -> list[str]:
    texts: list[str] = []
    for table in rows.with_format("arrow").iter(batch_size=ROWS):
        column = table[_text_column(table.schema, source)]
        texts += [text for text in column.to_pylist() if text and text.strip()]
    if not texts:
        raise BenchtuiError(f"dataset {source!r} contains no text")
    return texts


def _text_column(schema: Iterable[Any], source: str) -> str:
    strings = [field.name for field in schema if str(field.type) in STRING_TYPES]
    named = [name for name in TEXT_COLUMNS if name in strings]
    if not named and len(strings) != 1:
        columns = ", ".join(f"{field.name} ({field.type})" for field in schema)
        raise BenchtuiError(
            f"dataset {source!r}: can't tell which column is the text: {columns};"
            f" name it one of {', '.join(TEXT_COLUMNS)}, or keep only one string column"
        )
    return (named or strings)[0]


def _one_line(error: BaseException) -> str:
    return " ".join(text_of(error).split())[:300].rstrip(".") or type(error).__name__
