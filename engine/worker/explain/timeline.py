"""Timeline of one profiled step, for the trace."""

from collections.abc import Iterable

from benchtui.engine.worker.explain.breakdown import HostTimeline
from benchtui.engine.worker.explain.recording import BLOCK, ProfiledEvent
from benchtui.sessions.profiles import MOST_SLICES, Timeline


def timeline(events: Iterable[ProfiledEvent], host: HostTimeline) -> Timeline:
    """Return the slices of the middle step."""
    step = host.steps[len(host.steps) // 2]
    main = step.track
    inside = [
        each
        for each in events
        if each.begin_ns >= step.begin_ns and each.end_ns <= _end_ns(step, host) and each.name != BLOCK
    ]
    kept = sorted(inside, key=lambda each: each.begin_ns - each.end_ns)[:MOST_SLICES]
    kept.sort(key=lambda each: (each.begin_ns, each.begin_ns - each.end_ns))
    names = list(dict.fromkeys(each.name for each in kept))
    tracks = list(dict.fromkeys(_track(each, main) for each in kept))
    number_of_name = {name: number for number, name in enumerate(names)}
    number_of_track = {name: number for number, name in enumerate(tracks)}
    return Timeline(
        names=tuple(names),
        tracks=tuple(tracks),
        name=tuple(number_of_name[each.name] for each in kept),
        track=tuple(number_of_track[_track(each, main)] for each in kept),
        start_ms=tuple(round((each.begin_ns - step.begin_ns) / 1e6, 4) for each in kept),
        duration_ms=tuple(round((each.end_ns - each.begin_ns) / 1e6, 4) for each in kept),
        step_ms=round((step.end_ns - step.begin_ns) / 1e6, 4),
        omitted=len(inside) - len(kept),
    )


def _end_ns(step: ProfiledEvent, host: HostTimeline) -> int:
    """Return the end of the step including its work on the GPU: the end of its block if that is one step."""
    block = next(each for each in host.blocks if each.begin_ns <= step.begin_ns <= each.end_ns)
    alone = len(host.blocks) == len(host.steps)
    return block.end_ns if alone else step.end_ns


def _track(event: ProfiledEvent, main: int) -> str:
    if event.on_gpu:
        return f"GPU stream {event.track}"
    return "main thread" if event.track == main else f"thread {event.track}"
