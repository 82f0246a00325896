"""Build of torch, for CUDA or ROCm, found without importing it."""

import importlib.util
import re
from pathlib import Path

_BUILD = re.compile(r"^(cuda|hip)\b[^=]*= *(None|'[^']*'|\"[^\"]*\")", re.MULTILINE)


def torch_build() -> dict[str, bool] | None:
    """Return whether torch was built for CUDA and for ROCm, according to its files; None if unknown."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    try:
        text = (Path(spec.origin).parent / "version.py").read_text("utf-8")
    except (OSError, ValueError):
        return None
    versions = {name: value != "None" for name, value in _BUILD.findall(text)}
    return versions if "cuda" in versions else None
