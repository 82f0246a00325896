"""Timeline of one profiled step, for the trace."""

from collections.abc import Iterable

from benchtui.engine.worker.explain.host_timeline import HostTimeline
from benchtui.engine.worker.explain.recording import BLOCK, ProfiledEvent
from benchtui.sessions.profiles import MOST_SLICES, Timeline


def timeline(events: Iterable[ProfiledEvent], host: HostTimeline) -> Timeline:
    """Return the slices of the middle step."""
    step = host.steps[len(host.steps) // 2]
    main = step.track
    inside = [
        event
        for event in events
        if event.begin_ns >= step.begin_ns and event.end_ns <= _end_ns(step, host) and event.name != BLOCK
    ]
    kept = sorted(inside, key=lambda event: event.begin_ns - event.end_ns)[:MOST_SLICES]
    kept.sort(key=lambda event: (event.begin_ns, event.begin_ns - event.end_ns))
    names = list(dict.fromkeys(event.name for event in kept))
    tracks = list(dict.fromkeys(_track(event, main) for event in kept))
    number_of_name = {name: number for number, name in enumerate(names)}
    number_of_track = {name: number for number, name in enumerate(tracks)}
    return Timeline(
        names=tuple(names),
        tracks=tuple(tracks),
        name=tuple(number_of_name[event.name] for event in kept),
        track=tuple(number_of_track[_track(event, main)] for event in kept),
        start_ms=tuple(round((event.begin_ns - step.begin_ns) / 1e6, 4) for event in kept),
        duration_ms=tuple(round((event.end_ns - event.begin_ns) / 1e6, 4) for event in kept),
        step_ms=round((step.end_ns - step.begin_ns) / 1e6, 4),
        omitted=len(inside) - len(kept),
    )


def _end_ns(step: ProfiledEvent, host: HostTimeline) -> int:
    """Return the end of the step including its work on the GPU: the end of its block if that is one step."""
    block = next(
        candidate for candidate in host.blocks if candidate.begin_ns <= step.begin_ns <= candidate.end_ns
    )
    alone = len(host.blocks) == len(host.steps)
    return block.end_ns if alone else step.end_ns


def _track(event: ProfiledEvent, main: int) -> str:
    if event.on_gpu:
        return f"GPU stream {event.track}"
    return "main thread" if event.track == main else f"thread {event.track}"
