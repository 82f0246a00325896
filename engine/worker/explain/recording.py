"""Profiler recording: the events of torch's profiler as plain records."""

from collections.abc import Iterator
from typing import Any, NamedTuple

BLOCK = "benchtui.block"
"""Annotation around steps that end with a synchronized device: each step, or all of them in throughput mode."""
STEP = "benchtui.step"
LAP = "benchtui.lap:"
"""Prefix of the annotation at the end of a part, before the part's name."""


class ProfiledEvent(NamedTuple):
    """One event: an operator, an annotation, a call of the driver, or work on a GPU."""

    name: str
    begin_ns: int
    end_ns: int
    track: int
    """Thread of the host, or stream of the GPU."""
    on_gpu: bool = False
    shapes: tuple[tuple[int, ...], ...] = ()
    """Shape of each input; empty for an input that isn't a tensor."""
    dtypes: tuple[str, ...] = ()
    strides: tuple[tuple[int, ...], ...] = ()
    """Stride of each input; empty if torch doesn't record it."""
    id: int = 0
    """Number of an operator, referenced by its work on the GPU."""
    launched_by: int = 0
    """Number of the operator that launched this work; 0 if unknown."""
    in_graph: bool = False
    """Whether autograd recorded the operator, for a backward pass to come."""


_OF_BACKWARD = 1
"""``RecordScope::BACKWARD_FUNCTION`` of torch: the event of a node of the graph."""
_NUMBERS = 2**40
"""Range of the numbers of one profile's operators."""


def read_events(profiler: Any, place: int = 0) -> list[ProfiledEvent]:  # noqa: ANN401  (torch.profiler.profile, which has no types for this)
    """Return the events of a finished profile, in no particular order.

    ``place`` tells profiles apart: each counts its operators from 1.
    """
    return list(_events(profiler.profiler.kineto_results.events(), place * _NUMBERS))


def _events(recorded: Any, offset: int) -> Iterator[ProfiledEvent]:  # noqa: ANN401
    for event in recorded:
        name, begin_ns = event.name(), event.start_ns()
        on_gpu = event.device_type().name != "CPU"
        if name == "[memory]" or (on_gpu and event.is_user_annotation()):
            continue
        end_ns = begin_ns + event.duration_ns()
        if on_gpu:
            stream = event.device_resource_id()
            yield ProfiledEvent(
                name,
                begin_ns,
                end_ns,
                stream,
                True,
                launched_by=_numbered(event.linked_correlation_id(), offset),
            )
            continue
        thread, number = event.start_thread_id(), _numbered(event.correlation_id(), offset)
        is_operator = "::" in name  # reading the inputs of all events would take a long time
        shapes = tuple(map(_shape, event.shapes())) if is_operator else ()
        dtypes = tuple(event.dtypes()) if is_operator else ()
        strides = _strides(event) if is_operator else ()
        in_graph = is_operator and event.sequence_nr() >= 0 and event.scope() != _OF_BACKWARD
        yield ProfiledEvent(
            name, begin_ns, end_ns, thread, False, shapes, dtypes, strides, number, in_graph=in_graph
        )


def _numbered(number: int, offset: int) -> int:
    return number + offset if number else 0


def _strides(event: Any) -> tuple[tuple[int, ...], ...]:  # noqa: ANN401
    read = getattr(event, "structured_input_strides", None)  # absent in older releases
    return tuple(map(_shape, read())) if read else ()


def _shape(shape: Any) -> tuple[int, ...]:  # noqa: ANN401
    """Return the shape of a tensor; empty for a list of tensors, whose shapes are nested."""
    return tuple(shape) if all(isinstance(length, int) for length in shape) else ()
