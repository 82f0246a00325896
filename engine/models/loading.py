"""Loading models and tokenizers: from the hub, from a folder, or the same architecture with random weights."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
from torch.overrides import TorchFunctionMode

from benchtui.engine.exception_text import first_line
from benchtui.engine.models import hub
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import Weights

Loaded = TypeVar("Loaded")

Source = Literal["hub", "folder", "bundled"]

NO_TOKENIZER = 'dataset = "synthetic" draws token ids and needs none'
"""The remedy where a model comes without one."""

_ARCHITECTURES = Path(__file__).parent / "architectures"
_DRAWS = (torch.Tensor.normal_, torch.Tensor.uniform_)


@dataclass(frozen=True, slots=True)
class Place:
    """Where configuration, tokenizer and, perhaps, weights are loaded from."""

    name: str
    path: str
    """What transformers is asked for: a folder or a hub id."""
    source: Source


def locate(model: str, weights: Weights) -> Place:
    """Find a model: a local folder first, then, for random weights, a bundled architecture, else the hub."""
    folder = Path(model).expanduser()
    if folder.is_dir():
        return Place(model, str(folder), "folder")
    if weights == "random" and model in _bundled():
        return Place(model, str(_ARCHITECTURES / model), "bundled")
    return Place(model, model, "hub")


def _bundled() -> list[str]:
    return sorted(entry.name for entry in _ARCHITECTURES.iterdir())


def load(what: str, place: Place, load_from: Callable[..., Loaded]) -> Loaded:
    """Call a loader of transformers and turn what it may raise into one line with the remedy.

    Raises:
        BenchtuiError: where the model can't be loaded.
    """
    try:
        return load_from(place.path, local_files_only=place.source != "hub" or not hub.reachable())
    except (OSError, ValueError, KeyError, ImportError) as error:
        said = (first_line(error) or type(error).__name__) + _remedy(what, place)
        raise BenchtuiError(
            f"model {place.name!r}: {what} can't be loaded from the {place.source}: {said}"
        ) from error


def _remedy(what: str, place: Place) -> str:
    if place.source == "hub":
        bundled = ", ".join(_bundled())
        return (
            f'; without the hub: a local folder, or weights = "random" with a bundled architecture ({bundled})'
        )
    return f"; {NO_TOKENIZER}" if what == "tokenizer" else ""


@contextmanager
def random_weights() -> Iterator[Callable[[torch.nn.Module], None]]:
    """Build a model without drawing its weights one by one; the function given fills them afterwards.

    Drawing 67 million numbers takes a second a case; repeating one block of a million takes a twentieth of that
    and times the same. Vectors (biases, norms) and buffers keep the values that the architecture gives them.
    """
    with _NoDraws():
        yield _fill


class _NoDraws(TorchFunctionMode):
    """Leaves a tensor as it is where initialisation would draw random numbers for it."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> object:
        if func in _DRAWS and args[0].dim() > 1:
            return args[0]
        return func(*args, **(kwargs or {}))


@torch.no_grad()
def _fill(model: torch.nn.Module) -> None:
    """Fill every matrix with normal numbers of standard deviation 0.02, the usual start of a transformer."""
    block = torch.randn(1 << 20, generator=torch.Generator().manual_seed(0)) * 0.02
    for parameter in model.parameters():
        if parameter.dim() > 1:
            for piece in parameter.view(-1).split(len(block)):
                piece.copy_(block[: len(piece)])
