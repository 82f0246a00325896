"""Places of models on this machine: folders, bundled architectures, and the cache of the Hugging Face hub.

huggingface_hub can say the same about its cache, but importing it takes 0.4 s. Layout:
https://huggingface.co/docs/huggingface_hub/guides/manage-cache
"""

import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from benchtui.sessions.files.input_file import read_text

PREFIX = "models--"
"""Beginning of a folder's name in the cache. The slash of a hub id is ``--`` in it."""
CONFIG = "config.json"
HUB = "https://huggingface.co"
PROBE_S = 3.0


def hub_answers(endpoint: str | None = None) -> bool:
    """Return whether the hub answers, by default the one that huggingface_hub would ask."""
    import ssl  # not needed for what is here
    import urllib.error
    import urllib.request

    address = endpoint or os.environ.get("HF_ENDPOINT") or HUB
    try:
        urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=PROBE_S).close()
    except urllib.error.HTTPError as refusal:
        refusal.close()
    except (OSError, ValueError) as error:
        # perhaps only this probe rejects the certificate: let the library decide
        return isinstance(getattr(error, "reason", None), ssl.SSLError)
    return True


def cache_folder() -> Path:
    """Return the folder of the cache, which may not exist, by the variables that huggingface_hub reads."""
    chosen = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    return _expanded(chosen) if chosen else _home() / "hub"


def has_token() -> bool:
    """Return whether a token for gated models is set, or stored by ``hf auth login``."""
    stored = os.environ.get("HF_TOKEN_PATH")
    names = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
    return any(map(os.environ.get, names)) or os.path.exists(_expanded(stored) if stored else _home() / "token")


def _home() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return _expanded(os.environ.get("HF_HOME") or os.path.join(cache, "huggingface"))


def _expanded(path: str) -> Path:
    return Path(os.path.expandvars(os.path.expanduser(path)))


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


@cache
def bundled_models() -> Mapping[str, Path]:
    """Return the folders of the architectures that come with benchtui, without weights, by name."""
    folder = Path(__file__).parent / "architectures"
    return {path.name: path for path in sorted(folder.iterdir())}


def model_here(model: str, folder: str | None) -> str:
    """Return the name by which a model can be found from here, if a path in it starts from ``folder``."""
    path = os.path.join(folder or "", os.path.expanduser(model))
    return path if os.path.isdir(path) else model


def model_place(model: str, folder: str | None = None) -> str:
    """Return what all names of a model have in common: the real path of its files, or its name without any."""
    files = stored_folder(model_here(model, folder))
    return os.path.realpath(files) if files else model


def stored_folder(model: str, weights: str = "pretrained") -> Path | None:
    """Return the folder with the files of a model, given as a folder or a hub id; None if they aren't here.

    With random weights, a bundled architecture precedes the hub.
    """
    bundled = bundled_models() if weights == "random" else {}
    try:
        folder = Path(model).expanduser()
        return folder if folder.is_dir() else bundled.get(model) or snapshot(model)
    except (OSError, RuntimeError, ValueError):  # such as a name that is too long, or an unknown user
        return None
