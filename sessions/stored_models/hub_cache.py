"""Cache of the Hugging Face hub: which models it has, and where their files are.

huggingface_hub can say the same, but importing it takes 0.4 s. Layout:
https://huggingface.co/docs/huggingface_hub/guides/manage-cache
"""

import os
from collections.abc import Iterator
from pathlib import Path

from benchtui.sessions.files.input_file import read_text

PREFIX = "models--"
"""Beginning of a folder's name in the cache. The slash of a hub id is ``--`` in it."""
CONFIG = "config.json"


def cache_folder() -> Path:
    """Return the folder of the cache, which may not exist, by the variables that huggingface_hub reads."""
    chosen = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    home = os.environ.get("HF_HOME") or os.path.join(cache, "huggingface")
    return Path(os.path.expandvars(os.path.expanduser(chosen or os.path.join(home, "hub"))))


def snapshot(model: str) -> Path | None:
    """Return the folder with the newest cached files of a model; None if its configuration isn't cached."""
    folder = cache_folder() / f"{PREFIX}{model.replace('/', '--')}"
    try:
        files = folder / "snapshots" / read_text(folder / "refs" / "main").strip()
        return files if (files / CONFIG).is_file() else None
    except (OSError, ValueError):
        return None


def cached_models() -> Iterator[str]:
    """Yield the ids of the models in the cache, sorted. Their files may be incomplete."""
    try:
        names = sorted(os.listdir(cache_folder()))
    except OSError:
        return
    for name in names:
        if name.startswith(PREFIX):
            yield name.removeprefix(PREFIX).replace("--", "/", 1)


def stored_folder(model: str) -> Path | None:
    """Return the folder with the files of a model, given as a folder or a hub id; None if they aren't here."""
    try:
        folder = Path(model).expanduser()
        return folder if folder.is_dir() else snapshot(model)
    except (OSError, RuntimeError, ValueError):  # such as a name that is too long, or an unknown user
        return None
