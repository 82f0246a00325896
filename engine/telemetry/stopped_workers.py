"""Stopped workers: detects workers stopped while the engine ran, which would look like a long step."""

from collections.abc import Iterable

from benchtui.engine.process_tree import is_stopped


class StoppedWorkers:
    """Spans in which workers were found stopped, by polling them."""

    def __init__(self, longest_s: float) -> None:
        """Two polls ``longest_s`` or more apart mean that the engine was stopped too."""
        self._longest_s = longest_s
        self._since_s: dict[int, float] = {}
        """Session time of the last poll, by pid of the workers that it found stopped."""
        self._spans: dict[int, list[tuple[float, float]]] = {}

    def poll(self, at_s: float, pids: Iterable[int]) -> None:
        """Poll the running workers at this session time. Called from the sampler's thread."""
        stopped = [pid for pid in pids if is_stopped(pid)]
        for pid in stopped:
            since_s = self._since_s.get(pid)
            if since_s is not None and at_s - since_s < self._longest_s:
                self._spans.setdefault(pid, []).append((since_s, at_s))
        self._since_s = dict.fromkeys(stopped, at_s)

    def stopped_s(self, pid: int, begin_s: float, end_s: float) -> float:
        """Seconds a worker was stopped within a span of session time."""
        spans = self._spans.get(pid, [])
        return sum(max(0.0, min(to_s, end_s) - max(from_s, begin_s)) for from_s, to_s in list(spans))

    def forget(self, pid: int) -> None:
        """Drop the record of a worker that has exited."""
        self._spans.pop(pid, None)
