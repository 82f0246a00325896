"""Digests of the files that determine what a case measures: its step, or its model, tokenizer and dataset.

The worker computes them once it has loaded these files. The supervisor, which never imports torch, computes
them again before it resumes a session, reruns a case or profiles one.
"""

import os
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from types import ModuleType

from benchtui.engine.files.model_location import locate
from benchtui.sessions.payloads import Data
from benchtui.sessions.state.file_names import DATASET, DRAFT_PREFIX, WEIGHTS, is_model_name
from benchtui.sessions.stored_models.file_digests import (
    MOST_FILES,
    combined_digest,
    file_digest,
    files_matching,
    weights_digest,
)
from benchtui.sessions.stored_models.measurable import PROCESSORS
from benchtui.sessions.sweep import SAMPLE, SYNTHETIC, Config, Sweep, custom_task

_CONFIGURATION = ("config.json", "generation_config.json")
_TOKENIZER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.*",
    "merges.txt",
    "vocab.*",
    "*.model",
    "*.tiktoken",
)
_LIBRARIES = {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")}


def used_files(sweep: Sweep, config: Config, data: Data | None) -> dict[str, str]:
    """Return the digest of each file that a loaded case depends on, by name. Unreadable files are left out."""
    try:
        own = custom_task(sweep.task)
        digests = _step(Path(own[0]), tuple(sys.modules.values())) if own else _files(sweep, config, data)
        return {name: digest for name, digest in digests if digest}
    except OSError:  # such as a working directory that the step has removed
        return {}


def _files(sweep: Sweep, config: Config, data: Data | None) -> Iterator[tuple[str, str | None]]:
    config = sweep.resolve(config)
    patterns = [*_CONFIGURATION]
    if data and data.tokenizer:
        patterns += _TOKENIZER
    if data and data.processor:
        patterns += PROCESSORS
    trained = sweep.weights == "pretrained"
    yield from _model(locate(config.model, sweep.weights).folder, patterns, weights=trained)
    if is_model_name(config.draft):
        draft = _model(locate(config.draft, "pretrained").folder, _CONFIGURATION, weights=True)
        yield from ((f"{DRAFT_PREFIX}{name}", digest) for name, digest in draft)
    if data and data.dataset == sweep.dataset and sweep.dataset not in (SAMPLE, SYNTHETIC):
        yield DATASET, _dataset(sweep.dataset)


def current_files(sweep: Sweep, config: Config, names: Collection[str]) -> dict[str, str | None]:
    """Return the present digest of recorded files of a case, by name. None for a file that can't be read.

    Files of a model that isn't in the cache of the hub are left out: loading it downloads the newest one.
    """
    config = sweep.resolve(config)
    digests: dict[str, str | None] = {}
    for name in names:
        inside = name.removeprefix(DRAFT_PREFIX)
        try:
            folder = None if name == DATASET else _folder(name, sweep, config)
            if name == DATASET:
                digests[name] = _dataset(sweep.dataset)
            elif folder is not None and _is_inside(inside):
                digests[name] = weights_digest(folder) if inside == WEIGHTS else file_digest(folder / inside)
        except OSError:  # such as a working directory that was removed
            digests[name] = None
    return digests


def _folder(name: str, sweep: Sweep, config: Config) -> Path | None:
    """Return the folder that a recorded name refers to; None for a model that isn't in the cache of the hub."""
    if own := custom_task(sweep.task):
        return Path(own[0]).resolve().parent
    if name.startswith(DRAFT_PREFIX):
        return locate(config.draft, "pretrained").folder
    return locate(config.model, sweep.weights).folder


def _step(file: Path, loaded: Iterable[object]) -> Iterator[tuple[str, str | None]]:
    """Yield the step's file, and the loaded modules in its folder or below, by their path in that folder."""
    file = file.resolve()
    paths = dict.fromkeys((file, *_neighbors(file.parent, loaded)))
    for path in list(paths)[:MOST_FILES]:
        name = path.relative_to(file.parent).as_posix()
        if name.isprintable():  # excludes names that aren't UTF-8
            yield name, file_digest(path)


def _neighbors(folder: Path, loaded: Iterable[object]) -> Iterator[Path]:
    """Yield the files of loaded modules below a folder that don't belong to an installed library."""
    for module in loaded:
        # anything may be loaded as a module, and lazy ones import on access to an attribute
        attributes = vars(module) if isinstance(module, ModuleType) else {}
        file, ours = attributes.get("__file__"), str(attributes.get("__name__")).partition(".")[0] == "benchtui"
        # compared as text, because resolving the paths of 3,000 modules takes a tenth of a second
        if isinstance(file, str) and file.startswith(f"{folder}{os.sep}") and not ours:
            path = Path(file)
            packages = {"site-packages", "dist-packages"} & set(path.parts)
            if not (bool(packages) or any(path.is_relative_to(folder) for folder in _LIBRARIES)):
                yield path


def _model(folder: Path | None, patterns: Iterable[str], *, weights: bool) -> Iterator[tuple[str, str | None]]:
    if folder is None:
        return
    for path in files_matching(folder, patterns):
        yield path.name, file_digest(path)
    if weights:
        yield WEIGHTS, weights_digest(folder)


def _dataset(dataset: str) -> str | None:
    """Return the digest of a local file, or of all files in a local folder; None for any other dataset."""
    path = Path(dataset).expanduser()
    if path.is_dir():
        return combined_digest(files_matching(path, ("*",)))
    return file_digest(path) if path.is_file() else None


def _is_inside(name: str) -> bool:
    """Return whether a recorded name, which may be anyone's, names a file below the folder."""
    path = Path(name)
    return not path.is_absolute() and ".." not in path.parts and "\0" not in name
