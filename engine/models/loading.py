"""Model loading: models and tokenizers from the hub or a folder, or random weights."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch.overrides import TorchFunctionMode
from transformers.utils.hub import cached_file

from benchtui.engine.exception_text import first_line
from benchtui.engine.files.model_location import ModelLocation as ModelLocation
from benchtui.engine.files.model_location import Source
from benchtui.engine.files.model_location import locate as locate
from benchtui.engine.models import hub
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.stored_models.hub_cache import bundled_models
from benchtui.sessions.stored_models.measurable import NO_TOKENIZER

Loaded = TypeVar("Loaded")

_SOURCES: dict[Source, str] = {"hub": "the hub", "folder": "the folder", "bundled": "the bundled architectures"}

BLOCK = (1 << 20) - 3
"""Length of the block that random weights repeat. It is prime, so that only matrices with more rows than this
have equal ones. Equal rows of an output layer would tie the likeliest tokens."""
DIGEST_LENGTH = 16

_DRAWS = (torch.Tensor.normal_, torch.Tensor.uniform_)


def load(what: str, location: ModelLocation, load_from: Callable[..., Loaded]) -> Loaded:
    """Call a loader of one of transformers' Auto classes. Its errors become one line with a remedy.

    Code in the model's folder or repository never runs; unless told so, transformers would ask on a terminal.
    Raises BenchtuiError if the model can't be loaded.
    """
    try:
        offline = location.source != "hub" or not hub.reachable()
        return load_from(location.path, local_files_only=offline, trust_remote_code=False)
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = (first_line(error).rstrip(".") or type(error).__name__) + _remedy(what, location)
        raise BenchtuiError(
            f"model {location.name!r}: can't load the {what} from {_SOURCES[location.source]}: {reason}"
        ) from error


def optional_file(location: ModelLocation, name: str) -> Path | None:
    """Return the path of a file of the model; None if the model has none."""
    offline = location.source != "hub" or not hub.reachable()
    try:
        cached = cached_file(location.path, name, local_files_only=offline)
    except OSError:
        return None
    return Path(cached) if cached else None


def _remedy(what: str, location: ModelLocation) -> str:
    if location.source == "hub":
        names = ", ".join(bundled_models())
        return (
            f'; to work offline, use a local folder or weights = "random" with a bundled architecture ({names})'
        )
    return f"; {NO_TOKENIZER}" if what == "tokenizer" else ""


@contextmanager
def random_weights() -> Iterator[Callable[[torch.nn.Module], str]]:
    """Skip random initialization in the context. The yielded function fills the weights afterwards.

    It returns a digest of the numbers. Drawing 67 million numbers takes a second per case. Repeating one block
    of a million takes a twentieth of that, and steps take the same time. Vectors (biases, norms) and buffers
    keep their initial values, a few of which are drawn, by torch's own generator.
    """
    torch.manual_seed(0)
    with _SkipRandomInit():
        yield _fill


class _SkipRandomInit(TorchFunctionMode):
    """Function mode that skips the random initialization of matrices."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> object:
        if func in _DRAWS and args[0].dim() > 1:
            # trunc_normal_ redraws until all values are within bounds, and those of unused memory never are
            return args[0].zero_()
        return func(*args, **(kwargs or {}))


@torch.no_grad()
def _fill(model: torch.nn.Module) -> str:
    """Fill every matrix with normal random numbers (std 0.02, usual for transformers). Return their digest.

    Each matrix continues the block where the previous one ended, so that no two layers are equal.
    """
    block = torch.randn(BLOCK, generator=torch.Generator().manual_seed(0)) * 0.02
    twice, start = block.repeat(2), 0
    for parameter in model.parameters():
        if parameter.dim() > 1:
            window = twice[start : start + BLOCK]
            for piece in parameter.view(-1).split(BLOCK):
                piece.copy_(window[: len(piece)])
            start = (start + parameter.numel()) % BLOCK
    return sha256(block.numpy().tobytes()).hexdigest()[:DIGEST_LENGTH]
